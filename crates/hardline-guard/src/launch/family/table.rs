//! The programs, by name.

use super::container::CONTAINER;
use super::{Family, Operand, compiled, node, python, script, shell, tool, wrapper};

/// The names of programs, and how these read their arguments.
pub(super) type Row = (&'static str, Family);

/// What is known, by the names of files.
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

/// Scripts that are runners of packages, whichever interpreter is given them.
pub(super) const SCRIPTS: &str = "npx npm pnpm pnpx yarn yarnpkg corepack tsx ts-node nodemon";

/// Programs that are many in one file, and go by the name that they are called by.
pub(super) const MANY: &str = "busybox toybox bun";

/// Programs that start others by the name that they are called by, known or not.
pub(super) const SHIMS: &str = "mise rtx volta volta-shim asdf";

/// Words that only shells know.
pub(super) const BUILTINS: &str = "exec command builtin eval start";

/// Programs whose arguments can be code in more ways than anybody lists.
pub(super) const RUN_ANYTHING: &str = "git find tar make gmake bmake just gdb lldb vim vi nvim view ex \
     sed ed docker podman nerdctl flatpak ssh rsync less man zip gcc cargo go dotnet cmake ninja gradle \
     mvn socat tmux screen hardline mcp-proxy mcpo supergateway";
