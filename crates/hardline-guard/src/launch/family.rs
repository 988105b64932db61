//! Programs that run what their arguments say, by kind.

/// How a program reads its arguments.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Family {
    /// Options whose argument, or who themselves, are code. One letter: also in a cluster, `-lc`.
    pub(super) inline: &'static [&'static str],
    /// Options that name code to be run or loaded.
    pub(super) named: &'static [&'static str],
    /// Options that take the next argument.
    pub(super) valued: &'static [&'static str],
    /// Subcommands whose arguments are code.
    pub(super) verbs: &'static [&'static str],
    /// What the first operand is.
    pub(super) operand: Operand,
    /// Whether it runs what it reads, given no operand.
    pub(super) reads_stdin: bool,
}

/// What the first argument that is no option is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Operand {
    /// A file; what follows is for the code in it.
    Script,
    /// Code.
    Code,
    /// A package or a program from one: its arguments follow, and it may be an interpreter.
    Package,
    /// Another program, with its arguments. So many operands come before it.
    Program(usize),
}

const NONE: Family = Family {
    inline: &[],
    named: &[],
    valued: &[],
    verbs: &[],
    operand: Operand::Script,
    reads_stdin: false,
};

/// What is known of a program, by the name of its file.
pub(super) fn of(program: &str) -> Option<Family> {
    let name = plain_name(program);
    let family = match &*name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "rbash" | "csh" | "tcsh"
        | "fish" | "elvish" | "nu" | "xonsh" => Family {
            inline: &["c", "C", "s", "--command", "--commands", "--init-command", "--execute"],
            named: &["--rcfile", "--init-file"],
            valued: &["o", "O", "--rcfile", "--init-file"],
            reads_stdin: true,
            ..NONE
        },
        "node" | "nodejs" | "tsx" | "ts-node" | "iojs" => Family {
            inline: &["e", "p", "--eval", "--print"],
            named: &[
                "r",
                "--require",
                "--import",
                "--loader",
                "--experimental-loader",
                "--env-file",
            ],
            valued: &[
                "r",
                "C",
                "--require",
                "--import",
                "--loader",
                "--experimental-loader",
                "--conditions",
            ],
            ..NONE
        },
        "bun" => Family {
            inline: &["e", "p", "--eval", "--print"],
            named: &["r", "--preload", "--require", "--import"],
            valued: &["r", "--preload", "--require", "--import", "--cwd", "c", "--config"],
            verbs: &["exec"],
            operand: Operand::Package,
            ..NONE
        },
        "deno" => Family {
            named: &["--preload", "--require", "--import-map"],
            verbs: &["eval", "repl"],
            operand: Operand::Package,
            ..NONE
        },
        "python" | "pypy" | "pythonw" | "py" | "ipython" | "micropython" => Family {
            inline: &["c"],
            named: &["m"],
            valued: &["m", "W", "X", "Q", "--check-hash-based-pycs"],
            ..NONE
        },
        "perl" => Family { inline: &["e", "E"], named: &["M", "m", "d"], valued: &["I"], ..NONE },
        "ruby" | "jruby" => Family { inline: &["e"], named: &["r"], valued: &["I", "C"], ..NONE },
        "php" => Family {
            inline: &["r", "B", "R", "E"],
            named: &["F", "z"],
            valued: &["c", "d", "f", "t"],
            ..NONE
        },
        "lua" | "luajit" => Family { inline: &["e"], named: &["l"], valued: &["l"], ..NONE },
        "rscript" | "r" | "julia" => {
            Family { inline: &["e", "E", "--eval", "--print"], named: &["L", "--load"], ..NONE }
        }
        "osascript" | "groovy" | "scala" | "elixir" | "guile" | "racket" | "sbcl" | "emacs"
        | "ghc" => Family {
            inline: &["e", "c", "E", "--eval"],
            named: &["r", "l", "--load", "--script"],
            ..NONE
        },
        "java" | "javaw" => Family {
            named: &["--source", "-javaagent", "-agentlib", "-agentpath"],
            valued: &["-cp", "-classpath", "--class-path", "-jar"],
            ..NONE
        },
        "awk" | "gawk" | "mawk" | "nawk" => Family {
            inline: &["e", "--source"],
            named: &["l", "--load", "i", "--include"],
            valued: &["F", "v", "f", "--file", "--assign", "--field-separator"],
            operand: Operand::Code,
            ..NONE
        },
        "expect" | "su" | "script" | "runuser" => Family {
            inline: &["c", "--command", "--session-command"],
            valued: &["s", "--shell", "g", "G"],
            ..NONE
        },
        "ssh" | "watch" | "parallel" | "eval" => Family { operand: Operand::Code, ..NONE },
        "npx" | "pnpx" | "bunx" => Family {
            inline: &["c", "--call", "--shell-mode"],
            named: &["n", "--node-arg", "--node-options", "--shell"],
            valued: &["p", "--package", "w", "--workspace", "--registry", "--cache", "--prefix"],
            operand: Operand::Package,
            ..NONE
        },
        "npm" | "pnpm" | "yarn" => Family {
            inline: &["c", "--call", "--shell-mode"],
            named: &["--node-options", "--script-shell"],
            valued: &[
                "p",
                "--package",
                "w",
                "--workspace",
                "--registry",
                "--cache",
                "--prefix",
                "C",
                "--dir",
            ],
            operand: Operand::Package,
            ..NONE
        },
        "uvx" | "uv" | "pipx" | "poetry" | "pdm" | "hatch" | "rye" | "conda" | "mamba" => Family {
            inline: &["c"],
            named: &["m", "--module", "--env-file"],
            valued: &[
                "p",
                "--python",
                "--from",
                "--with",
                "--with-editable",
                "--with-requirements",
                "--index",
                "--index-url",
                "i",
                "--default-index",
                "--extra-index-url",
                "--directory",
                "--project",
                "--package",
                "--extra",
                "--group",
                "--spec",
                "--pip-args",
                "n",
                "--name",
                "m",
                "--module",
                "--env-file",
            ],
            operand: Operand::Package,
            ..NONE
        },
        "env" => Family {
            inline: &["S", "--split-string"],
            // Another `PATH` is another program.
            named: &["P"],
            valued: &["u", "--unset", "C", "--chdir", "P", "a", "--argv0"],
            operand: Operand::Program(0),
            ..NONE
        },
        "nohup" | "setsid" | "time" | "command" | "exec" | "builtin" | "unbuffer"
        | "caffeinate" | "busybox" | "toybox" | "arch" | "firejail" | "proot" | "fakeroot"
        | "eatmydata" | "dbus-run-session" | "xvfb-run" | "wine" | "start" => {
            Family { operand: Operand::Program(0), ..NONE }
        }
        "nice" | "ionice" | "stdbuf" | "sudo" | "doas" | "unshare" | "nsenter" | "systemd-run"
        | "strace" | "ltrace" | "xargs" | "prlimit" | "numactl" | "bwrap" | "setpriv" => Family {
            inline: &["--pager"],
            valued: &[
                "n",
                "c",
                "p",
                "i",
                "o",
                "e",
                "u",
                "g",
                "h",
                "C",
                "D",
                "R",
                "T",
                "U",
                "r",
                "t",
                "P",
                "I",
                "L",
                "E",
                "s",
                "d",
                "a",
                "--adjustment",
                "--user",
                "--group",
                "--input",
                "--output",
                "--error",
                "--class",
                "--classdata",
            ],
            operand: Operand::Program(0),
            ..NONE
        },
        "timeout" | "chroot" | "taskset" | "chrt" | "flock" | "setarch" => Family {
            inline: &["--command"],
            valued: &["k", "s", "--kill-after", "--signal", "w", "--timeout", "E"],
            operand: Operand::Program(1),
            ..NONE
        },
        "pwsh" | "powershell" | "cmd" => NONE,
        _ => return None,
    };
    Some(family)
}

/// Whether it is one of Windows' shells, which read their options in another way.
pub(super) fn is_windows_shell(program: &str) -> bool {
    matches!(&*plain_name(program), "pwsh" | "powershell" | "cmd")
}

/// The name of a program's file, without ending and version: `/usr/bin/python3.12` is `python`.
pub(super) fn plain_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_lowercase();
    let ends = [".exe", ".cmd", ".bat", ".com", ".ps1", ".js", ".mjs", ".cjs"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let is_version = |char: char| char.is_ascii_digit() || char == '.' || char == '-';
    let bare = name.trim_end_matches(is_version);
    if bare.is_empty() { name.to_owned() } else { bare.to_owned() }
}
