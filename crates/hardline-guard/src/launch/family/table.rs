//! The table of known programs, by name.

use super::container::CONTAINER;
use super::{Family, Operand, compiled, node, python, script, shell, tool, wrapper};

/// Names of programs, and the family that they belong to.
pub(super) type Row = (&'static str, Family);

/// All known programs, by file name.
pub(super) const FAMILIES: [&[Row]; 8] = [
    shell::ROWS,
    node::ROWS,
    python::ROWS,
    script::ROWS,
    compiled::ROWS,
    tool::ROWS,
    wrapper::ROWS,
    &[("docker podman nerdctl flatpak", CONTAINER)],
];

pub(super) const NONE: Family = Family {
    inline: "",
    named: "",
    sources: "",
    packages: "",
    projects: "",
    loads: "",
    registry: None,
    fetches: "",
    modules: "",
    mains: "",
    ends: "",
    begins: "",
    valued: "",
    glued: "",
    plain: "--help --version",
    verbs: "",
    runs: "",
    scripts: "",
    operand: Operand::Script,
    reads_stdin: false,
    is_line: false,
    assigns: false,
    goes_on: false,
    reads_on: false,
    is_greedy: false,
};

/// Scripts that are package runners, no matter which interpreter runs them.
pub(super) const SCRIPTS: &str = "npx npm pnpm pnpx yarn yarnpkg corepack tsx ts-node nodemon";

/// Programs that are many in one file and act by the name that they are called by.
pub(super) const MANY: &str = "busybox toybox bun";

/// Programs that start others by the name that they are called by, known or not.
pub(super) const SHIMS: &str = "mise rtx volta volta-shim asdf";

/// Words that only shells know.
pub(super) const BUILTINS: &str = "exec command builtin eval start";

/// Programs whose arguments can be code in more ways than a list can cover.
pub(super) const RUN_ANYTHING: &str = "git find tar make gmake bmake just gdb lldb vim vi nvim view ex \
     sed ed docker podman nerdctl flatpak ssh rsync less man zip gcc cargo go dotnet cmake ninja gradle \
     mvn socat tmux screen hardline mcp-proxy mcpo supergateway";
