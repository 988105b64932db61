//! Making hits harmless, at the level of one text.
//!
//! A planted line gets a visible prefix, after which no reader takes it for JSON, however it cuts
//! and trims lines. A message behind an encoding, or inside a line, gets the same words right after
//! its opening brace: decoded, they stand where a key has to. Control and hidden characters become
//! marks like `<U+200B>`.
//!
//! Invariants:
//! - What no edit names stays byte for byte.
//! - What [`clean`] returns has no hit left of those that it was asked to remove, so that cleaning
//!   it again changes nothing.

use std::fmt::Write;
use std::ops::Range;

use crate::rule::Rule;
use crate::scan::{Hit, Scanner, is_control, is_invisible};

/// The words before a planted line, and inside an encoded one.
///
/// No angle brackets and no comment sign: what strips markup or comments must not strip them.
pub const BLOCKED: &str = "blocked by hardline: ";

/// What is left of a message that words inside it do not break.
const REMOVED: &str = "(removed by hardline)";

/// A change of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Edit {
    /// What is replaced, in bytes of the text; empty where something is put in.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub replacement: String,
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

/// The edits that make `hits` harmless, in order and apart from each other.
pub fn edits(text: &str, hits: &[Hit]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for hit in hits {
        match hit.rule {
            Rule::ContentFrame | Rule::ContentContentLength => edits.push(blocked(hit.range.start)),
            Rule::ContentEncodedFrame | Rule::ContentJsonrpc => {
                edits.extend(hit.breaks.iter().map(|at| blocked(*at)));
            }
            Rule::ContentControl | Rule::ContentLineSeparator | Rule::ContentHidden => {
                let inside = text.get(hit.range.clone()).unwrap_or_default();
                edits.push(Edit { range: hit.range.clone(), replacement: visible(inside) });
            }
            _ => {}
        }
    }
    edits.sort_by_key(|it| (it.range.start, it.range.end));
    edits
        .dedup_by(|later, first| later.range == first.range || later.range.start < first.range.end);
    edits
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

fn blocked(at: usize) -> Edit {
    Edit { range: at..at, replacement: BLOCKED.to_owned() }
}

/// Cuts out what is hit.
fn cuts(hits: &[Hit]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for hit in hits {
        match edits.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
            }
            _ => edits.push(Edit { range: hit.range.clone(), replacement: REMOVED.to_owned() }),
        }
    }
    edits
}

/// `text` with marks for the characters that are not seen.
fn visible(text: &str) -> String {
    let mut result = String::with_capacity(text.len() * 3);
    for char in text.chars() {
        let is_separator = matches!(char, '\u{2028}' | '\u{2029}' | '\u{85}' | '\x0b');
        if is_control(char) || is_separator || is_invisible(char) {
            let _ = write!(result, "<U+{:04X}>", u32::from(char));
        } else {
            result.push(char);
        }
    }
    result
}
