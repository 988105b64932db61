//! Searches for code behind words whose meaning is unknown.

use super::family::{self, Family, Operand};
use super::inspect::{Code, CodeKind, Inspector};
use super::option::{Met, is_option};
use super::source::is_text;

/// Options of unknown programs after which a command usually follows.
const EXECUTE: &str = "exec execdir ok okdir execute command cmd run program e x";

/// Limit on the words after an unknown option that may be its values. No known option takes as
/// many.
const MAX_VALUES: usize = 64;

/// Cost of following a link, in steps.
const LINK_STEPS: usize = 16;

/// The program whose arguments are searched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Owner {
    /// Starts another program: any word may be that program.
    Starter,
    /// Unknown program: a word after an option is its value, if that makes sense.
    Unknown,
}

impl Inspector<'_> {
    /// Returns the indexes of the options that are code, even after words that may be values of
    /// other options.
    pub(super) fn find_inline(&self, start: usize, family: &Family) -> Vec<usize> {
        let mut found = Vec::new();
        let mut start = start;
        let mut is_open = false;
        for _ in 0..MAX_VALUES {
            let walk = self.walk(start, family);
            let inline = walk.met.iter().filter(|(_, met)| *met == Met::Inline);
            found.extend(inline.map(|(index, _)| *index));
            let Some(index) = walk.operand else { return found };
            // Some options take several words.
            let is_value = is_open || walk.is_open;
            let word = self.word(index);
            if is_open && family::has(family.verbs, word) {
                found.push(index);
            }
            // A program that reads options after operands was read to the end.
            let is_read = family.reads_on && family.verbs.is_empty();
            if !is_value || walk.is_over || is_read || family.is_script(word) {
                return found;
            }
            is_open = true;
            start = index + 1;
        }
        found
    }

    /// Searches the words after a program that may start others for interpreters with code.
    pub(super) fn look_ahead(&mut self, at: usize, owner: Owner) {
        // One match is enough to refuse the command, so earlier words need no search.
        for index in at + 1..self.command.len() {
            let is_inline = |code: &Code| index < code.index && code.kind == CodeKind::Inline;
            if self.look.code.iter().any(is_inline) {
                continue;
            }
            let word = self.word(index);
            let programs = if !word.contains('/') {
                vec![word.to_owned()]
            } else if self.spend(LINK_STEPS) {
                self.programs(word)
            } else {
                return;
            };
            let is_value = owner == Owner::Unknown && self.is_value(index);
            for family in programs.iter().filter_map(|it| family::of(it)) {
                if family.operand != Operand::Script || family.inline.is_empty() {
                    continue;
                }
                for place in self.find_inline(index + 1, &family) {
                    // A value such as `--lang python` must not turn a later `-c 1` into code.
                    if !is_value || is_text(self.word(place + 1)) {
                        self.add(index, place, CodeKind::Inline);
                    }
                }
            }
        }
    }

    /// Returns true if a word is most likely the value of the option before it.
    fn is_value(&self, index: usize) -> bool {
        let before = self.word(index.saturating_sub(1));
        let is_given = before.contains('=');
        let name = before.trim_start_matches('-');
        is_option(before) && before != "--" && !is_given && !family::has(EXECUTE, name)
    }
}
