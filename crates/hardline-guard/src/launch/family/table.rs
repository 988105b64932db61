//! The programs, by name.

use super::container::CONTAINER;
use super::{Family, Operand};

pub(super) const NONE: Family = Family {
    inline: "",
    named: "",
    modules: "",
    mains: "",
    valued: "",
    plain: "--help --version",
    verbs: "",
    runs: "",
    operand: Operand::Script,
    reads_stdin: false,
    is_line: false,
    assigns: false,
    goes_on: false,
    reads_on: false,
    is_greedy: false,
};

const SHELL: Family = Family {
    inline: "c C s i --command --commands --init-command --execute",
    named: "--rcfile --init-file",
    valued: "o O --rcfile --init-file",
    plain: "e u x v n l f a h b m p k t B E H P T r --login --posix --norc --noprofile \
             --no-config --private --help --version",
    reads_stdin: true,
    goes_on: true,
    ..NONE
};

const NODE: Family = Family {
    inline: "e p i --eval --print --interactive",
    named: "r --require --import --loader --experimental-loader --env-file --snapshot-blob \
             --build-snapshot --openssl-config --experimental-config-file",
    mains: "--run --test --prof-process --v8-options --completion-bash --experimental-sea-config",
    valued: "r C --require --import --loader --experimental-loader --conditions --title \
             --input-type --unhandled-rejections --env-file --stack-trace-limit \
             --dns-result-order --icu-data-dir --max-http-header-size --redirect-warnings",
    plain: "--enable-source-maps --no-warnings --no-deprecation --trace-warnings \
             --trace-deprecation --trace-uncaught --throw-deprecation --expose-gc \
             --experimental-strip-types --experimental-vm-modules --experimental-modules \
             --experimental-fetch --no-experimental-fetch --experimental-sqlite \
             --preserve-symlinks --preserve-symlinks-main --use-system-ca --use-openssl-ca \
             --use-bundled-ca --help --version",
    reads_stdin: true,
    ..NONE
};

/// An option that `npx` does not know takes the next word; `--c` is `--call` to it.
const NPX: Family = Family {
    inline: "c --c --ca --call --shell-mode",
    named: "n --node-arg --node-options --shell --script-shell --userconfig --globalconfig",
    valued: "p --package w --workspace --registry --cache --prefix --loglevel n --node-arg \
             --node-options --shell --script-shell --userconfig --globalconfig --tag --before \
             --scope --proxy --https-proxy C L m --location --message --reg --allow-scripts",
    plain: "y q s d f g a l v h --yes --quiet --silent --no --no-install --verbose \
             --ignore-existing --no-audit --no-fund --bun --help --version --all \
             --allow-same-version --audit --bin-links --browser --color --commit-hooks \
             --description --dev --dry-run --engine-strict --expect-results --force \
             --foreground-scripts --format-package-lock --fund --git-tag-version --global \
             --global-style --if-present --ignore-scripts --include-staged \
             --include-workspace-root --include-attestations --install-links --iwr --json \
             --legacy-bundling --legacy-peer-deps --link --local --long --offline --optional \
             --package-lock --package-lock-only --parseable --prefer-dedupe --prefer-offline \
             --prefer-online --production --progress --provenance --read-only --rebuild-bundle \
             --save --save-bundle --save-dev --save-exact --save-optional --save-peer --save-prod \
             --shrinkwrap --strict-peer-deps --strict-ssl --timing --unicode --update-notifier \
             --usage --versions --workspaces --workspaces-update --ws",
    operand: Operand::Package,
    is_greedy: true,
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
    runs: "run tool x exec script task",
    operand: Operand::Package,
    ..NONE
};

/// Interpreters that take code with the usual letters, and read it where there is none.
const OTHER: Family = Family {
    inline: "e c E --eval --command -eval --execute",
    named: "r l --load --script",
    mains: "f --file --script --load S",
    ..NONE
};

const VIM: Family = Family {
    inline: "+ c s --cmd --remote-expr --remote-send",
    named: "S u --startuptime",
    valued: "S u T i --servername",
    ..NONE
};

/// A program in front of another, with options of its own.
const fn wrapper(valued: &'static str, plain: &'static str, before: usize) -> Family {
    Family { valued, plain, operand: Operand::Program(before), ..NONE }
}

/// A program in front of another, that also takes a command as one word.
const fn commander(inline: &'static str) -> Family {
    Family { inline, operand: Operand::Program(0), ..NONE }
}

