//! Alignment of an edited text with its original.

use std::ops::Range;

use super::token::mark;
use crate::sanitize::BLOCKED;

/// A part of the edited text, and the part of the original that it stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Part {
    pub(super) edited: Range<usize>,
    pub(super) original: Range<usize>,
}

/// Aligns two texts of which the second was made from the first by sanitizing. Returns `None` if it was not.
///
/// Invariant: with each part put back, the edited text is the original.
pub(super) fn align(original: &str, edited: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let (mut from, mut to) = (0, 0);
    loop {
        let (old, new) = (original.get(from..)?, edited.get(to..)?);
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

/// Length of what two texts begin with, up to the start of a character of both.
fn common(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    one.floor_char_boundary(same)
}

/// A mark where the original has its character.
fn marked(old: &str, new: &str, from: usize, to: usize) -> Option<Part> {
    let (char, length) = mark(new)?;
    let is_it = old.starts_with(char);
    is_it.then(|| Part { edited: to..to + length, original: from..from + char.len_utf8() })
}

/// Words before something. They may begin as what they stand before does, so that the texts part within them.
fn put_in(edited: &str, from: usize, to: usize, same: usize) -> Option<Part> {
    let back = (0..=same.min(BLOCKED.len()))
        .find(|back| edited.get(to - back..).is_some_and(|it| it.starts_with(BLOCKED)))?;
    let (from, to) = (from - back, to - back);
    Some(Part { edited: to..to + BLOCKED.len(), original: from..from })
}
