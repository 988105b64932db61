//! Shells.

use super::Family;
use super::table::{NONE, Row};

const SHELL: Family = Family {
    // `-s` and `-i` read commands from standard input.
    inline: "c s i --command",
    named: "--rcfile --init-file -rcfile -init-file",
    valued: "o O --rcfile --init-file -rcfile -init-file",
    plain: "a b e f h k l m n p r t u v x B C D E H P --login --posix --norc --noprofile \
             --noediting --restricted --verbose --debug --debugger -login -posix -norc -noprofile \
             -noediting -restricted -verbose --help --version",
    scripts: "sh bash zsh ksh dash ash",
    reads_stdin: true,
    // After `o`, which takes the next word, a cluster goes on: `-oc`.
    goes_on: true,
    ..NONE
};

pub(super) const ROWS: &[Row] = &[
    ("sh bash dash zsh ksh mksh ash rbash", SHELL),
    (
        "csh tcsh",
        Family {
            valued: "",
            named: "",
            plain: "b d e f l m n q t v x V X --help --version",
            scripts: "csh tcsh",
            goes_on: false,
            ..SHELL
        },
    ),
    (
        "fish",
        Family {
            // `-C` runs its value before the script.
            inline: "c C i --command --init-command --interactive",
            valued: "d o f p D --debug --debug-output --debug-stack-frames --features --profile \
                     --profile-startup",
            plain: "l n N P v h --login --no-execute --no-config --private --print-rusage-self \
                     --help --version",
            scripts: "fish",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "nu",
        Family {
            inline: "c e i --commands --execute --interactive",
            // Modules and plugins are loaded code.
            named: "I --include-path --config --env-config --plugin-config --plugins",
            mains: "--mcp --lsp",
            valued: "I m t --include-path --config --env-config --plugin-config --plugins \
                     --table-mode --threads --log-level --log-target --log-include --log-exclude \
                     --error-style --experimental-options",
            plain: "l n h v --login --no-config-file --no-history --no-newline --no-std-lib --stdin \
                     --help --version",
            scripts: "nu",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "elvish",
        Family {
            // Go's flag parser accepts one or two dashes.
            inline: "c i --c --i",
            named: "-rc --rc",
            mains: "-lsp --lsp",
            valued: "-rc --rc -db --db -sock --sock -log --log",
            plain: "-norc --norc -compileonly --compileonly -help --help -version --version",
            scripts: "elv",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "xonsh",
        Family {
            inline: "c i --interactive",
            named: "--rc",
            valued: "D --shell-type",
            plain: "h V l --login --no-rc --no-env --no-script-cache --help --version",
            scripts: "xsh py",
            reads_stdin: true,
            ..NONE
        },
    ),
];
