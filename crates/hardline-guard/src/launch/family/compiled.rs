//! Languages of the Java and Erlang virtual machines, Lisps and Haskell.

use super::Family;
use super::table::{NONE, Row};

const ELIXIR: Family = Family {
    inline: "e --eval --rpc-eval",
    named: "r S -pr -pa -pz --app --erl --erl-config --vm-args --boot --boot-var --dot-iex",
    ends: "S",
    valued: "r S -pr -pa -pz --app --erl --erl-config --vm-args --boot --boot-var --boot-var \
             --dot-iex --name --sname --cookie --remsh --rpc --pipe-to --pipe-to \
             --logger-otp-reports --logger-sasl-reports",
    plain: "h v --no-halt --hidden --werl --no-color --dbg --help --version",
    scripts: "ex exs",
    ..NONE
};

const KOTLIN: Family = Family {
    inline: "e -expression",
    named: "-script -compiler-path -kotlin-home -Xplugin* -Xcompiler-plugin* J",
    valued: "-cp -classpath -class-path -script -howtorun -compiler-path -kotlin-home -jdk-home \
             -jvm-target -language-version -api-version -module-name -opt-in d P",
    glued: "D J",
    plain: "h X -no-reflect -no-stdlib -no-jdk -nowarn -verbose -progressive -version -help -X* \
             --help --version",
    scripts: "kt kts jar",
    reads_stdin: true,
    ..NONE
};

pub(super) const ROWS: &[Row] = &[
    (
        "java javaw",
        Family {
            named: "--source -javaagent -agentlib -agentpath -XX:On -XX:Flags -XX:VMOptionsFile \
                     -Xbootclasspath --patch-module",
            // Words after the program are its arguments.
            ends: "-jar m --module",
            valued: "-cp -classpath --class-path -jar p --module-path m --module --source \
                     --patch-module --upgrade-module-path --add-modules --enable-native-access d \
                     --describe-module --limit-modules --add-reads --add-exports --add-opens",
            glued: "D",
            plain: "-X* -ea* -da* -esa -dsa -server -client -enableassertions* -disableassertions* \
                     -verbose* -showversion -version -splash* --enable-preview --show-version \
                     --list-modules --dry-run --validate-modules --help --version",
            scripts: "java jar class",
            ..NONE
        },
    ),
    (
        "groovy",
        Family {
            inline: "e",
            named: "b --basescript --configscript",
            valued: "c b --encoding --basescript --configscript -cp -classpath --classpath",
            glued: "a i l D",
            plain: "d h n p v -pa -pr --parameters --enable-preview --debug --help --version",
            scripts: "groovy gvy gy gsh",
            ..NONE
        },
    ),
    (
        "scala scala-cli",
        Family {
            inline: "e --execute-script --execute-scala --execute-java --script-snippet \
                     --scala-snippet --java-snippet --markdown-snippet",
            named: "i J -toolcppath -bootclasspath -javabootclasspath -Xplugin* --java-agent",
            valued: "i d S M -cp -classpath --class-path --classpath -encoding -sourcepath -extdirs \
                     -bootclasspath -javabootclasspath -toolcppath --dep --dependency --jar --repo \
                     --repository --main-class --scala-version --jvm --java-home --server",
            glued: "D J",
            plain: "-nc -save -howtorun:* -target:* -deprecation -feature -explain -color:* -X* -Y* \
                     --help --version",
            verbs: "repl console",
            runs: "run",
            scripts: "scala sc jar java",
            reads_stdin: true,
            ..NONE
        },
    ),
    ("kotlin", Family { reads_stdin: false, ..KOTLIN }),
    ("kotlinc", KOTLIN),
    (
        "jshell",
        Family {
            named: "--startup --class-path --module-path",
            valued: "R C --startup --class-path --module-path --add-modules --add-exports \
                     --feedback --execution",
            glued: "J",
            plain: "s q v --enable-preview --help --version",
            scripts: "jsh java",
            reads_stdin: true,
            ..NONE
        },
    ),
    ("elixir", ELIXIR),
    // The interactive shell reads code from standard input.
    ("iex", Family { reads_stdin: true, ..ELIXIR }),
    // `--` only ends the values of an option, not the options.
    (
        "erl",
        Family {
            inline: "-eval",
            named: "-s -run -pa -pz -path -config -args_file -boot -boot_var -remsh -init_debug \
                     -loader -proto_dist -epmd_module -mode",
            mains: "-s -run -noshell -noinput -detached -version",
            ends: "-extra",
            valued: "-pa -pz -config -args_file -boot -boot_var -boot_var -remsh -loader -path \
                     -proto_dist -epmd_module -mode -name -sname -setcookie -env -env -kernel \
                     -connect_all -heart_beat_timeout",
            plain: "-- -hidden -smp -heart -emu_args -init_debug -compile -man -start_epmd",
            reads_stdin: true,
            reads_on: true,
            ..NONE
        },
    ),
    (
        "ghc ghci",
        Family { inline: "-e*", plain: "-eventlog", scripts: "hs lhs", reads_on: true, ..NONE },
    ),
    (
        "guile",
        Family {
            inline: "c --listen",
            named: "e l L C x --language --use-srfi",
            ends: "s",
            valued: "e l L C x s --language --use-srfi",
            plain: "q v h -ds --debug --no-debug --auto-compile --fresh-auto-compile \
                     --no-auto-compile --r6rs --r7rs --help --version",
            scripts: "scm",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "racket",
        Family {
            inline: "e i --eval --repl",
            named: "f t l p X S G A R --load --require --lib --collects --search --config --addon \
                     --compiled",
            mains: "f t l p --load --require --lib",
            ends: "r u --script --require-script",
            valued: "f t l p k k k r u X S G A R I N W O L --load --require --lib --script \
                     --require-script --collects --search --config --addon --compiled --name --warn \
                     --stdout --syslog",
            plain: "m n v U C d b M j y c z T h --main --no-lib --no-compiled --make --help --version",
            scripts: "rkt",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "sbcl",
        Family {
            inline: "--eval",
            named: "--load --core --sysinit --userinit",
            mains: "--load",
            ends: "--script",
            valued: "--load --core --sysinit --userinit --script --dynamic-space-size \
                     --control-stack-size --tls-limit",
            plain: "--noinform --no-sysinit --no-userinit --noprint --disable-debugger \
                     --non-interactive --quit --disable-ldb --lose-on-corruption \
                     --merge-core-pages --no-merge-core-pages --end-runtime-options --help --version",
            reads_stdin: true,
            ..NONE
        },
    ),
    (
        "emacs",
        Family {
            inline: "--eval -eval --execute -execute",
            named: "l f L --load -load --funcall -funcall --directory -directory --script -script \
                     --init-directory --dump-file",
            mains: "x --script -script",
            valued: "l f L u t d i x --load -load --funcall -funcall --directory -directory \
                     --script -script --user -user --insert -insert --chdir --init-directory \
                     --dump-file --terminal --display --visit --file --name --geometry --title",
            plain: "q Q -nw -nl -nsl --batch -batch --kill -kill --no-init-file --no-site-file \
                     --no-site-lisp --no-splash --quick --help --version",
            reads_on: true,
            ..NONE
        },
    ),
];
