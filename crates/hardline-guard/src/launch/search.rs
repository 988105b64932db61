//! Code behind words that nobody can tell the meaning of.

use super::family::{self, Family, Operand};
use super::inspect::{Code, CodeKind, Inspector};
use super::option::{Met, is_option};
use super::source::is_text;

/// Options of programs that are not known, behind which a command is usual.
const EXECUTE: &str = "exec execdir ok okdir execute command cmd run program e x";

/// So many words behind an option that is not known may be its values: none that is known takes as many.
const MAX_VALUES: usize = 64;

/// What it costs to follow a link, in words that are looked at.
const LINK_STEPS: usize = 16;

/// Whose arguments are searched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Owner {
    /// A program that starts another: any word may be that.
    Starter,
    /// A program that is not known: a word behind an option is its value, if that makes sense.
    Unknown,
}

impl Inspector<'_> {
    /// The options of a program that are code, also behind words that may be values of others.
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
            // What reads on was read to the end.
            let is_read = family.reads_on && family.verbs.is_empty();
            if !is_value || walk.is_over || is_read || family.is_script(word) {
                return found;
            }
            is_open = true;
            start = index + 1;
        }
        found
    }

    /// Looks for interpreters that are given code anywhere behind a program that may start them.
    pub(super) fn look_ahead(&mut self, at: usize, owner: Owner) {
        for index in at + 1..self.command.len() {
            let is_inline = |code: &Code| index < code.index && code.kind == CodeKind::Inline;
            if self.look.code.iter().any(is_inline) {
                continue;
            }
            let word = self.word(index);
            let programs = match word.contains('/') {
                true if !self.spend(LINK_STEPS) => return,
                true => self.programs(word),
                false => vec![word.to_owned()],
            };
            let is_value = owner == Owner::Unknown && self.is_value(index);
            for family in programs.iter().filter_map(|it| family::of(it)) {
                if family.operand != Operand::Script || family.inline.is_empty() {
                    continue;
                }
                for place in self.find_inline(index + 1, &family) {
                    if !is_value || is_text(self.word(place + 1)) {
                        self.add(index, place, CodeKind::Inline);
                    }
                }
            }
        }
    }

    /// Whether a word is most likely the value of the option before it.
    fn is_value(&self, index: usize) -> bool {
        let before = self.word(index.saturating_sub(1));
        let is_given = before.contains('=');
        let name = before.trim_start_matches('-');
        is_option(before) && before != "--" && !is_given && !family::has(EXECUTE, name)
    }
}
