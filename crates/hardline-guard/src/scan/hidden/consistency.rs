//! Optional characters that some texts write everywhere: non-joiners after a virama, and fillers of
//! incomplete Hangul syllables.
//!
//! A text that has one in every place says nothing with it. Where only some places have one, they
//! carry bits.
//!
//! Invariant: the text is read once, and only if it has such characters.

use super::capacity::{CHANGE, Weight};
use crate::scan::unicode::{is_indic, is_virama};

/// The places of one text that may have a certain optional character.
#[derive(Debug)]
pub(super) struct Consistency<'a> {
    text: &'a str,
    /// Returns true if the optional character could stand between these two, and does not.
    is_missing: fn(char, char) -> bool,
    /// Position up to which the text was searched for places without the character.
    read: usize,
}

impl<'a> Consistency<'a> {
    /// Tracks the non-joiners that keep nothing apart.
    pub(super) fn of_viramas(text: &'a str) -> Self {
        let is_missing = |before, after| {
            !matches!(after, '\u{200c}' | '\u{200d}') && is_silent(before, Some(after))
        };
        Self { text, is_missing, read: 0 }
    }

    /// Tracks the fillers of incomplete Hangul syllables.
    pub(super) fn of_fillers(text: &'a str) -> Self {
        let is_missing = |before, after| {
            let is_complete = is_first(after) || is_vowel(after);
            let is_inside = is_first(before) || is_vowel(before) || is_end(before);
            is_first(before) && !is_complete || !is_inside && (is_vowel(after) || is_end(after))
        };
        Self { text, is_missing, read: 0 }
    }

    /// Weighs the character at `at`. It weighs nothing if no place since the last one is without.
    pub(super) fn weigh(&mut self, at: usize) -> Weight {
        let start = std::mem::replace(&mut self.read, at);
        let mut chars = self.text.get(start..at).unwrap_or_default().chars().peekable();
        let mut missed = false;
        while let Some(char) = chars.next() {
            // The last pair has the character that is being weighed.
            let Some(next) = chars.peek() else { break };
            missed |= (self.is_missing)(char, *next);
        }
        if missed && start > 0 { CHANGE } else { 0 }
    }
}

/// Returns true if a non-joiner between these two characters changes nothing: at the end of a word, or
/// in Tamil.
pub(super) fn is_silent(before: char, after: Option<char>) -> bool {
    match before {
        // Tamil has one conjunct.
        '\u{bcd}' => after != Some('\u{bb7}'),
        _ => is_virama(before) && !after.is_some_and(is_indic),
    }
}

/// Returns true if the filler between these two characters stands for a missing first consonant or
/// vowel of a Hangul syllable.
pub(super) fn fills_a_syllable(filler: char, before: Option<char>, after: Option<char>) -> bool {
    match filler {
        '\u{115f}' => after.is_some_and(|it| is_vowel(it) || is_end(it)),
        _ => before.is_some_and(is_first),
    }
}

/// Returns true for a first consonant of a Hangul syllable, and for its filler.
fn is_first(char: char) -> bool {
    matches!(char, '\u{1100}'..='\u{115f}' | '\u{a960}'..='\u{a97c}')
}

/// Returns true for a vowel of a Hangul syllable, and for its filler.
fn is_vowel(char: char) -> bool {
    matches!(char, '\u{1160}'..='\u{11a7}' | '\u{d7b0}'..='\u{d7c6}')
}

/// Returns true for a last consonant of a Hangul syllable.
fn is_end(char: char) -> bool {
    matches!(char, '\u{11a8}'..='\u{11ff}' | '\u{d7cb}'..='\u{d7fb}')
}
