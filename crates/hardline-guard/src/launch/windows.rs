//! Windows' shells, which read their options in another way.

use super::inspect::{CodeKind, Inspector};
use super::source::is_code;

impl Inspector<'_> {
    /// `/c` of `cmd`, and any beginning of PowerShell's `-Command` and `-EncodedCommand`.
    pub(super) fn follow_windows(&mut self, is_cmd: bool, at: usize, depth: usize) {
        let mut index = at + 1;
        while let Some(word) = self.command.get(index) {
            let word = word.to_lowercase();
            let Some(option) = word.strip_prefix(['-', '/']) else {
                // PowerShell takes what is no file for a command.
                if !word.ends_with(".ps1") {
                    self.add(at, index, CodeKind::Inline);
                }
                return;
            };
            if is_cmd && option.starts_with(['c', 'r', 'k']) {
                return self.follow_cmd(option, at, index, depth);
            }
            let is_inline = ["command", "encodedcommand", "ec", "k", "r"];
            if !option.is_empty() && is_inline.iter().any(|it| it.starts_with(option)) {
                return self.add(at, index, CodeKind::Inline);
            }
            if !option.is_empty() && "file".starts_with(option) {
                if is_code(self.word(index + 1)) {
                    self.add(at, index + 1, CodeKind::Inline);
                }
                return;
            }
            let valued =
                ["executionpolicy", "ep", "windowstyle", "version", "workingdirectory", "wd"];
            let takes_next =
                !is_cmd && option.len() > 1 && valued.iter().any(|it| it.starts_with(option));
            index += 1 + usize::from(takes_next);
        }
        // It reads its commands.
        self.add(at, at, CodeKind::Inline);
    }

    /// What `cmd` runs. It goes on reading after `/k`.
    fn follow_cmd(&mut self, option: &str, at: usize, index: usize, depth: usize) {
        let rest = self.command.get(index + 1..).unwrap_or_default();
        // A program and its arguments are just that, unless the shell would read more into them.
        let is_more = |it: &String| it.contains(['&', '|', '<', '>', '^', '%', ' ']);
        let is_plain = matches!(option, "c" | "r") && !rest.is_empty();
        if !is_plain || rest.iter().any(is_more) {
            return self.add(at, index, CodeKind::Inline);
        }
        self.look.nested.push(index + 1);
        self.follow(index + 1, depth + 1);
    }
}
