//! JSON that no line reader splits.
//!
//! Readers disagree on where a line ends. Java, C# and Python's text mode end one at `\r`, Node's
//! `readline` also at U+2028 and U+2029, and Python's `splitlines` at U+0085 too. JSON allows `\r`
//! between tokens and the other three inside strings, so a sender can place a line end, and behind
//! it a whole message, that only some readers see. [`single_line`] removes all of them without
//! changing what the JSON means.

use std::borrow::Cow;

use memchr::memchr2_iter;

/// Returns `json` without any character at which some reader ends a line.
///
/// `json` must have passed [`Checker::check`](crate::json::Checker::check). A control character
/// there stands between two tokens and becomes a space. U+0085, U+2028 and U+2029 stand inside a
/// string and become escapes. Other bytes stay as they are, and `json` is only copied if it has to
/// be changed.
///
/// ```
/// use hardline_wire::single_line::single_line;
///
/// let json = "{\"a\":\r{\"b\":\"\u{2028}\"}}".as_bytes();
/// assert_eq!(&*single_line(json), br#"{"a": {"b":"\u2028"}}"#);
/// ```
pub fn single_line(json: &[u8]) -> Cow<'_, [u8]> {
    // A reduction without an early exit, so that the compiler vectorizes it. Most frames need
    // nothing else.
    let (least, most) =
        json.iter().fold((u8::MAX, 0), |(least, most), &byte| (least.min(byte), most.max(byte)));
    if least >= b' ' && most < 0x80 {
        return Cow::Borrowed(json);
    }
    // All of them are beyond ASCII.
    let separators: Vec<_> = if most < 0x80 { Vec::new() } else { separators(json).collect() };
    if least >= b' ' && separators.is_empty() {
        return Cow::Borrowed(json);
    }
    // An escape takes six bytes in place of two or three.
    let mut line = Vec::with_capacity(json.len() + separators.len() * 4);
    let mut done = 0;
    for Separator { at, length, escape } in separators {
        line.extend_from_slice(json.get(done..at).unwrap_or_default());
        line.extend_from_slice(escape);
        done = at + length;
    }
    line.extend_from_slice(json.get(done..).unwrap_or_default());
    // Checked strings have no raw control characters, so these stand between tokens.
    for byte in line.iter_mut().filter(|byte| **byte < b' ') {
        *byte = b' ';
    }
    Cow::Owned(line)
}

/// A line separator beyond ASCII.
struct Separator {
    at: usize,
    length: usize,
    escape: &'static [u8; 6],
}

fn separators(json: &[u8]) -> impl Iterator<Item = Separator> {
    memchr2_iter(0xc2, 0xe2, json).filter_map(|at| {
        let (length, escape) = match json.get(at..)? {
            [0xc2, 0x85, ..] => (2, b"\\u0085"),
            [0xe2, 0x80, 0xa8, ..] => (3, b"\\u2028"),
            [0xe2, 0x80, 0xa9, ..] => (3, b"\\u2029"),
            _ => return None,
        };
        Some(Separator { at, length, escape })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&single_line(json.as_bytes())), expected);
    }

    #[test]
    fn control_characters_between_tokens_become_spaces() {
        check("\t{\r\"a\":\n1}\r", " { \"a\": 1} ");
    }

    #[test]
    fn separators_in_strings_become_escapes() {
        check("{\"\u{85}\":\"a\u{2028}\u{2029}é—日\"}", r#"{"\u0085":"a\u2028\u2029é—日"}"#);
    }

    #[test]
    fn other_frames_are_not_copied() {
        for json in [r#"{"a":"b c"}"#, "{\"a\":\"é — 日本 \u{2027}\u{86} 👩\"}", ""] {
            assert!(matches!(single_line(json.as_bytes()), Cow::Borrowed(_)), "{json}");
        }
    }
}
