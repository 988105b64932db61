//! Programs that run what their arguments say, by kind.
//!
//! An option that stands in no list of its family may take the next word or not: it is doubtful, and
//! whoever allows programs by a list must spell it out.

/// How a program reads its arguments: words apart by blanks. Options of one letter count in clusters too: `-lc`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Family {
    /// Options whose argument, or who themselves, are code.
    pub(super) inline: &'static str,
    /// Options that name code to be run or loaded. Those that begin like one of these count as well.
    pub(super) named: &'static str,
    /// Options that take the next argument.
    pub(super) valued: &'static str,
    /// Options that take none, and do no harm.
    pub(super) plain: &'static str,
    /// Subcommands whose arguments are code.
    pub(super) verbs: &'static str,
    /// What the first operand is.
    pub(super) operand: Operand,
    /// Whether it runs what it reads, given no operand.
    pub(super) reads_stdin: bool,
    /// Whether a cluster goes on after a letter that takes the next argument.
    pub(super) goes_on: bool,
    /// Whether options count behind operands too.
    pub(super) reads_on: bool,
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
    inline: "",
    named: "",
    valued: "",
    plain: "--help --version",
    verbs: "",
    operand: Operand::Script,
    reads_stdin: false,
    goes_on: false,
    reads_on: false,
};

const SHELL: Family = Family {
    inline: "c C s i --command --commands --init-command --execute",
    named: "--rcfile --init-file",
    valued: "o O --rcfile --init-file",
    plain: "e u x v n l f a h b m p k t B E H P T r --login --posix --norc --noprofile \
             --no-config --private",
    reads_stdin: true,
    goes_on: true,
    ..NONE
};

const NODE: Family = Family {
    inline: "e p --eval --print",
    named: "r --require --import --loader --experimental-loader --env-file --snapshot-blob \
             --build-snapshot --openssl-config --experimental-config-file",
    valued: "r C --require --import --loader --experimental-loader --conditions --title \
             --input-type --unhandled-rejections --env-file --stack-trace-limit \
             --dns-result-order --icu-data-dir --max-http-header-size --redirect-warnings",
    plain: "--enable-source-maps --no-warnings --no-deprecation --trace-warnings \
             --trace-deprecation --trace-uncaught --throw-deprecation --expose-gc \
             --experimental-strip-types --experimental-vm-modules --experimental-modules \
             --experimental-fetch --no-experimental-fetch --experimental-sqlite \
             --preserve-symlinks --preserve-symlinks-main --use-system-ca --use-openssl-ca \
             --use-bundled-ca --help --version",
    ..NONE
};

const NPX: Family = Family {
    inline: "c --call --shell-mode",
    named: "n --node-arg --node-options --shell --script-shell --userconfig --globalconfig",
    valued: "p --package w --workspace --registry --cache --prefix --loglevel n --node-arg \
             --node-options --shell --script-shell --userconfig --globalconfig --tag --before \
             --scope --proxy --https-proxy",
    plain: "y q s d --yes --quiet --silent --no --no-install --verbose --prefer-offline \
             --prefer-online --ignore-existing --offline --workspaces --ignore-scripts --no-audit \
             --no-fund --bun --help --version",
    operand: Operand::Package,
    ..NONE
};

const UV: Family = Family {
    named: "m --module --env-file p --python --config-file --script s",
    valued: "p --python --from w --with --with-editable --with-requirements --index --index-url i \
             --default-index --extra-index-url f --find-links --directory --project --package \
             --extra --group --only-group --spec --pip-args --name m --module --env-file \
             --cache-dir --index-strategy --keyring-provider --resolution --prerelease \
             --exclude-newer --link-mode --color --config-file c --constraints --overrides b \
             --build-constraints P --upgrade-package --refresh-package --python-platform \
             --allow-insecure-host --suffix --index-url --backend --fetch-missing-python",
    plain: "q v n U --quiet --verbose --isolated --offline --no-cache --refresh --native-tls \
             --no-config --no-project --frozen --locked --no-sync --all-extras --all-groups --dev \
             --no-dev --active --exact --upgrade --reinstall --no-progress --managed-python \
             --no-managed-python --no-env-file --no-binary --no-build --system-site-packages \
             --help --version",
    operand: Operand::Package,
    ..NONE
};

