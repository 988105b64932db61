//! Aligns an edited text with its original.

use std::ops::Range;

use super::token::mark;
use crate::sanitize::BLOCKED;

/// A part of the edited text, and the part of the original that it replaces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Part {
    pub(super) edited: Range<usize>,
    pub(super) original: Range<usize>,
}

/// Aligns a text with its sanitized form. Returns `None` if `edited` was not made from `original`
/// that way.
///
/// Invariant: replacing each part in the edited text gives the original.
pub(super) fn align(original: &str, edited: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let (mut from, mut to) = (0, 0);
    loop {
        let (old, new) = (original.get(from..)?, edited.get(to..)?);
        // Skips the equal part first; an edit starts where the texts differ.
        let same = common(old, new);
        (from, to) = (from + same, to + same);
        let (old, new) = (original.get(from..)?, edited.get(to..)?);
        if old.is_empty() && new.is_empty() {
            return Some(parts);
        }
        let part = marked(old, new, from, to).or_else(|| put_in(edited, from, to, same))?;
        (from, to) = (part.original.end, part.edited.end);
        parts.push(part);
    }
}

/// Returns the length of the common prefix of two texts, rounded down to a character boundary.
fn common(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    one.floor_char_boundary(same)
}

/// Matches a mark at the place of its character in the original.
fn marked(old: &str, new: &str, from: usize, to: usize) -> Option<Part> {
    let (char, length) = mark(new)?;
    let is_it = old.starts_with(char);
    is_it.then(|| Part { edited: to..to + length, original: from..from + char.len_utf8() })
}

/// Matches inserted words. They may start like the text that they stand before, so the texts may
/// differ only within them.
fn put_in(edited: &str, from: usize, to: usize, same: usize) -> Option<Part> {
    // The words start at most their own length before the first difference.
    let back = (0..=same.min(BLOCKED.len()))
        .find(|back| edited.get(to - back..).is_some_and(|it| it.starts_with(BLOCKED)))?;
    let (from, to) = (from - back, to - back);
    Some(Part { edited: to..to + BLOCKED.len(), original: from..from })
}
