//! Makes matches in one text harmless.
//!
//! A planted line gets a visible prefix. With it, no reader takes the line for JSON, no matter how
//! the reader splits and trims lines. An encoded message, and a message inside a line, gets the
//! same words right after its opening brace: after decoding, they stand where JSON requires a key.
//! Control and hidden characters become marks like `<U+200B>`.
//!
//! Invariants:
//! - Bytes outside of the edits stay unchanged.
//! - There are at most as many edits as a scan can list hits, and at most one per few bytes of
//!   text.
//! - The text that [`clean`] returns contains none of the hits that it was asked to remove, so
//!   cleaning it again changes nothing.

use std::borrow::Cow;
use std::ops::Range;

use hardline_wire::splice::splice;

use crate::scan::{CharacterClass, Hit, Scanner};

/// The words put before a planted line, and into an encoded message.
///
/// They contain no angle brackets and no comment sign, so that a reader that strips markup or
/// comments does not strip them.
pub const BLOCKED: &str = "blocked by hardline: ";

/// Replacement for a message that [`BLOCKED`] inside it does not break.
pub(crate) const REMOVED: &str = "(removed by hardline)";

/// One replacement in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Edit {
    /// The replaced bytes of the text; empty for an insertion.
    pub range: Range<usize>,
    /// The new text.
    pub replacement: Cow<'static, str>,
}

/// A text after sanitizing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Cleaned {
    /// The sanitized text.
    pub text: String,
    /// Number of edits made.
    pub edits: usize,
}

/// Limit on the rounds of scanning and editing before messages are cut out, and on the rounds of
/// cutting before [`clean`] gives up.
///
/// Most texts need one round. Another is needed if an edit uncovers a message: one that a control
/// character tore in two, or one inside another.
const MAX_ROUNDS: usize = 4;

/// Scans `text` and makes the hits that `is_wanted` selects harmless, until none of them is left.
///
/// Returns `None` if a hit remains after all rounds. Such a text must not be sent.
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
        // Editing did not converge, so the messages are cut out instead.
        let is_late = round >= MAX_ROUNDS;
        let edits = if is_late { cuts(&hits) } else { edits(&cleaned.text, &hits) };
        cleaned.edits += edits.len();
        cleaned.text = apply(&cleaned.text, &edits);
    }
    None
}

/// Limit on single edits. Beyond it, edits near each other are merged into one, which repeats the
/// text between them unchanged.
const MAX_ALONE: usize = 1000;

/// Distance in bytes below which two edits count as near.
const NEAR: usize = 64;

/// Returns the edits that make `hits` harmless, sorted and without overlaps.
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
    // Bounds the number of edits: a hostile text may have a hit every few bytes.
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

/// Appends the edited form of the text at `place`.
fn push_edited(result: &mut String, text: &str, place: &Range<usize>) {
    if place.is_empty() {
        return result.push_str(BLOCKED);
    }
    for char in text.get(place.clone()).unwrap_or_default().chars() {
        if CharacterClass::of(char).is_some() {
            push_mark(result, char.into());
        } else {
            result.push(char);
        }
    }
}

/// Appends a mark like `<U+200B>`.
fn push_mark(result: &mut String, code: u32) {
    result.push_str("<U+");
    for shift in [20, 16, 12, 8, 4, 0] {
        // At least four digits, as Unicode writes code points.
        if shift < 16 || code >> shift != 0 {
            let digit = char::from_digit(code >> shift & 15, 16).unwrap_or_default();
            result.push(digit.to_ascii_uppercase());
        }
    }
    result.push('>');
}

/// Applies `edits`, which must be sorted and must not overlap.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let edits = edits.iter().map(|edit| (edit.range.clone(), edit.replacement.as_bytes()));
    // Ranges are on character boundaries, so the result is valid.
    String::from_utf8_lossy(&splice(text.as_bytes(), edits)).into_owned()
}

/// Replaces each hit as a whole. Overlapping hits become one edit.
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
