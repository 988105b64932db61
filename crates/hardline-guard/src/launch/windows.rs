//! Windows' shells, which read their options in another way.

use super::inspect::{CodeKind, Inspector};
use super::source::is_code;

/// PowerShell's options that are code, by any of their beginnings.
const INLINE: [&str; 7] = ["command", "commandwithargs", "cwa", "encodedcommand", "ec", "k", "r"];
/// PowerShell's options that take the next word, by any of their beginnings.
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
    /// `/c` of `cmd`, and any beginning of PowerShell's `-Command` and `-EncodedCommand`.
    pub(super) fn follow_windows(&mut self, is_cmd: bool, at: usize, depth: usize) {
        let mut index = at + 1;
        while let Some(word) = self.command.get(index) {
            let word = word.to_lowercase();
            let Some(option) = option(&word, is_cmd) else {
                // PowerShell takes what is no file for a command.
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
            let is_clear = 1 < option.len() || matches!(option, "w" | "o");
            index += 1 + usize::from(!is_cmd && is_clear && is_one_of(&VALUED));
        }
        // It reads its commands.
        self.add(at, at, CodeKind::Inline);
    }

    /// What `cmd` runs. It goes on reading after `/k`.
    fn follow_cmd(&mut self, option: &str, at: usize, index: usize, depth: usize) {
        let rest = self.command.get(index + 1..).unwrap_or_default();
        // A program and its arguments are just that, unless the shell would read more into them.
        let is_more = |it: &String| it.contains(['&', '|', '<', '>', '^', '%']);
        // One word with blanks is read anew; of several, each stays in its quotes.
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

/// A word without the sign of an option, if it is one. To PowerShell, a path is none.
fn option(word: &str, is_cmd: bool) -> Option<&str> {
    match word.strip_prefix('/') {
        Some(rest) if is_cmd || !rest.contains('/') && !rest.ends_with(".ps1") => Some(rest),
        Some(_) => None,
        None => word.strip_prefix('-'),
    }
}
