//! Recognizes the rest of a message: what a server writes of an answer behind the place at which content
//! has ended it.
//!
//! Invariant: no more than [`MAX_REST_BYTES`] at the end of a line are read one by one; a line costs no more
//! than a few passes over its brackets.

use hardline_wire::json::{Checker, ends_in_string};
use hardline_wire::limits::Limits;
use memchr::{memchr2, memchr2_iter, memmem, memrchr_iter};

use crate::frame::brackets;
use crate::join::begins_inside;

/// Bytes at the end of a line that are searched for the end of a message.
const MAX_REST_BYTES: usize = 1024;
/// Limit on the quotes at the end of a line that are tried as the end of the content.
const MAX_QUOTES: usize = 32;
/// Limit on the brackets of a line that are tried as the start of a JSON value.
const MAX_STARTS: usize = 8;
/// Brackets that the rest of a message closes at least: its own, and those of its result or its
/// parameters.
const MIN_CLOSED: i32 = 2;

/// Returns true if a line is one object with the name of the protocol, from its first bracket to its last:
/// a message that is no strict JSON, such as one with `NaN` or a trailing comma.
pub(super) fn is_whole_message(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let has_name = memmem::find(text, b"\"jsonrpc\"").is_some();
    has_name && text.first() == Some(&b'{') && brackets(text, false) == Some(0)
}

/// Returns true if a line only closes strings, objects and arrays, with `least` bytes or more. One quote
/// is enough: no log line consists of it.
pub(super) fn is_closing(text: &[u8], least: usize) -> bool {
    let text = text.trim_ascii();
    let is_closing = |byte: &u8| matches!(byte, b'"' | b'\'' | b'}' | b']' | b',' | b' ');
    let has_enough = text.len() >= least || text.contains(&b'"');
    has_enough && !text.is_empty() && text.iter().all(is_closing)
}

/// Returns true if a line that has not ended may become the rest of a message.
pub(super) fn may_become_rest(unfinished: &[u8]) -> bool {
    let start = unfinished.len().saturating_sub(MAX_REST_BYTES);
    let end = unfinished.get(start..).unwrap_or_default();
    let count = |bytes: [u8; 2]| end.iter().filter(|byte| bytes.contains(byte)).count();
    let has_quote = end.iter().any(|byte| matches!(byte, b'"' | b'\''));
    // The rest ends a string with its quote, and closes brackets that its line did not open.
    begins_inside(unfinished) || has_quote && count([b'}', b']']) > count([b'{', b'['])
}

/// Returns true if a line looks like the rest of a message: text, a quote that ends it, and the brackets
/// that close the message.
pub(super) fn is_rest(text: &[u8], limits: &Limits) -> bool {
    let text = text.trim_ascii_end();
    let start = text.len().saturating_sub(MAX_REST_BYTES);
    let Some(end) = text.get(start..) else { return false };
    if !matches!(end.last(), Some(b'}' | b']')) {
        return false;
    }
    // A log line that shows a value ends in brackets too, but it has opened them itself.
    closes_message(end) && !ends_with_json(text, limits) || is_python_rest(end)
}

/// Returns true if a line looks like the rest of a message in Python's notation.
fn is_python_rest(end: &[u8]) -> bool {
    if !end.contains(&b'\'') {
        return false;
    }
    let text = from_python(end);
    // Log lines show whole values, behind words that may have apostrophes.
    let start = memchr2(b'{', b'[', &text).unwrap_or(0);
    let is_whole = text.get(start..).and_then(|it| brackets(it, false)) == Some(0);
    closes_message(&text) && !is_whole
}

/// Returns true if a text ends a string and at least [`MIN_CLOSED`] brackets that it has not opened.
fn closes_message(end: &[u8]) -> bool {
    let closes = |quote: usize| {
        let behind = end.get(quote + 1..).unwrap_or_default();
        brackets(behind, true).is_some_and(|depth| depth <= -MIN_CLOSED)
    };
    // The content may have quotes too, so the one that ends it is unknown.
    memrchr_iter(b'"', end).take(MAX_QUOTES).any(closes)
}

/// Returns a text with the quotes of JSON in place of Python's. Servers also print `{'id': 1}`.
fn from_python(text: &[u8]) -> Vec<u8> {
    text.iter().map(|&byte| if byte == b'\'' { b'"' } else { byte }).collect()
}

/// Returns true if a line makes sense only from the middle of a string on: read from its start it
/// ends inside of a string, and behind one of its quotes it closes a bracket that it has not opened.
/// It may be the rest of an object of one level, such as a log line.
pub(super) fn ends_string(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let start = text.len().saturating_sub(MAX_REST_BYTES);
    let end = text.get(start..).unwrap_or_default();
    let closes = |quote: usize| {
        brackets(end.get(quote + 1..).unwrap_or_default(), true).is_some_and(|depth| depth < 0)
    };
    let is_closed = matches!(end.last(), Some(b'}' | b']'));
    is_closed && ends_in_string(text) && memrchr_iter(b'"', end).take(MAX_QUOTES).any(closes)
}

/// Returns true if a line ends with a whole JSON value, as a log line does.
fn ends_with_json(text: &[u8], limits: &Limits) -> bool {
    // Counting brackets is far cheaper than a parse, and rules out most lines.
    if brackets(text, false) != Some(0) {
        return false;
    }
    let mut checker = Checker::new(limits);
    let starts = memchr2_iter(b'{', b'[', text).take(MAX_STARTS);
    starts.into_iter().any(|at| text.get(at..).is_some_and(|it| checker.check(it).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_rest_of_a_message() {
        for rest in [
            r#"b"}]}}"#,
            r#""}]}}"#,
            r#"he said "no" and left"}],"isError":false}}"#,
            r#"odd " quote"}}"#,
            r#"text"},"id":3}"#,
            r#"{"a":""}]}}]"#,
            r#"x"}],"structuredContent":{"a":[1,2.5e3]},"_meta":null}}"#,
            r#"INFO {{[{""}]}}"#,
            "b'}]}}",
            "it's'}], 'isError': False, '_meta': None}}",
        ] {
            assert!(is_rest(rest.as_bytes(), &Limits::default()), "{rest}");
        }
    }

    #[test]
    fn log_lines_are_no_rest() {
        for line in [
            "",
            "done",
            "}",
            r#"{"level":"info","data":{"a":"b"}}"#,
            r#"INFO got {"a":{"b":"c"}} in 3 ms"#,
            r#"INFO got {"a":{"b":"c"}}"#,
            r#"WARN {"a":{"b":"c"}} is not {"d":{"e":"f"}}"#,
            r#"  "name": "value" }"#,
            r#"if (x == "a") { y("b"); }"#,
            "can't open {'a': {'b': 'c'}}",
            "it doesn't end (}",
        ] {
            assert!(!is_rest(line.as_bytes(), &Limits::default()), "{line}");
        }
    }
}