/// What is known, by the names of files.
pub(super) const FAMILIES: &[(&str, Family)] = &[
    ("sh bash dash zsh ksh mksh ash rbash csh tcsh fish elvish nu xonsh", SHELL),
    ("node nodejs tsx ts-node iojs", NODE),
    (
        "bun",
        Family {
            inline: "e p --eval --print",
            named: "r --preload --require --import c --config --env-file",
            valued: "r --preload --require --import --cwd --config --env-file",
            plain: "b i --bun --silent --watch --hot --smol --help --version",
            verbs: "exec repl",
            runs: "run x create",
            operand: Operand::Package,
            ..NONE
        },
    ),
    (
        "deno",
        Family {
            named: "--preload --require --import --import-map c --config --env-file",
            valued: "L --log-level c --config --import-map --lock --cert --seed --location --v8-flags \
                     --ext --preload --require --import",
            plain: "A N R W E S q r --allow-all --allow-net --allow-read --allow-write --allow-env \
                     --allow-run --allow-sys --allow-ffi --quiet --no-check --no-lock --cached-only \
                     --no-prompt --unstable --no-config --reload --watch --node-modules-dir --help \
                     --version",
            verbs: "eval repl",
            runs: "run serve task x",
            operand: Operand::Package,
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "python pypy pythonw py ipython micropython",
        Family {
            inline: "c i",
            named: "m",
            mains: "m",
            valued: "m W X Q --check-hash-based-pycs",
            plain: "b B d E h I O P q s S u v V x R 2 3 --help --version",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "perl",
        Family {
            inline: "e E x",
            named: "M m d I F",
            modules: "M m d",
            valued: "I",
            plain: "w W T t c --help --version",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "ruby jruby",
        Family {
            inline: "e",
            named: "r I",
            valued: "I C E K W --encoding",
            plain: "w v U --help --version",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "php",
        Family {
            inline: "r B R E a --run --process-begin --process-code --process-end --interactive",
            named: "F z d c --process-file --zend-extension --define --php-ini",
            mains: "f F S --file --process-file --server",
            valued: "c d f t S --file --process-file --define --php-ini --docroot --server",
            plain: "n q --no-php-ini --help --version",
            reads_stdin: true,
            ..NONE
        },
    ),
    ("lua luajit", Family { inline: "e i", named: "l", valued: "l", reads_stdin: true, ..NONE }),
    (
        "rscript r julia",
        Family {
            inline: "e E --eval --print",
            named: "L --load",
            mains: "f --file",
            plain: "--vanilla --slave --no-save --help --version",
            reads_stdin: true,
            ..NONE
        },
    ),
    ("groovy scala elixir guile racket sbcl emacs ghc expect", OTHER),
    ("osascript tclsh swift jshell iex", Family { reads_stdin: true, ..OTHER }),
    (
        "erl",
        Family {
            inline: "-eval",
            named: "-s -run -pa -pz -config -args_file -boot",
            plain: "-noshell -noinput -name -sname -detached",
            ..NONE
        },
    ),
    (
        "java javaw",
        Family {
            named: "--source -javaagent -agentlib -agentpath -XX:On -XX:Flags -XX:VMOptionsFile \
                     -Xbootclasspath --patch-module @",
            valued: "-cp -classpath --class-path -jar p --module-path m --module",
            plain: "-Xmx -Xms -Xss D -server -ea --enable-preview --help --version",
            ..NONE
        },
    ),
    (
        "awk gawk mawk nawk",
        Family {
            inline: "e --source",
            named: "l --load i --include",
            valued: "F v f --file --assign --field-separator",
            operand: Operand::Code,
            ..NONE
        },
    ),
    (
        "make gmake bmake",
        Family {
            inline: "E --eval",
            named: "f --file --makefile I --include-dir",
            valued: "f C I j l o W --file --makefile --directory --include-dir",
            plain: "s k n i B w --silent --quiet --always-make --no-print-directory",
            reads_on: true,
            ..NONE
        },
    ),
    ("just", Family { inline: "c --command", named: "f --justfile", valued: "f d", ..NONE }),
    ("git", Family { inline: "c --config-env --exec-path", valued: "C", ..NONE }),
    (
        "tar",
        Family {
            inline: "I F --checkpoint-action --to-command --use-compress-program --rsh-command \
                     --info-script --new-volume-script",
            reads_on: true,
            ..NONE
        },
    ),
    ("gdb", commander("-ex -iex --ex --iex -eval-command --eval-command --init-eval-command")),
    ("lldb", commander("o O --one-line --one-line-before-file --one-line-on-crash")),
    ("vim vi nvim view vimdiff gvim", VIM),
    ("ex ed", Family { reads_stdin: true, ..VIM }),
    (
        "su script runuser flock",
        Family {
            inline: "c --command --session-command",
            valued: "s --shell g G --group u --user w --timeout E",
            plain: "l m p q a e f n x --login --quiet --append",
            operand: Operand::Program(1),
            reads_on: true,
            ..NONE
        },
    ),
    ("ssh watch parallel eval concurrently", Family { operand: Operand::Code, ..NONE }),
    (
        "nodemon",
        Family {
            inline: "x --exec",
            valued: "w --watch e --ext i --ignore d --delay --signal --cwd --config",
            reads_on: true,
            ..NODE_WATCHER
        },
    ),
    ("npx pnpx bunx", NPX),
    // In `npm exec`, `-p` takes nothing.
    (
        "npm",
        Family {
            plain: "y q s p d f g a l v h --yes --quiet --silent --no --prefer-offline --offline \
                     --ignore-scripts --no-audit --no-fund --workspaces",
            valued: "--package w --workspace --registry --cache --prefix --loglevel C --userconfig \
                     --globalconfig --script-shell --node-options --tag --scope L m",
            verbs: "explore",
            runs: "exec x run run-script",
            reads_on: true,
            ..NPX
        },
    ),
    (
        "pnpm",
        Family {
            valued: "C --dir --cwd --filter F --package p --registry --loglevel",
            runs: "exec dlx run create x",
            ..NPX
        },
    ),
    (
        "yarn yarnpkg",
        Family {
            valued: "C --dir --cwd --package p --registry",
            runs: "exec dlx run create workspace",
            is_line: true,
            ..NPX
        },
    ),
    ("corepack", Family { operand: Operand::Package, ..NONE }),
    ("uvx uv pipx poetry pdm rye conda mamba micromamba pipenv", UV),
    ("hatch pixi devbox", Family { is_line: true, ..UV }),
    (
        "env",
        Family {
            inline: "S --split-string",
            // Another `PATH` is another program.
            named: "P",
            valued: "u --unset C --chdir P a --argv0",
            plain: "i 0 v --ignore-environment --null --debug",
            operand: Operand::Program(0),
            assigns: true,
            ..NONE
        },
    ),
    (
        "sudo",
        Family {
            // With these, a shell reads the command.
            inline: "s i --shell --login",
            valued: "u g h p C r t T U D R --user --group --host --prompt --close-from --role \
                     --type --chdir --chroot",
            plain: "E H n b k A B P S --preserve-env --non-interactive",
            operand: Operand::Program(0),
            ..NONE
        },
    ),
    (
        "doas",
        Family { inline: "s", valued: "u C", plain: "n", operand: Operand::Program(0), ..NONE },
    ),
    ("nice", wrapper("n --adjustment", "", 0)),
    ("ionice", wrapper("c n p P u --class --classdata", "t --ignore", 0)),
    ("stdbuf", wrapper("i o e --input --output --error", "", 0)),
    (
        "nohup setsid time command builtin unbuffer busybox toybox fakeroot eatmydata \
         dbus-run-session wine",
        wrapper("", "w f p --wait --fork", 0),
    ),
    (
        "timeout",
        wrapper("k s --kill-after --signal", "v --foreground --preserve-status --verbose", 1),
    ),
    (
        "exec caffeinate arch firejail proot xvfb-run start unshare nsenter systemd-run strace \
         ltrace xargs prlimit numactl bwrap setpriv flatpak-spawn cross-env dotenv direnv op wsl \
         toolbox distrobox ld-linux",
        wrapper("", "", 0),
    ),
    ("mise doppler", Family { reads_on: true, ..commander("c --command") }),
    ("nix", commander("--expr")),
    (
        "nix-shell",
        Family { inline: "E --run --command --expr", valued: "p I A", reads_on: true, ..NONE },
    ),
    ("chroot taskset chrt setarch linux", wrapper("", "", 1)),
    ("docker podman nerdctl flatpak", CONTAINER),
    ("pwsh powershell cmd", NONE),
];

const NODE_WATCHER: Family = Family { reads_stdin: false, ..NODE };

/// Scripts that are runners of packages, whichever interpreter is given them.
pub(super) const SCRIPTS: &str = "npx npm pnpm pnpx yarn yarnpkg corepack tsx ts-node nodemon";

/// Programs that are many in one file, and go by the name that they are called by.
pub(super) const MANY: &str = "busybox toybox bun mise volta asdf";

/// Words that only shells know.
pub(super) const BUILTINS: &str = "exec command builtin eval start";

/// Programs whose arguments can be code in more ways than anybody lists.
pub(super) const RUN_ANYTHING: &str = "git find tar make gmake bmake just gdb lldb vim vi nvim view ex \
     sed ed docker podman nerdctl flatpak ssh rsync less man zip gcc cargo go dotnet cmake ninja gradle \
     mvn socat tmux screen";
