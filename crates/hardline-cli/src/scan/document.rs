//! Extracts the strings of a JSON document that is too long to be scanned at once.
//!
//! The scanner opens the strings of a text that is valid JSON as a whole. A window of such a text
//! is not valid JSON, so a message in a string of a long export would be missed. But a string never
//! continues on the next line, so the strings of whole lines can be found; and a text of nothing
//! but strings is JSON again.

use memchr::memchr3;

/// Returns true if a text with this beginning may be a JSON document.
pub(super) fn may_be_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    matches!(head.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Replaces everything but strings by spaces, byte for byte.
pub(super) fn only_strings(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut result = vec![b' '; bytes.len()];
    let mut keep = |from: usize, to: usize| {
        if let (Some(to), Some(from)) = (result.get_mut(from..to), bytes.get(from..to)) {
            to.copy_from_slice(from);
        }
    };
    let mut at = 0;
    // Start of the open string.
    let mut start = None;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr3(b'"', b'\\', b'\n', rest)) {
        at += found;
        match (bytes.get(at), start) {
            (Some(b'\\'), Some(_)) => at += 1,
            (Some(b'"'), None) => start = Some(at),
            (Some(b'"'), Some(from)) => {
                keep(from, at + 1);
                start = None;
            }
            // JSON strings contain no raw newline, so an open string was not one.
            (Some(b'\n'), _) => {
                keep(at, at + 1);
                start = None;
            }
            _ => {}
        }
        at += 1;
    }
    String::from_utf8(result).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_strings_and_lines() {
        let text = "{\"a\": [\"b\\\"c\", 1, trüe],\n \"un\nclosed\" \"é\"}\\\"x\"";
        let expected = " \"a\"   \"b\\\"c\"            \n    \n      \" \"  \"}\\\"x\"";
        let actual = only_strings(text);
        assert_eq!(actual.len(), text.len());
        assert_eq!(actual, expected);
    }

    #[test]
    fn knows_the_beginning_of_json() {
        assert!(may_be_json(b"\xef\xbb\xbf\n {") && may_be_json(b"["));
        assert!(!may_be_json(b"text") && !may_be_json(b""));
    }
}
