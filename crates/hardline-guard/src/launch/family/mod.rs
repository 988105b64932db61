//! Programs that run code from their arguments, by family.
//!
//! An option in no list of its family is doubtful: it may take the next word or not. A list of
//! allowed programs must spell it out. `programs.txt` lists the programs: a new program is a new
//! row there.

mod name;
mod table;
#[cfg(test)]
mod tests;

use super::package::Registry;
use table::table;

pub(super) use name::plain_name;

/// The options and operands of a family of programs. Each list holds words separated by blanks.
/// One-letter options also match in clusters such as `-lc`. A star at the end of an option matches
/// any suffix. A `=` at its end says that it takes the next word, `==` that it takes two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Family {
    /// Options that are code themselves, or whose argument is. A plus sign matches all options that
    /// start with it.
    pub(super) inline: &'static str,
    /// Options that name code to run or load. Longer options that start with one of these count
    /// too.
    pub(super) named: &'static str,
    /// Options that choose where code comes from: registries, caches, configurations, debuggers.
    /// Longer options that start with one of these count too.
    pub(super) sources: &'static str,
    /// Options whose value names a package to run or install. Longer options that start with one of
    /// these count too.
    pub(super) packages: &'static str,
    /// Options whose value is a directory or file of a project whose code is run.
    pub(super) projects: &'static str,
    /// Values of one-letter options that load code, as `X=part`: the value contains the part.
    pub(super) loads: &'static str,
    /// The registry from which the program fetches packages, if it does.
    pub(super) registry: Option<Registry>,
    /// Subcommands before a package. If empty, the first operand is a package.
    pub(super) fetches: &'static str,
    /// One-letter options whose value is the name of a module. A value that is more than a name is
    /// code.
    pub(super) modules: &'static str,
    /// Options that provide the program, so that no operand has to.
    pub(super) mains: &'static str,
    /// Options that provide the program and leave all later words to it.
    pub(super) ends: &'static str,
    /// Options after which another program begins, with its arguments. After a verb, it begins
    /// nowhere else.
    pub(super) begins: &'static str,
    /// Options that take the next argument and have no other meaning.
    pub(super) valued: &'static str,
    /// One-letter options whose value can only stand in the same word.
    pub(super) glued: &'static str,
    /// Options that take no argument. Those in no other list are harmless. If `--` is listed here,
    /// it does not end the options.
    pub(super) plain: &'static str,
    /// Subcommands whose arguments are code.
    pub(super) verbs: &'static str,
    /// Subcommands before the program that is run.
    pub(super) runs: &'static str,
    /// File extensions of its scripts.
    pub(super) scripts: &'static str,
    /// Meaning of the first operand.
    pub(super) operand: Operand,
    /// Set if it runs code from standard input when it has no operand.
    pub(super) reads_stdin: bool,
    /// Set if a shell parses its command, so that one word can be a whole command.
    pub(super) is_line: bool,
    /// Set if assignments of variables may stand before the operand.
    pub(super) assigns: bool,
    /// Set if a cluster continues after a letter that takes the next argument.
    pub(super) goes_on: bool,
    /// Set if options count after operands too.
    pub(super) reads_on: bool,
    /// Set if an unknown option takes the next word, unless that is an option.
    pub(super) is_greedy: bool,
    /// Set if an option is only known as it is listed. Abbreviations and clusters are unknown
    /// options.
    pub(super) is_exact: bool,
}

impl Family {
    fn lists(&self) -> impl Iterator<Item = &'static str> {
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
        all.into_iter()
    }

    /// Returns all listed options.
    pub(super) fn options(&self) -> impl Iterator<Item = &'static str> {
        self.lists().flat_map(words)
    }

    /// Returns the number of following words that an option takes.
    pub(super) fn takes(&self, option: &str) -> usize {
        let marked = self.lists().flat_map(str::split_whitespace);
        let marks = marked.filter_map(|it| it.strip_prefix(option)).filter(|it| is_marks(it));
        // An option may stand in several lists, and carries its marks in one of them.
        let most = marks.map(str::len).max().unwrap_or_default();
        most.max(usize::from(has(self.valued, option)))
    }

    /// Returns true if the name of a file has the extension of its scripts.
    pub(super) fn is_script(&self, word: &str) -> bool {
        let ending = word.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
        ending.is_some_and(|it| has(self.scripts, &it))
    }
}

/// Meaning of the first argument that is not an option.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Operand {
    /// A file; the words after it are for the code in it.
    Script,
    /// Code.
    Code,
    /// A package, or a program from one. Its arguments follow, and it may be an interpreter.
    Package,
    /// Another program with its arguments, after this number of operands.
    Program(usize),
    /// A subcommand. After one that runs something, another program follows, after this number of
    /// operands.
    Verb(usize),
    /// An image or a container, with a command of its own.
    Container,
}

/// Returns the family of a program, by the name of its file.
pub(super) fn of(program: &str) -> Option<Family> {
    table().find(&plain_name(program)).map(|(_, family)| *family)
}

/// Returns true if the arguments of a program can make it run any code, in ways that the inspection
/// does not cover.
pub(super) fn runs_anything(program: &str) -> bool {
    table().is_in("anything", &plain_name(program))
}

/// Returns true if the words after these are for the code that they name, and not for the program
/// itself.
pub(super) fn passes_rest_on(program: &str, words: &[&str]) -> bool {
    let is_file = |it: &&str| it.ends_with(".dll") && !it.starts_with('-');
    match &*plain_name(program) {
        // Everything after `--` belongs to the program.
        "cargo" | "dotnet" if words.contains(&"--") => true,
        "dotnet" => words.first().is_some_and(is_file),
        "go" => matches!(words, ["run", package, ..] if !package.starts_with('-')),
        _ => false,
    }
}

/// Returns true if one file is many programs and acts by the name that it is called by.
pub(super) fn is_many(program: &str) -> bool {
    table().is_in("many", &plain_name(program))
}

/// Returns true if a link to the program starts another program, by the name of the link.
pub(super) fn is_shim(program: &str) -> bool {
    table().is_in("shims", &plain_name(program))
}

/// Returns true for a word that only shells know: it names no file.
pub(super) fn is_builtin(program: &str) -> bool {
    table().is_in("builtins", &plain_name(program))
}

/// Returns true for a Windows shell, which parses its options differently.
pub(super) fn is_windows_shell(program: &str) -> bool {
    matches!(&*plain_name(program), "pwsh" | "powershell" | "cmd")
}

/// Returns the words of a list, without the marks of those that take a value.
pub(super) fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace().map(|it| it.trim_end_matches('='))
}

/// Returns true if a list contains a word.
pub(super) fn has(list: &str, word: &str) -> bool {
    words(list).any(|it| it == word)
}

fn is_marks(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'=')
}
