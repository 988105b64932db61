//! Tells lines that were meant as messages from text that a server printed.

use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Kind, Value};
use hardline_wire::limits::Limits;
use hardline_wire::recover::Recovered;
use memchr::memmem;

use super::probable::starts_with_result;

/// Returns true if a JSON value looks like a message: it has `jsonrpc`, or it is an answer with an
/// id, or a call or an answer of nothing but JSON-RPC's own members. Ignores letter case.
pub(super) fn is_envelope(value: Value<'_>, max_id_bytes: usize) -> bool {
    let mut seen = EnvelopeMembers::default();
    for (key, value) in value.members() {
        match folded(&key) {
            Some("jsonrpc") => return true,
            Some("id") => seen.has_id |= Id::read(value, max_id_bytes).is_ok(),
            Some("method") => seen.has_method |= value.kind() == Kind::String,
            Some("params") => seen.has_params = true,
            // A result or an error.
            Some(_) => seen.has_outcome |= value.kind() == Kind::Object,
            None => seen.has_other = true,
        }
    }
    // The id may be on another line, if raw newlines tore the answer apart.
    let is_answer = seen.has_outcome && (seen.has_id || !seen.has_other);
    let is_call = seen.has_method && (seen.has_id || seen.has_params) && !seen.has_other;
    is_answer || is_call
}

/// Returns true if a text is a JSON object or array without a message in it.
pub(crate) fn is_plain_json(text: &[u8], limits: &Limits) -> bool {
    let mut checker = Checker::new(limits);
    let Ok(checked) = checker.check(text) else { return false };
    let is_plain = |value: Value<'_>| !is_envelope(value, limits.max_id_bytes());
    match checked.value.kind() {
        Kind::Object => is_plain(checked.value),
        Kind::Array => checked.value.elements().all(is_plain),
        _ => false,
    }
}

/// Returns true if a line that is no JSON looks like a damaged message.
pub(super) fn is_damaged_envelope(text: &[u8], recovered: &[Recovered]) -> bool {
    if recovered.iter().any(is_message_like) {
        return true;
    }
    // Its structure is beyond recovery, but no program starts a log line like that.
    if starts_with_result(text) {
        return true;
    }
    let start = text.trim_ascii_start().first();
    matches!(start, Some(b'{' | b'"')) && memmem::find(text, b"jsonrpc").is_some()
}

/// Returns true if a recovered message stands on the line by itself, as messages do.
pub(super) fn is_message_like(it: &Recovered) -> bool {
    let has_kind = it.has_method || it.is_response;
    !it.follows_junk && (it.has_jsonrpc || it.id.is_some() && has_kind)
}

/// Writes `0` over the numbers that some languages print and JSON does not have, outside of strings.
pub(super) fn without_odd_numbers(text: &[u8]) -> Vec<u8> {
    const WORDS: [&[u8]; 4] = [b"-Infinity", b"Infinity", b"NaN", b"undefined"];
    let mut written = text.to_vec();
    let (mut at, mut inside) = (0, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = match rest {
            [b'\\', ..] if inside => 2,
            [b'"', ..] => {
                inside = !inside;
                1
            }
            _ if inside => memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len()),
            _ => match WORDS.into_iter().find(|word| rest.starts_with(word)) {
                Some(word) => {
                    if let Some(place) = written.get_mut(at..at + word.len()) {
                        place.copy_from_slice(padded_zero(word.len()));
                    }
                    word.len()
                }
                None => 1,
            },
        };
        at += step;
    }
    written
}

/// Returns `0` and spaces, `length` bytes in all.
fn padded_zero(length: usize) -> &'static [u8] {
    b"0         ".get(..length).unwrap_or(b"0")
}

/// The members that an object has.
#[derive(Debug, Default)]
struct EnvelopeMembers {
    has_id: bool,
    has_method: bool,
    has_params: bool,
    has_outcome: bool,
    has_other: bool,
}

/// Returns the envelope key that a key equals when case is folded.
fn folded(key: &str) -> Option<&'static str> {
    const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
    let fold = |char| match char {
        '\u{17f}' => 's',
        '\u{130}' | '\u{131}' => 'i',
        _ => char.to_lowercase().next().unwrap_or(char),
    };
    NAMES.into_iter().find(|name| key.chars().map(fold).eq(name.chars()))
}
