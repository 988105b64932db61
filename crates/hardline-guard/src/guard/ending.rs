//! Compares the ends of messages: the rest of an answer that content has ended has the end that the
//! server's template gives to each of its answers.
//!
//! Content can begin a message of its own for the rest to complete. That message is sound, but it ends
//! as an answer of the same template does, from the last string on.
//!
//! Invariants: no more than [`MAX_ENDINGS`] ends of at most [`MAX_BYTES`] bytes are kept; a message costs
//! the same at any length.

use std::collections::VecDeque;

use memchr::memrchr_iter;

use crate::frame::{brackets, trim_colors};

/// Limit on the ends that are kept. The oldest is forgotten first.
const MAX_ENDINGS: usize = 32;
/// Limit on the bytes of one end.
const MAX_BYTES: usize = 128;
/// Limit on the quotes at the end of a message that are tried as the end of a string.
const MAX_QUOTES: usize = 16;
/// Brackets that the end of an answer closes at least. With fewer it would be the end of many messages.
const MIN_CLOSED: i32 = 2;

/// The ends of the answers of one session.
#[derive(Debug, Default)]
pub(super) struct Endings {
    seen: VecDeque<Vec<u8>>,
    /// Memory for the end that is compared; most answers of a session end alike.
    current: Vec<u8>,
}

impl Endings {
    /// Records the end of an answer.
    pub(super) fn note(&mut self, answer: &[u8]) {
        let Self { seen, current } = self;
        if !write_ending(answer, current) || seen.contains(current) {
            return;
        }
        if seen.len() == MAX_ENDINGS {
            seen.pop_front();
        }
        seen.push_back(current.clone());
    }

    /// Returns true if a message ends like one of the answers.
    pub(super) fn has_end_of(&self, message: &[u8]) -> bool {
        !self.seen.is_empty() && ending(message).is_some_and(|it| self.seen.contains(&it))
    }
}

/// Returns the end of a message by which the messages of one template are recognized.
///
/// An end of nothing but braces recognizes none: requests, errors, log messages and openings of honest
/// servers share it.
pub(super) fn ending(text: &[u8]) -> Option<Vec<u8>> {
    let mut written = Vec::new();
    write_ending(text, &mut written).then_some(written)
}

/// Writes the end of a message, in the place of what `written` has. Returns false if it has none.
fn write_ending(text: &[u8], written: &mut Vec<u8>) -> bool {
    let Some(end) = end_of_value(text) else { return false };
    normalize(end, written);
    written.iter().any(|byte| matches!(byte, b'"' | b']'))
}

/// Returns the end of a text from its last string on that is a value and has [`MIN_CLOSED`] brackets closed
/// behind it.
fn end_of_value(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii_end();
    let end = text.get(text.len().saturating_sub(MAX_BYTES)..)?;
    let is_start = |quote: &usize| {
        let behind = end.get(quote + 1..).unwrap_or_default();
        let is_key = behind.trim_ascii_start().first() == Some(&b':');
        !is_key && brackets(behind, true).is_some_and(|depth| depth <= -MIN_CLOSED)
    };
    let start = memrchr_iter(b'"', end).take(MAX_QUOTES).find(is_start)?;
    end.get(start + 1..)
}

/// Leaves out white space between the tokens, writes numbers and words as `0` and the value of `id` as
/// nothing.
fn normalize(text: &[u8], written: &mut Vec<u8>) {
    written.clear();
    let (mut inside, mut escape, mut is_id) = (false, false, false);
    for &byte in text {
        if inside {
            inside = escape || byte != b'"';
            escape = byte == b'\\' && !escape;
            if !is_id {
                written.push(byte);
            }
            is_id &= inside;
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                inside = true;
                is_id = written.ends_with(b"\"id\":");
                if !is_id {
                    written.push(byte);
                }
            }
            // Of words, exponents and numbers, only the fact remains that one is there.
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'a'..=b'z' | b'E' => {
                if !written.ends_with(b"\"id\":") && written.last() != Some(&b'0') {
                    written.push(b'0');
                }
            }
            _ => written.push(byte),
        }
    }
}

/// Returns true if a line ends with a bracket that closes something, as the rest of each message does.
/// Blanks and the terminal's colors behind it do not count.
pub(super) fn ends_closed(text: &[u8]) -> bool {
    matches!(trim_colors(text).last(), Some(b'}' | b']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let found = ending(text.as_bytes()).map(|it| String::from_utf8(it).unwrap());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn an_end_begins_behind_the_last_string_that_is_a_value() {
        check(r#"{"id":1,"result":{"content":[{"text":"a"}]}}"#, Some("}]}}"));
        check(
            r#"{"result":{"content":[{"text":"a"} ], "isError": false}}"#,
            Some(r#"}],"isError":0}}"#),
        );
        check(r#"{"result":{"body":"a","n":12.5e3}}"#, Some(r#","n":0}}"#));
        check(r#"{"result":{"content":[{"text":"a"}]},"id":17}"#, Some(r#"}]},"id":}"#));
        check(r#"{"result":{"content":[{"text":"a"}]},"id":"r\"7"}"#, Some(r#"}]},"id":}"#));
        check(r#"{"result":{"body":"a","next":null}}"#, Some(r#","next":0}}"#));
        check(r#"{"error":{"code":1,"message":"a"}}"#, None);
        check(r#"{"result":{"serverInfo":{"name":"s","version":"1"}}}"#, None);
        check(r#"{"result":{"names":["a","b"]}}"#, Some("]}}"));
        check(r#"{"result":{"a":1}}"#, None);
        check(r#"{"jsonrpc":"2.0","id":3}"#, None);
        check("", None);
    }

    #[test]
    fn forgets_the_oldest_ends() {
        let mut endings = Endings::default();
        let text = |number: usize| format!(r#"{{"a":{{"b":"c","k{}":1}}}}"#, "x".repeat(number));
        for number in 0..=MAX_ENDINGS {
            endings.note(text(number).as_bytes());
            endings.note(text(number).as_bytes());
        }
        assert_eq!(endings.seen.len(), MAX_ENDINGS);
        assert!(!endings.has_end_of(text(0).as_bytes()));
        assert!(endings.has_end_of(text(1).as_bytes()));
    }

    #[test]
    fn colors_and_blanks_do_not_hide_a_closing_bracket() {
        for text in ["}", "a ] ", "{}\x1b[0m", "b\"}]}}\x1b[0;1m \x1b[m\t"] {
            assert!(ends_closed(text.as_bytes()), "{text:?}");
        }
        for text in ["", "m", "}m", "} [0m", "}\x1b[0K", "} done"] {
            assert!(!ends_closed(text.as_bytes()), "{text:?}");
        }
    }
}
