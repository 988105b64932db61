//! Making hits harmless, at the level of one text.
//!
//! A planted line gets a visible prefix, after which no reader takes it for JSON, however it cuts
//! and trims lines. A message behind an encoding, or inside a line, gets the same words right after
//! its opening brace: decoded, they stand where a key has to. Control and hidden characters become
//! marks like `<U+200B>`.
//!
//! Invariants:
//! - What no edit names stays byte for byte.
//! - There are no more edits than hits can be listed, and one for each few bytes of the text.
//! - What [`clean`] returns has no hit left of those that it was asked to remove, so that cleaning
//!   it again changes nothing.

use std::borrow::Cow;
use std::ops::Range;

use crate::scan::{Hit, Scanner, is_control, is_invisible};

/// The words before a planted line, and inside an encoded one.
///
/// No angle brackets and no comment sign: what strips markup or comments must not strip them.
pub const BLOCKED: &str = "blocked by hardline: ";

/// What is left of a message that words inside it do not break.
pub(crate) const REMOVED: &str = "(removed by hardline)";

/// A change of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Edit {
    /// What is replaced, in bytes of the text; empty where something is put in.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub replacement: Cow<'static, str>,
}

/// A text that was made harmless.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Cleaned {
    /// The text.
    pub text: String,
    /// How many edits were made.
    pub edits: usize,
}

/// Rounds of scanning and editing before messages are cut out, and again before it is given up.
///
/// One round does for what is found at first. Another is needed where an edit uncovers something:
/// a message that a control character tore in two, or one inside another.
const MAX_ROUNDS: usize = 4;

/// Scans `text` and makes harmless what `is_wanted` picks, until nothing of it is left.
///
/// Returns `None` if something is left all the same: such a text must not go on.
pub fn clean(
    scanner: &mut Scanner,
    text: &str,
    is_wanted: impl Fn(&Hit) -> bool,
) -> Option<Cleaned> {
    let mut cleaned = Cleaned { text: text.to_owned(), edits: 0 };
    for round in 0..=2 * MAX_ROUNDS {
        let mut hits = scanner.scan(&cleaned.text).hits;
        hits.retain(&is_wanted);
        if hits.is_empty() {
            return Some(cleaned);
        }
        let is_late = round >= MAX_ROUNDS;
        let edits = if is_late { cuts(&hits) } else { edits(&cleaned.text, &hits) };
        cleaned.edits += edits.len();
        cleaned.text = apply(&cleaned.text, &edits);
    }
    None
}

/// Edits that are made one by one. If there are more, those near each other become one edit, which
/// writes what stands between them as it is.
const MAX_ALONE: usize = 1000;

/// How many bytes apart edits are near each other.
const NEAR: usize = 64;

/// The edits that make `hits` harmless, in order and apart from each other.
pub fn edits(text: &str, hits: &[Hit]) -> Vec<Edit> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for hit in hits {
        places.extend_from_slice(&hit.places);
    }
    places.sort_by_key(|it| (it.start, it.end));
    places.dedup_by(|later, first| later == first || later.start < first.end);
    if places.len() <= MAX_ALONE {
        return places.into_iter().map(|it| edit(text, it)).collect();
    }
    let mut edits: Vec<Edit> = Vec::new();
    for place in places {
        match edits.last_mut() {
            Some(last) if place.start < last.range.end + NEAR => {
                let replacement = last.replacement.to_mut();
                replacement.push_str(text.get(last.range.end..place.start).unwrap_or_default());
                push_edited(replacement, text, &place);
                last.range.end = place.end;
            }
            _ => edits.push(edit(text, place)),
        }
    }
    edits
}

fn edit(text: &str, place: Range<usize>) -> Edit {
    if place.is_empty() {
        return Edit { range: place, replacement: BLOCKED.into() };
    }
    let mut replacement = String::with_capacity(3 * place.len());
    push_edited(&mut replacement, text, &place);
    Edit { range: place, replacement: replacement.into() }
}

/// Writes what stands at a place after it was edited.
fn push_edited(result: &mut String, text: &str, place: &Range<usize>) {
    if place.is_empty() {
        return result.push_str(BLOCKED);
    }
    for char in text.get(place.clone()).unwrap_or_default().chars() {
        let is_separator = matches!(char, '\u{2028}' | '\u{2029}' | '\u{85}' | '\x0b');
        if is_control(char) || is_separator || is_invisible(char) {
            push_mark(result, char.into());
        } else {
            result.push(char);
        }
    }
}

/// Writes a mark like `<U+200B>`.
fn push_mark(result: &mut String, code: u32) {
    result.push_str("<U+");
    for shift in [20, 16, 12, 8, 4, 0] {
        if shift < 16 || code >> shift != 0 {
            let digit = char::from_digit(code >> shift & 15, 16).unwrap_or_default();
            result.push(digit.to_ascii_uppercase());
        }
    }
    result.push('>');
}

/// Makes the edits, which are in order and apart from each other.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(text.len() + edits.len() * BLOCKED.len());
    let mut done = 0;
    for edit in edits {
        let Some(between) = text.get(done..edit.range.start) else { continue };
        result.push_str(between);
        result.push_str(&edit.replacement);
        done = edit.range.end;
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}

/// Cuts out what is hit; where many hits are one, what is between them too.
fn cuts(hits: &[Hit]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for hit in hits {
        match edits.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
            }
            _ => edits.push(Edit { range: hit.range.clone(), replacement: REMOVED.into() }),
        }
    }
    edits
}
