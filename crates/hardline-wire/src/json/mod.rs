//! Strict JSON: one value, checked in one pass, nothing copied and nothing built.
//!
//! A [`Checker`] accepts what every parser reads alike and refuses the rest: RFC 8259 grammar in
//! valid UTF-8, no key twice in one object at any depth, no unpaired surrogate escape, nothing
//! after the value, bounded depth. That is I-JSON (RFC 7493) as far as text goes, and it is what
//! makes it safe to pass the original bytes on. Number ranges are left alone, since bytes that are
//! passed on unchanged lose no precision; ids have rules of their own in [`id`](crate::id).
//!
//! What it yields is a [`Value`], which can be had in no other way: to hold one is proof of the
//! check. While checking an object it also notes the members of a JSON-RPC [`Envelope`].
//!
//! Invariants:
//! - No input makes it panic or recurse; cost is linear in the text, whatever the text.
//! - Of several faults the first is reported, with two exceptions: a key repeated in an object of
//!   more than thirty-two is found when the object closes, and an unpaired surrogate is reported
//!   only if nothing else is wrong, so that a layer that mends it knows that the rest is sound.
//! - Buffers are kept for the next text, up to a fixed size: checking ordinary frames allocates
//!   nothing.

use std::borrow::Cow;

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
pub use step::{Step, Steps};
pub use string::ends_in_string;
pub use surrogate::lone_surrogates;
pub use value::{Elements, Kind, Members, Value};

pub(crate) use envelope::equals_ignoring_case;
pub(crate) use string::Scan;

/// Returns the first position at or after `pos` that is not JSON whitespace.
#[inline(always)]
pub(crate) fn skip_whitespace(bytes: &[u8], pos: usize) -> usize {
    match bytes.get(pos) {
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

/// Whether `text` is one sound JSON string, its quotes included.
pub(crate) fn is_sound_string(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        return false;
    }
    let scan = Scan::new(bytes);
    let first = scan.next_special(bytes, 1);
    scan.rest_of_string(bytes, first).is_ok_and(|it| it.end == bytes.len() && it.lone.is_none())
}

/// What a sound JSON string stands for; `text` has its quotes.
pub(crate) fn string_content(text: &str) -> Cow<'_, str> {
    let content = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    string::unescape(content.unwrap_or_default())
}
