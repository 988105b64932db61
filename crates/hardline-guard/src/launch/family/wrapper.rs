//! Programs that start another program.

use super::table::{NONE, Row};
use super::{Family, Operand};

/// Creates the family of a wrapper with options of its own.
const fn wrapper(valued: &'static str, plain: &'static str, before: usize) -> Family {
    Family { valued, plain, operand: Operand::Program(before), ..NONE }
}

/// Creates the family of a program with verbs, some of which start another program.
const fn verbs(runs: &'static str, valued: &'static str, plain: &'static str) -> Family {
    Family { runs, valued, plain, operand: Operand::Verb(0), ..NONE }
}

pub(super) const ROWS: &[Row] = &[
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
    (
        "env",
        Family {
            inline: "S --split-string",
            // Another `PATH` may select another program.
            named: "P",
            valued: "u --unset C --chdir P a --argv0",
            plain: "i 0 v --ignore-environment --null --debug --block-signal --default-signal \
                     --ignore-signal --list-signal-handling",
            operand: Operand::Program(0),
            assigns: true,
            ..NONE
        },
    ),
    (
        "sudo",
        Family {
            // With these, a shell parses the command.
            inline: "s i --shell --login",
            valued: "u g h p C r t T U D R --user --group --host --prompt --close-from --role \
                     --type --chdir --chroot --other-user --command-timeout",
            plain: "E H n b k A B P S --preserve-env --non-interactive --set-home --background \
                     --askpass --stdin",
            operand: Operand::Program(0),
            ..NONE
        },
    ),
    (
        "doas",
        Family { inline: "s", valued: "u C a", plain: "n L", operand: Operand::Program(0), ..NONE },
    ),
    (
        "mcp-proxy mcpo",
        Family {
            named: "c --config --named-server --named-server-config",
            valued: "p --port --host --sse-port --sse-host --transport H --headers --allow-origin e e \
                     --env --env --cwd c --config --named-server --named-server --named-server-config \
                     --log-level --api-key --server-type --root-path --path-prefix --endpoint --server \
                     --ssl-certfile --ssl-keyfile --client-id --client-secret --token-url",
            plain: "h V --stateless --pass-environment --no-pass-environment --debug --help --version \
                     --hot-reload --strict-auth --no-verify-ssl --shell",
            operand: Operand::Program(0),
            ..NONE
        },
    ),
    // A shell parses the command of the server.
    (
        "supergateway",
        Family {
            named: "--stdio",
            valued: "--stdio --sse --streamableHttp --outputTransport --port --baseUrl --ssePath \
                     --messagePath --streamableHttpPath --logLevel --cors --healthEndpoint --header \
                     --oauth2Bearer --sessionTimeout --protocolVersion",
            plain: "--stateful --help --version",
            operand: Operand::Verb(0),
            ..NONE
        },
    ),
    ("nice", wrapper("n --adjustment", "", 0)),
    ("ionice", wrapper("c n p P u --class --classdata", "t --ignore", 0)),
    ("stdbuf", wrapper("i o e --input --output --error", "", 0)),
    ("time", wrapper("f o --format --output", "a p v q --append --portability --verbose", 0)),
    (
        "nohup setsid command builtin unbuffer busybox toybox fakeroot eatmydata \
         dbus-run-session wine",
        wrapper("", "w f p --wait --fork", 0),
    ),
    (
        "timeout",
        wrapper("k s --kill-after --signal", "f p v --foreground --preserve-status --verbose", 1),
    ),
    (
        "exec caffeinate arch firejail proot xvfb-run start unshare nsenter systemd-run strace \
         ltrace xargs prlimit numactl bwrap setpriv flatpak-spawn",
        wrapper("", "", 0),
    ),
    (
        "ld-linux",
        Family {
            named: "--preload --audit --library-path",
            valued: "--preload --audit --library-path --inhibit-rpath --argv0 --glibc-hwcaps-mask \
                     --glibc-hwcaps-prepend",
            plain: "--inhibit-cache --list --verify --help --version",
            operand: Operand::Program(0),
            ..NONE
        },
    ),
    ("chroot taskset chrt setarch linux", wrapper("", "", 1)),
    ("cross-env", Family { assigns: true, ..wrapper("", "", 0) }),
    // The Python tool has a verb, the Node.js one has none.
    (
        "dotenv",
        Family {
            named: "e f --file",
            runs: "run",
            valued: "e f --file p v q --quote",
            plain: "o c --override --no-override --help --version",
            operand: Operand::Program(0),
            ..NONE
        },
    ),
    ("direnv", Family { operand: Operand::Verb(1), ..verbs("exec", "", "") }),
    (
        "op",
        Family {
            named: "--env-file --environment",
            ..verbs(
                "run plugin",
                "--env-file --environment --account --config --encoding --format --session",
                "--no-masking --cache --debug --no-color --iso-timestamps --help --version",
            )
        },
    ),
    (
        "doppler",
        Family {
            inline: "--command",
            ..verbs(
                "run",
                "p c t --project --config --token --scope --fallback --passphrase --mount \
                 --mount-format --mount-template --mount-max-reads --name-transformer --api-host \
                 --dashboard-host --config-dir --configuration --attempts --timeout \
                 --only-secrets --dns-resolver-address --dns-resolver-proto --dns-resolver-timeout",
                "--fallback-only --fallback-readonly --forward-signals --no-cache --no-fallback \
                 --no-exit-on-write-failure --preserve-env --watch --debug --json --silent \
                 --no-check-version --no-read-env --no-timeout --no-verify-tls --print-config \
                 --enable-dns-resolver --help --version",
            )
        },
    ),
    (
        "mise",
        Family {
            inline: "c --command",
            begins: "--",
            reads_on: true,
            ..verbs(
                "exec x",
                "C --cd E --env j --jobs",
                "q v y --quiet --verbose --yes --silent --raw --no-config --fresh-env --help --version",
            )
        },
    ),
    (
        "nix",
        Family {
            inline: "--expr",
            begins: "c --command",
            named: "--override-input --override-flake --include I --plugin-files --builders",
            reads_on: true,
            ..verbs(
                "run shell develop eval build",
                "--override-input --override-input --override-flake --override-flake --include I \
                 --plugin-files --builders f --file --arg --arg --argstr --argstr --option --option \
                 --store --eval-store --inputs-from --profile --phase k --keep s --set-env-var \
                 --set-env-var u --unset j --max-jobs --cores --log-format \
                 --extra-experimental-features --experimental-features",
                "i L v --impure --ignore-environment --ignore-env --print-build-logs --offline \
                 --refresh --quiet --verbose --accept-flake-config --no-write-lock-file \
                 --no-update-lock-file --recreate-lock-file --help --version",
            )
        },
    ),
    // Another program of this name is a database server without verbs.
    (
        "toolbox",
        verbs(
            "run enter",
            "c d r --container --distro --release --preserve-fds --log-level --tools-file \
             --tools-files --tools-folder --config --prebuilt a --address p --port \
             --logging-format --telemetry-otlp --telemetry-service-name --user-agent-metadata \
             --poll-interval --allowed-origins --allowed-hosts",
            "y v --assumeyes --verbose --log-podman --stdio --ui --disable-reload --telemetry-gcp \
             --help --version",
        ),
    ),
    (
        "distrobox",
        Family {
            begins: "-- e --exec",
            reads_on: true,
            ..verbs(
                "enter",
                "n --name a --additional-flags",
                "r v T --root --verbose --no-tty --no-workdir --clean-path --help --version",
            )
        },
    ),
    (
        "wsl",
        Family {
            begins: "e --exec",
            is_line: true,
            ..wrapper(
                "d --distribution --distribution-id u --user --cd --shell-type",
                "--system --help --version",
                0,
            )
        },
    ),
];
