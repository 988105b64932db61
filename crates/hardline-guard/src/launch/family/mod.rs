//! Programs that run what their arguments say, by kind.
//!
//! An option that stands in no list of its family may take the next word or not: it is doubtful, and
//! whoever allows programs by a list must spell it out. Which programs there are stands in `table`.

mod container;
mod table;

pub(super) use container::{CONTAINER_ENTRIES, CONTAINER_GROUPS, CONTAINER_VERBS};

/// How a program reads its arguments: words apart by blanks. Options of one letter count in clusters too: `-lc`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Family {
    /// Options whose argument, or who themselves, are code. A plus sign stands for all that begin with it.
    pub(super) inline: &'static str,
    /// Options that name code to be run or loaded. Those that begin like one of these count as well.
    pub(super) named: &'static str,
    /// Options of one letter whose value is the name of a module. More than a name is code.
    pub(super) modules: &'static str,
    /// Options that bring the program along, so that no operand has to.
    pub(super) mains: &'static str,
    /// Options that take the next argument.
    pub(super) valued: &'static str,
    /// Options that take none, and do no harm.
    pub(super) plain: &'static str,
    /// Subcommands whose arguments are code.
    pub(super) verbs: &'static str,
    /// Subcommands before what is run.
    pub(super) runs: &'static str,
    /// What the first operand is.
    pub(super) operand: Operand,
    /// Whether it runs what it reads, given no operand.
    pub(super) reads_stdin: bool,
    /// Whether a shell reads what it runs, so that one word can be a whole command.
    pub(super) is_line: bool,
    /// Whether variables are set before the operand.
    pub(super) assigns: bool,
    /// Whether a cluster goes on after a letter that takes the next argument.
    pub(super) goes_on: bool,
    /// Whether options count behind operands too.
    pub(super) reads_on: bool,
    /// Whether an option that is not known takes the next word, unless that is an option.
    pub(super) is_greedy: bool,
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
    /// An image or a container, with a command of its own.
    Container,
}

/// What is known of a program, by the name of its file.
pub(super) fn of(program: &str) -> Option<Family> {
    let name = plain_name(program);
    let mut rows = table::FAMILIES.iter();
    rows.find(|(names, _)| has(names, &name)).map(|(_, family)| *family)
}

/// Whether a program can be made to run anything by its arguments, in ways that are not looked for.
pub(super) fn runs_anything(program: &str) -> bool {
    has(table::RUN_ANYTHING, &plain_name(program))
}

/// Whether one file is many programs, and does what the name says that it is called by.
pub(super) fn is_many(program: &str) -> bool {
    has(table::MANY, &plain_name(program))
}

/// Whether it is a word of shells alone: no file is meant.
pub(super) fn is_builtin(program: &str) -> bool {
    has(table::BUILTINS, &plain_name(program))
}

/// Whether it is one of Windows' shells, which read their options in another way.
pub(super) fn is_windows_shell(program: &str) -> bool {
    matches!(&*plain_name(program), "pwsh" | "powershell" | "cmd")
}

/// Whether a word stands in a list of words.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|it| it == word)
}

/// The name of a program's file, without ending and version: `/usr/bin/python3.12` is `python`.
pub(super) fn plain_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_lowercase();
    let without =
        |ends: &[&str]| ends.iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
    let name = match without(&[".js", ".mjs", ".cjs"]) {
        // Somebody's `start.js` is not `start`.
        Some(script) => match script.trim_end_matches("-cli") {
            script if has(table::SCRIPTS, script) => script.to_owned(),
            _ => return name,
        },
        None => without(&[".exe", ".cmd", ".bat", ".com", ".ps1"]).unwrap_or(name),
    };
    if ["ld-linux", "ld-musl", "ld.so"].iter().any(|it| name.starts_with(it)) {
        return "ld-linux".to_owned();
    }
    // A package with its version: `node@20`.
    let name = match name.split_once('@') {
        Some((package, _)) if !package.is_empty() => package,
        _ => &*name,
    };
    let version = name.find(|char: char| char.is_ascii_digit());
    let bare = version.and_then(|at| name.get(..at)).unwrap_or(name);
    let bare = bare.trim_end_matches(['-', '.', '_']);
    if bare.is_empty() { name.to_owned() } else { bare.to_owned() }
}