/// A program in front of another, with options of its own.
const fn wrapper(valued: &'static str, plain: &'static str, before: usize) -> Family {
    Family { valued, plain, operand: Operand::Program(before), ..NONE }
}

/// What is known of a program, by the name of its file.
pub(super) fn of(program: &str) -> Option<Family> {
    let name = plain_name(program);
    let family = match &*name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "rbash" | "csh" | "tcsh"
        | "fish" | "elvish" | "nu" | "xonsh" => SHELL,
        "node" | "nodejs" | "tsx" | "ts-node" | "iojs" => NODE,
        "bun" => Family {
            inline: "e p --eval --print",
            named: "r --preload --require --import c --config --env-file",
            valued: "r --preload --require --import --cwd --config --env-file",
            plain: "b i --bun --silent --watch --hot --smol --help --version",
            verbs: "exec",
            operand: Operand::Package,
            ..NONE
        },
        "deno" => Family {
            named: "--preload --require --import --import-map c --config --env-file",
            valued: "L --log-level c --config --import-map --lock --cert --seed --location --v8-flags \
             --ext --preload --require --import",
            plain: "A N R W E S q r --allow-all --allow-net --allow-read --allow-write --allow-env \
             --allow-run --allow-sys --allow-ffi --quiet --no-check --no-lock --cached-only \
             --no-prompt --unstable --no-config --reload --watch --node-modules-dir --help \
             --version",
            verbs: "eval repl",
            operand: Operand::Package,
            ..NONE
        },
        "python" | "pypy" | "pythonw" | "py" | "ipython" | "micropython" => Family {
            inline: "c i",
            named: "m",
            valued: "m W X Q --check-hash-based-pycs",
            plain: "b B d E h I O P q s S u v V x R 2 3 --help --version",
            ..NONE
        },
        "perl" => Family {
            inline: "e E x",
            named: "M m d I",
            valued: "I",
            plain: "w W T t c --help --version",
            ..NONE
        },
        "ruby" | "jruby" => Family {
            inline: "e",
            named: "r I",
            valued: "I C E K W --encoding",
            plain: "w v U --help --version",
            ..NONE
        },
        "php" => Family {
            inline: "r B R E",
            named: "F z d c",
            valued: "c d f t",
            plain: "n q --help --version",
            ..NONE
        },
        "lua" | "luajit" => Family { inline: "e i", named: "l", valued: "l", ..NONE },
        "rscript" | "r" | "julia" => Family {
            inline: "e E --eval --print",
            named: "L --load",
            plain: "--vanilla --slave --no-save --help --version",
            ..NONE
        },
        "osascript" | "groovy" | "scala" | "elixir" | "guile" | "racket" | "sbcl" | "emacs"
        | "ghc" | "expect" | "tclsh" => {
            Family { inline: "e c E --eval --command", named: "r l --load --script", ..NONE }
        }
        "java" | "javaw" => Family {
            named: "--source -javaagent -agentlib -agentpath -XX:On -XX:Flags -XX:VMOptionsFile \
             -Xbootclasspath --patch-module @",
            valued: "-cp -classpath --class-path -jar p --module-path m --module",
            plain: "-Xmx -Xms -Xss D -server -ea --enable-preview --help --version",
            ..NONE
        },
        "awk" | "gawk" | "mawk" | "nawk" => Family {
            inline: "e --source",
            named: "l --load i --include",
            valued: "F v f --file --assign --field-separator",
            operand: Operand::Code,
            ..NONE
        },
        "su" | "script" | "runuser" | "flock" => Family {
            inline: "c --command --session-command",
            valued: "s --shell g G --group u --user w --timeout E",
            plain: "l m p q a e f n x --login --quiet --append",
            operand: Operand::Program(1),
            reads_on: true,
            ..NONE
        },
        "ssh" | "watch" | "parallel" | "eval" => Family { operand: Operand::Code, ..NONE },
        "npx" | "pnpx" | "bunx" => NPX,
        // In `npm exec`, `-p` takes nothing.
        "npm" => Family {
            valued: "--package w --workspace --registry --cache --prefix --loglevel C --userconfig \
             --globalconfig --script-shell --node-options --tag --scope",
            plain: "y q s p d --yes --quiet --silent --no --prefer-offline --offline --ignore-scripts \
             --no-audit --no-fund --workspaces",
            reads_on: true,
            ..NPX
        },
        "pnpm" | "yarn" => {
            Family { valued: "C --dir --cwd --filter F --package p --registry --loglevel", ..NPX }
        }
        "uvx" | "uv" | "pipx" | "poetry" | "pdm" | "hatch" | "rye" | "conda" | "mamba" => UV,
        "env" => Family {
            inline: "S --split-string",
            // Another `PATH` is another program.
            named: "P",
            valued: "u --unset C --chdir P a --argv0",
            plain: "i 0 v --ignore-environment --null --debug",
            operand: Operand::Program(0),
            ..NONE
        },
        "sudo" => Family {
            // With these, a shell reads the command.
            inline: "s i --shell --login",
            valued: "u g h p C r t T U D R --user --group --host --prompt --close-from --role --type \
             --chdir --chroot",
            plain: "E H n b k A B P S --preserve-env --non-interactive",
            operand: Operand::Program(0),
            ..NONE
        },
        "doas" => {
            Family { inline: "s", valued: "u C", plain: "n", operand: Operand::Program(0), ..NONE }
        }
        "nice" => wrapper("n --adjustment", "", 0),
        "ionice" => wrapper("c n p P u --class --classdata", "t --ignore", 0),
        "stdbuf" => wrapper("i o e --input --output --error", "", 0),
        "nohup" | "setsid" | "time" | "command" | "builtin" | "unbuffer" | "busybox" | "toybox"
        | "fakeroot" | "eatmydata" | "dbus-run-session" | "wine" => {
            wrapper("", "w f p --wait --fork", 0)
        }
        "timeout" => {
            wrapper("k s --kill-after --signal", "v --foreground --preserve-status --verbose", 1)
        }
        "exec" | "caffeinate" | "arch" | "firejail" | "proot" | "xvfb-run" | "start"
        | "unshare" | "nsenter" | "systemd-run" | "strace" | "ltrace" | "xargs" | "prlimit"
        | "numactl" | "bwrap" | "setpriv" | "flatpak-spawn" | "cross-env" | "dotenv" | "mise"
        | "direnv" | "op" | "wsl" | "doppler" | "nix" | "nix-shell" | "toolbox" | "distrobox"
        | "ld-linux" => wrapper("", "", 0),
        "chroot" | "taskset" | "chrt" | "setarch" | "linux" => wrapper("", "", 1),
        "pwsh" | "powershell" | "cmd" => NONE,
        _ => return None,
    };
    Some(family)
}

/// Programs whose arguments can be code in more ways than anybody lists.
const RUN_ANYTHING: [&str; 27] = [
    "git", "find", "tar", "make", "gdb", "lldb", "vim", "vi", "nvim", "sed", "ed", "docker",
    "podman", "nerdctl", "ssh", "rsync", "less", "man", "zip", "gcc", "cargo", "go", "dotnet",
    "cmake", "ninja", "gradle", "mvn",
];

/// Whether a program can be made to run anything by its arguments, in ways that are not looked for.
pub(super) fn runs_anything(program: &str) -> bool {
    RUN_ANYTHING.contains(&&*plain_name(program))
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
    if name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so") {
        return "ld-linux".to_owned();
    }
    let version = name.find(|char: char| char.is_ascii_digit());
    let bare = version.and_then(|at| name.get(..at)).unwrap_or(name);
    let bare = bare.trim_end_matches(['-', '.', '_']);
    if bare.is_empty() { name.to_owned() } else { bare.to_owned() }
}
