//! Strict JSON: one value, checked in one pass, without copying or building a tree.
//!
//! A [`Checker`] accepts text that every parser reads in the same way and refuses the rest: RFC
//! 8259 grammar in valid UTF-8, no key twice in one object at any depth, no unpaired surrogate
//! escape, nothing after the value, bounded depth. That is I-JSON (RFC 7493) as far as text is
//! concerned, and it makes it safe to pass the original bytes on. Number ranges are not checked,
//! because bytes that are passed on unchanged lose no precision; ids have their own rules in
//! [`id`](crate::id).
//!
//! The result is a [`Value`]. Only the checker creates one, so a value is proof of the check. While
//! checking an object, the checker also records the members of a JSON-RPC [`Envelope`].
//!
//! Invariants:
//! - No input makes the checker panic or recurse, and cost is linear in the text.
//! - Of several faults the first is reported, with two exceptions: a repeated key in an object of
//!   more than thirty-two keys is found when the object closes, and an unpaired surrogate is
//!   reported only if nothing else is wrong, so that a layer that repairs it knows that the rest is
//!   valid.
//! - Buffers are reused for the next text, up to a fixed size: checking ordinary frames does not
//!   allocate.

use std::borrow::Cow;

use fearless_simd::{Level, dispatch};

mod check;
mod envelope;
mod error;
mod key;
mod number;
mod step;
mod string;
mod surrogate;
mod value;

pub use check::{Checked, Checker};
pub use envelope::Envelope;
pub use error::{JsonError, Reason};
pub use number::MAX_NUMBER_BYTES;
pub use step::{Step, Steps};
pub use string::{ends_in_string, escaped_bytes};
pub use surrogate::lone_surrogates;
pub use value::{Elements, Kind, Members, Value};

pub(crate) use envelope::equals_ignoring_case;
pub(crate) use string::next_special;

/// Returns the first position at or after `pos` that is not JSON whitespace.
#[inline(always)]
pub(crate) fn skip_whitespace(bytes: &[u8], pos: usize) -> usize {
    match bytes.get(pos) {
        // Most texts have no whitespace between tokens, so the common path is one comparison.
        Some(0..=b' ') => skip_whitespace_run(bytes, pos),
        _ => pos,
    }
}

#[inline(never)]
fn skip_whitespace_run(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(pos) {
        pos += 1;
    }
    pos
}

/// Returns true if `text` is one valid JSON string, its quotes included.
pub(crate) fn is_sound_string(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        return false;
    }
    let first = next_special(bytes, 1);
    let rest = dispatch!(Level::new(), simd => string::rest_of_string(simd, bytes, first));
    rest.is_ok_and(|it| it.end == bytes.len() && it.lone.is_none())
}

/// Returns the unescaped content of a valid JSON string; `text` has its quotes.
pub(crate) fn string_content(text: &str) -> Cow<'_, str> {
    let content = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    string::unescape(content.unwrap_or_default())
}
