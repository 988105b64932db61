//! Non-joiners after a virama that keep nothing apart: at the end of a word, or in Tamil.
//!
//! Some texts write them everywhere. Where only some places have one, they carry bits.
//!
//! Invariant: the text is read once, and only if it has such non-joiners.

use super::capacity::{CHANGE, Weight};
use crate::scan::unicode::{is_indic, is_virama};

/// The places of one text that may have such a non-joiner.
#[derive(Debug)]
pub(super) struct Viramas<'a> {
    text: &'a str,
    /// Position up to which the text was searched for places without one.
    read: usize,
}

/// Returns true if a non-joiner between these two characters changes nothing.
pub(super) fn is_silent(before: char, after: Option<char>) -> bool {
    match before {
        // Tamil has one conjunct.
        '\u{bcd}' => after != Some('\u{bb7}'),
        _ => is_virama(before) && !after.is_some_and(is_indic),
    }
}

impl<'a> Viramas<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, read: 0 }
    }

    /// Weighs the non-joiner at `at`. It weighs nothing if no place since the last one is without.
    pub(super) fn weigh(&mut self, at: usize) -> Weight {
        let start = std::mem::replace(&mut self.read, at);
        let mut chars = self.text.get(start..at).unwrap_or_default().chars().peekable();
        let mut missed = false;
        while let Some(char) = chars.next() {
            // The last virama has the non-joiner that is being weighed.
            let Some(next) = chars.peek() else { break };
            let is_joiner = matches!(next, '\u{200c}' | '\u{200d}');
            missed |= !is_joiner && is_silent(char, Some(*next));
        }
        if missed && start > 0 { CHANGE } else { 0 }
    }
}
