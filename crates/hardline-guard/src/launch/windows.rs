//! Inspects commands of the Windows shells, which parse their options differently.

use super::inspect::{CodeKind, Inspector};
use super::source::is_code;

/// Options of PowerShell that are code. Every prefix of them counts.
const INLINE: [&str; 7] = ["command", "commandwithargs", "cwa", "encodedcommand", "ec", "k", "r"];
/// Options of PowerShell that take the next word. Every prefix of them counts.
const VALUED: [&str; 16] = [
    "executionpolicy",
    "ep",
    "windowstyle",
    "version",
    "workingdirectory",
    "wd",
    "inputformat",
    "if",
    "outputformat",
    "of",
    "configurationname",
    "configurationfile",
    "settingsfile",
    "custompipename",
    "psconsolefile",
    "encodedarguments",
];

impl Inspector<'_> {
    /// Finds `/c` of `cmd`, and every prefix of PowerShell's `-Command` and `-EncodedCommand`.
    pub(super) fn follow_windows(&mut self, is_cmd: bool, at: usize, depth: usize) {
        let mut index = at + 1;
        while let Some(word) = self.command.get(index) {
            let word = word.to_lowercase();
            let Some(option) = option(&word, is_cmd) else {
                // PowerShell treats a word that is not a script as a command.
                if !word.ends_with(".ps1") {
                    self.add(at, index, CodeKind::Inline);
                }
                return;
            };
            if is_cmd && option.starts_with(['c', 'r', 'k']) {
                return self.follow_cmd(option, at, index, depth);
            }
            let is_one_of = |list: &[&str]| list.iter().any(|it| it.starts_with(option));
            if !option.is_empty() && is_one_of(&INLINE) {
                return self.add(at, index, CodeKind::Inline);
            }
            if !option.is_empty() && "file".starts_with(option) {
                if is_code(self.word(index + 1)) {
                    self.add(at, index + 1, CodeKind::Inline);
                }
                return;
            }
            // A single letter may abbreviate several options, of which not all take a value.
            let is_clear = option.len() > 1 || matches!(option, "w" | "o");
            index += 1 + usize::from(!is_cmd && is_clear && is_one_of(&VALUED));
        }
        // Without a command, the shell reads commands from standard input.
        self.add(at, at, CodeKind::Inline);
    }

    /// Inspects the command that `cmd` runs. After `/k`, `cmd` also reads further commands.
    fn follow_cmd(&mut self, option: &str, at: usize, index: usize, depth: usize) {
        let rest = self.command.get(index + 1..).unwrap_or_default();
        // A program and its arguments are plain words, unless they contain characters that the
        // shell interprets.
        let is_more = |it: &String| it.contains(['&', '|', '<', '>', '^', '%']);
        // `cmd` parses a single word with blanks again; of several words, each stays quoted.
        let is_line = |it: &String| {
            let is_file =
                [".exe", ".cmd", ".bat"].iter().any(|end| it.to_lowercase().ends_with(end));
            it.contains(' ') && !is_file
        };
        let is_line = matches!(rest, [only] if is_line(only));
        let is_plain = matches!(option, "c" | "r") && !rest.is_empty();
        if !is_plain || is_line || rest.iter().any(is_more) {
            return self.add(at, index, CodeKind::Inline);
        }
        self.add_nested(index + 1);
        self.follow(index + 1, depth + 1);
    }
}

/// Returns a word without the sign of an option, if it is one. PowerShell does not treat a path as
/// an option.
fn option(word: &str, is_cmd: bool) -> Option<&str> {
    match word.strip_prefix('/') {
        Some(rest) if is_cmd || !rest.contains('/') && !rest.ends_with(".ps1") => Some(rest),
        Some(_) => None,
        None => word.strip_prefix('-'),
    }
}
