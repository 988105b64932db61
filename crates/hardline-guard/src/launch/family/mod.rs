//! Programs that run what their arguments say, by kind.
//!
//! An option that stands in no list of its family may take the next word or not: it is doubtful, and
//! whoever allows programs by a list must spell it out. Which programs there are stands in `table`.

mod compiled;
mod container;
mod name;
mod node;
mod python;
mod script;
mod shell;
mod table;
#[cfg(test)]
mod tests;
mod tool;
mod wrapper;

use super::package::Registry;

pub(super) use container::{CONTAINER_ENTRIES, CONTAINER_GROUPS, CONTAINER_VERBS};
pub(super) use name::plain_name;

/// How a program reads its arguments: words apart by blanks. Options of one letter count in clusters too: `-lc`.
/// A star at the end of an option stands for any that begin so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Family {
    /// Options whose argument, or who themselves, are code. A plus sign stands for all that begin with it.
    pub(super) inline: &'static str,
    /// Options that name code to be run or loaded. Those that begin like one of these count as well.
    pub(super) named: &'static str,
    /// Options that choose where code comes from: registries, caches, configurations, debuggers. Those that
    /// begin like one of these count as well.
    pub(super) sources: &'static str,
    /// Options whose value names a package that is run or installed. Those that begin like one count as well.
    pub(super) packages: &'static str,
    /// Options whose value is a directory or a file with a project whose code is run.
    pub(super) projects: &'static str,
    /// Values of options of one letter that load code, as `X=part`: the part is somewhere in the value.
    pub(super) loads: &'static str,
    /// Registry of the packages that it fetches, if it does.
    pub(super) registry: Option<Registry>,
    /// Subcommands before a package. Without any, the first operand is one.
    pub(super) fetches: &'static str,
    /// Options of one letter whose value is the name of a module. More than a name is code.
    pub(super) modules: &'static str,
    /// Options that bring the program along, so that no operand has to.
    pub(super) mains: &'static str,
    /// Options that bring the program along, and behind which everything is for that.
    pub(super) ends: &'static str,
    /// Options behind which another program begins, with its arguments. Behind a verb, it begins nowhere else.
    pub(super) begins: &'static str,
    /// Options that take the next argument. One that takes two stands there twice.
    pub(super) valued: &'static str,
    /// Options of one letter whose value can only stand in the same word.
    pub(super) glued: &'static str,
    /// Options that take no other argument. Those in no other list do no harm. Two dashes among them end no
    /// options.
    pub(super) plain: &'static str,
    /// Subcommands whose arguments are code.
    pub(super) verbs: &'static str,
    /// Subcommands before what is run.
    pub(super) runs: &'static str,
    /// How the names of its scripts end.
    pub(super) scripts: &'static str,
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

impl Family {
    /// All options that are listed.
    pub(super) fn options(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            self.inline,
            self.named,
            self.sources,
            self.packages,
            self.projects,
            self.mains,
            self.ends,
            self.begins,
            self.valued,
            self.plain,
        ];
        all.into_iter().flat_map(str::split_whitespace)
    }

    /// Whether the name of a file ends like one of its scripts.
    pub(super) fn is_script(&self, word: &str) -> bool {
        let ending = word.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
        ending.is_some_and(|it| has(self.scripts, &it))
    }
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
    /// A subcommand; behind those that run something there is another program, after so many operands.
    Verb(usize),
    /// An image or a container, with a command of its own.
    Container,
}

/// What is known of a program, by the name of its file.
pub(super) fn of(program: &str) -> Option<Family> {
    let name = plain_name(program);
    let mut rows = table::FAMILIES.into_iter().flatten();
    rows.find(|(names, _)| has(names, &name)).map(|(_, family)| *family)
}

/// Whether a program can be made to run anything by its arguments, in ways that are not looked for.
pub(super) fn runs_anything(program: &str) -> bool {
    has(table::RUN_ANYTHING, &plain_name(program))
}

/// Checks if what is behind these words is for the code that they name, and not for the program itself.
pub(super) fn passes_rest_on(program: &str, words: &[&str]) -> bool {
    let is_file = |it: &&str| it.ends_with(".dll") && !it.starts_with('-');
    match &*plain_name(program) {
        "cargo" | "dotnet" if words.contains(&"--") => true,
        "dotnet" => words.first().is_some_and(is_file),
        "go" => matches!(words, ["run", package, ..] if !package.starts_with('-')),
        _ => false,
    }
}

/// Whether one file is many programs, and does what the name says that it is called by.
pub(super) fn is_many(program: &str) -> bool {
    has(table::MANY, &plain_name(program))
}

/// Whether a link to it starts another program, by the name of the link.
pub(super) fn is_shim(program: &str) -> bool {
    has(table::SHIMS, &plain_name(program))
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
