//! Interpreters of scripting languages.

use super::table::{NONE, Row};
use super::{Family, Operand};

pub(super) const ROWS: &[Row] = &[
    (
        "perl",
        Family {
            inline: "e E x",
            named: "M m d I",
            // `-Mmodule=args` becomes `use module ...;`, so more than a name is code.
            modules: "M m d",
            valued: "I",
            glued: "M m d C D F i V",
            plain: "a c f g h l n p s S t T u U v w W X 0 1 2 3 4 5 6 7 8 9 --help --version",
            scripts: "pl pm t cgi psgi",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "ruby jruby",
        Family {
            inline: "e",
            named: "r I",
            valued: "r I C E X --encoding --external-encoding --internal-encoding --enable --disable \
                     --dump --backtrace-limit --parser --crash-report",
            glued: "F i J K T W x",
            plain: "a c d h l n p s S U v w y 0 1 2 3 4 5 6 7 8 9 --debug --verbose --jit --yjit \
                     --rjit --dev --disable-* --enable-* --help --version",
            scripts: "rb ru",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "php",
        Family {
            inline: "r B R E a --run --process-begin --process-code --process-end --interactive",
            // `-d` can set `auto_prepend_file`, and `-c` names a `php.ini` that does.
            named: "F z d c --process-file --zend-extension --define --php-ini",
            mains: "f F S --file --process-file --server i m v h --info --modules --ini --rf --rc \
                     --re --rz --ri",
            valued: "c d f t z F S --file --process-file --define --php-ini --docroot --server \
                     --zend-extension --rf --rfunction --rc --rclass --re --rextension --rz \
                     --rzendextension --ri --rextinfo",
            plain: "n q e l s w C H i m v h --no-php-ini --profile-info --syntax-check --strip \
                     --syntax-highlight --hide-args --help --version",
            scripts: "php phar phtml",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "lua luajit",
        Family {
            inline: "e i",
            named: "l j",
            valued: "l j",
            glued: "O",
            plain: "v E W",
            scripts: "lua",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "rscript r",
        Family {
            inline: "e",
            named: "d --debugger --default-packages",
            mains: "f --file",
            ends: "--args",
            valued: "d f g --debugger --debugger-args --gui --file --encoding --default-packages",
            plain: "q s --vanilla --slave --no-echo --quiet --silent --save --no-save --no-environ \
                     --no-site-file --no-init-file --restore --no-restore --no-restore-data \
                     --no-restore-history --no-readline --verbose --help --version",
            // `R CMD` can run any command.
            verbs: "CMD",
            scripts: "r",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "julia",
        Family {
            inline: "e E i --eval --print",
            named: "L J m --load --sysimage --module --machine-file",
            ends: "m --module",
            valued: "L J H C t p m --load --sysimage --home --cpu-target --threads --procs --module \
                     --machine-file --gcthreads --banner --color --startup-file --handle-signals \
                     --compiled-modules --pkgimages --depwarn --warn-overwrite --warn-scope \
                     --check-bounds --math-mode --inline --compile --bug-report --heap-size-hint \
                     --trace-compile --history-file --polly --sysimage-native-code",
            glued: "O g",
            plain: "h v q --project --quiet --optimize --debug-info --code-coverage \
                     --track-allocation --help --version",
            scripts: "jl",
            reads_stdin: true,
            ..NONE
        },
    ),
    ("tclsh wish", Family { valued: "-encoding", scripts: "tcl", reads_stdin: true, ..NONE }),
    (
        "expect",
        Family {
            inline: "c i",
            named: "f",
            mains: "f",
            valued: "f D",
            plain: "b d n N v",
            scripts: "exp tcl",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "osascript",
        Family {
            inline: "e i",
            valued: "l s",
            scripts: "scpt applescript js",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "swift",
        Family {
            inline: "-e",
            named: "-load-plugin-library -load-plugin-executable -plugin-path -vfsoverlay",
            valued: "-I -F -L -D -target -sdk -module-name -module-cache-path -swift-version \
                     -framework -Xcc -Xlinker -Xfrontend -Xllvm -vfsoverlay -resource-dir \
                     -load-plugin-library -load-plugin-executable -plugin-path",
            plain: "-O -Onone -Ounchecked -g -v -j* -l* -enable-* -suppress-warnings",
            verbs: "repl",
            scripts: "swift",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "awk gawk mawk nawk",
        Family {
            inline: "e W --source",
            named: "l --load i --include",
            mains: "f E --file --exec",
            ends: "E --exec",
            valued: "F v f l i E --file --exec --assign --field-separator --load --include",
            glued: "d D L o p",
            plain: "b c C g h I k M n N O P r s S t V --posix --traditional --sandbox --bignum \
                     --re-interval --characters-as-bytes --help --version",
            // Without `-f`, the first operand is the program.
            operand: Operand::Code,
            ..NONE
        },
    ),
];
