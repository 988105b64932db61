//! Tools that accept commands among their arguments.

use super::table::{NONE, Row};
use super::{Family, Operand};

const VIM: Family = Family {
    // `+command` runs an editor command, which can start a shell.
    inline: "+ c s --cmd --remote-expr --remote-send",
    named: "S u U l",
    valued: "S u U t T i w W --startuptime --servername --server --listen --socketid --windowid --log",
    reads_on: true,
    ..NONE
};

pub(super) const ROWS: &[Row] = &[
    (
        "make gmake bmake",
        Family {
            inline: "E --eval",
            named: "f --file --makefile I --include-dir",
            valued: "f C I o W --file --makefile --directory --include-dir --old-file --assume-old \
                     --what-if --new-file --assume-new",
            glued: "j l O",
            plain: "b m d e s k n i p q r t v w B L R S --silent --quiet --always-make \
                     --no-print-directory --jobs --keep-going --trace --no-builtin-rules",
            reads_on: true,
            ..NONE
        },
    ),
    (
        "just",
        Family {
            inline: "c --command",
            named: "f --justfile --shell --shell-arg --dotenv-path --dotenv-filename --chooser",
            valued: "f d E --justfile --working-directory --shell --shell-arg --dotenv-path \
                     --dotenv-filename --chooser --color --command-color --dump-format --tempdir \
                     --timestamp-format --set --set",
            plain: "q v n u g --quiet --verbose --dry-run --unstable --no-dotenv --highlight \
                     --no-highlight --global-justfile --help --version",
            ..NONE
        },
    ),
    (
        "git",
        Family {
            // A configuration can name commands: aliases, pagers, hooks.
            inline: "c --config-env --exec-path",
            valued: "C --git-dir --work-tree --namespace --attr-source",
            plain: "p P --paginate --no-pager --bare --no-replace-objects --literal-pathspecs \
                     --no-optional-locks --help --version",
            ..NONE
        },
    ),
    (
        "tar",
        Family {
            // All of these run a command.
            inline: "I F --checkpoint-action --to-command --use-compress-program --rsh-command \
                     --info-script --new-volume-script",
            reads_on: true,
            ..NONE
        },
    ),
    (
        "gdb",
        Family {
            inline: "-ex -iex --ex --iex -eval-command --eval-command -init-eval-command \
                     --init-eval-command",
            named: "-x -ix --x --ix -command --command -init-command --init-command",
            begins: "-args --args",
            valued: "-x -ix --x --ix -command --command -init-command --init-command -d -directory \
                     --directory -cd --cd -p -pid --pid -s -symbols --symbols -e -exec --exec -se \
                     --se -c -core --core -b -l -tty --tty -i -interpreter --interpreter -D \
                     -data-directory --data-directory",
            plain: "-q -quiet --quiet -silent --silent -batch --batch -batch-silent --batch-silent \
                     -nx --nx -nh --nh -nw --nw -w -n -tui --tui -readnow --readnow -write --write \
                     -return-child-result --return-child-result --help --version",
            operand: Operand::Program(0),
            reads_on: true,
            ..NONE
        },
    ),
    (
        "lldb",
        Family {
            inline: "o O k --one-line --one-line-before-file --one-line-on-crash",
            named: "s S K --source --source-before-file --source-on-crash --local-lldbinit",
            valued: "s S K f n p a c l r --source --source-before-file --source-on-crash --file \
                     --attach-name --attach-pid --arch --core --script-language --repl-language",
            plain: "b Q w x X --batch --source-quietly --wait-for --no-lldbinit --local-lldbinit \
                     --help --version",
            operand: Operand::Program(0),
            reads_on: true,
            ..NONE
        },
    ),
    ("vim vi nvim view vimdiff gvim", VIM),
    ("ex ed", Family { reads_stdin: true, ..VIM }),
    // A shell parses the joined operands of these.
    ("ssh watch parallel eval concurrently", Family { operand: Operand::Code, ..NONE }),
    (
        "nix-shell",
        Family { inline: "E --run --command --expr", valued: "p I A", reads_on: true, ..NONE },
    ),
    // `windows` parses the options of these.
    ("pwsh powershell cmd", NONE),
];
