//! Rules that find a word of plain ASCII: the trigger that the prefilters look for, and the check
//! behind it.
//!
//! To add such a rule, write a file like [`content_length`](super::content_length) with its
//! [`Pattern`], and a row in the table of [`rule`](crate::rule) that names it. The prefilters, the
//! scanner, the default actions, the documentation and the random tests read that table.
//!
//! Invariant: a word in a JSON string is written as it is, or with an escape that no plain frame
//! has ([`Pattern::new`] refuses any other word). So a frame without the word has no match.

use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{mask8x64, u8x64};

use super::list::{Entry, List};
use crate::rule::PATTERNS;

/// A word and the byte after it, at which the prefilters stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    /// Matches in any case.
    word: &'static [u8],
    /// The byte after the word. The rarer it is, the less a scan costs.
    byte: u8,
    /// Returns the range of the match, given the text and the position of the byte.
    find: fn(&[u8], usize) -> Option<Range<usize>>,
    /// Description of a match for people.
    detail: &'static str,
}

impl Pattern {
    /// Creates a pattern. Fails to compile if the prefilters could miss the word.
    ///
    /// `sanitize` inserts [`BLOCKED`](crate::sanitize::BLOCKED) before a match, so `find` must look
    /// at the text before the word, and match no more behind these words. Otherwise no number of
    /// edits removes the match: a text then loses the whole range, and a frame is blocked.
    pub(super) const fn new(
        word: &'static [u8],
        byte: u8,
        find: fn(&[u8], usize) -> Option<Range<usize>>,
        detail: &'static str,
    ) -> Self {
        let mut index = 0;
        while let Some(letter) = word.split_at(index).1.first() {
            assert!(letter.is_ascii_lowercase() || letter.is_ascii_digit() || *letter == b'-');
            index += 1;
        }
        assert!(matches!(word.last(), Some(b'a'..=b'z')), "the prefilters fold the last letter");
        // JSON may escape a quote, a backslash and a slash.
        assert!(byte.is_ascii_punctuation() && !matches!(byte, b'"' | b'\\' | b'/'));
        Self { word, byte, find, detail }
    }

    const fn letter(&self) -> u8 {
        match self.word.last() {
            Some(letter) => *letter,
            None => 0,
        }
    }

    fn is_before(&self, text: &[u8], at: usize) -> bool {
        let word = at.checked_sub(self.word.len()).and_then(|start| text.get(start..at));
        text.get(at) == Some(&self.byte)
            && word.is_some_and(|it| it.eq_ignore_ascii_case(self.word))
    }
}

/// Returns true if the word of a pattern ends right before `at`, and its byte follows.
pub(super) fn is_trigger(text: &[u8], at: usize) -> bool {
    PATTERNS.iter().any(|(_, pattern)| pattern.is_before(text, at))
}

/// Lists the match of each pattern whose word ends right before `at`.
pub(super) fn judge(text: &str, at: usize, list: &mut List) {
    let text = text.as_bytes();
    for (rule, pattern) in PATTERNS.iter().filter(|(_, it)| it.is_before(text, at)) {
        let Some(range) = (pattern.find)(text, at) else { continue };
        let places = std::iter::once(range.start..range.start);
        let entry = Entry { rule: *rule, severity: rule.severity(), range, places };
        list.add(entry, || (pattern.detail.into(), Vec::new()));
    }
}

/// Returns the last letters of words whose byte follows. `next` has the byte after each of `bytes`.
#[inline(always)]
pub(super) fn ends_of_words<S: Simd>(simd: S, bytes: u8x64<S>, next: u8x64<S>) -> mask8x64<S> {
    // Setting this bit folds the case of letters, and `new` accepts letters only.
    let lower = bytes | 0x20;
    let mut found = mask8x64::splat(simd, false);
    for (_, pattern) in PATTERNS {
        found |= lower.simd_eq(pattern.letter()) & next.simd_eq(pattern.byte);
    }
    found
}

/// The last letters of the words in a block, and the bytes that may follow them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairs([Pair; PATTERNS.len()]);

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    letters: u64,
    bytes: u64,
}

/// Set for each pattern if its letter ended the last block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carry([u64; PATTERNS.len()]);

impl Pairs {
    /// Finds the letters and the bytes of all patterns in a block.
    #[inline(always)]
    pub(super) fn of<S: Simd>(bytes: u8x64<S>) -> Self {
        // Setting this bit folds the case of letters, and `new` accepts letters only.
        let lower = bytes | 0x20;
        let mut pairs = Self::default();
        for (pair, (_, pattern)) in pairs.0.iter_mut().zip(PATTERNS) {
            pair.letters = lower.simd_eq(pattern.letter()).to_bitmask();
            pair.bytes = bytes.simd_eq(pattern.byte).to_bitmask();
        }
        pairs
    }

    /// Returns the bytes of the block at which a word may have ended.
    #[inline(always)]
    pub(super) fn candidates(&self, carry: &mut Carry) -> u64 {
        let mut candidates = 0;
        for (pair, carry) in self.0.iter().zip(&mut carry.0) {
            candidates |= (pair.letters << 1 | *carry) & pair.bytes;
            // The byte may be the first one of the next block.
            *carry = pair.letters >> 63;
        }
        candidates
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns texts with the word of each pattern, for random tests of the prefilters.
    pub(in super::super) fn parts() -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let of = |pattern: &Pattern| {
            let word = text(pattern.word);
            let byte = char::from(pattern.byte);
            [format!("{word}{byte}"), format!("\n{}{byte} 1\n", word.to_uppercase()), word]
        };
        PATTERNS.iter().flat_map(|(_, pattern)| of(pattern)).collect()
    }

    #[test]
    fn a_word_counts_in_any_case_and_with_its_byte_alone() {
        for (_, pattern) in PATTERNS {
            let end = pattern.word.len();
            for word in [pattern.word.to_ascii_lowercase(), pattern.word.to_ascii_uppercase()] {
                assert!(is_trigger(&[&*word, &[pattern.byte]].concat(), end));
                assert!(!is_trigger(&word, end));
                assert!(!is_trigger(&[&word[1..], &[pattern.byte]].concat(), end - 1));
            }
        }
    }

    #[test]
    fn every_word_belongs_to_a_rule_of_content() {
        for (rule, _) in PATTERNS {
            assert_eq!(rule.group(), "content");
        }
    }
}
