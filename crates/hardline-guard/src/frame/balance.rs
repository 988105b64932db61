//! Brackets of a text that is no JSON.

const ESC: u8 = 0x1b;

/// The bytes of a text that are outside of strings, with their positions. A quote that opens a string
/// counts, the one that closes it does not, and neither does the bracket of a terminal escape
/// (`ESC [`).
struct OutsideStrings<'a> {
    text: std::iter::Enumerate<std::slice::Iter<'a, u8>>,
    is_inside: bool,
    /// The last byte outside of strings.
    before: u8,
}

impl<'a> OutsideStrings<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { text: text.iter().enumerate(), is_inside: false, before: 0 }
    }
}

impl Iterator for OutsideStrings<'_> {
    type Item = (usize, u8);

    fn next(&mut self) -> Option<(usize, u8)> {
        let mut is_escaped = false;
        for (at, &byte) in self.text.by_ref() {
            if !self.is_inside {
                self.is_inside = byte == b'"';
                if std::mem::replace(&mut self.before, byte) == ESC && byte == b'[' {
                    continue;
                }
                return Some((at, byte));
            }
            self.is_inside = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
        }
        None
    }
}

/// Counts the brackets outside of strings: those that open, less those that close.
///
/// Returns `None` if the text ends inside a string, and, if `is_strict`, if it has anything that JSON
/// does not have outside of strings.
pub(crate) fn brackets(text: &[u8], is_strict: bool) -> Option<i32> {
    let mut depth = 0_i32;
    let mut outside = OutsideStrings::of(text);
    for (_, byte) in outside.by_ref() {
        match byte {
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' | b',' | b':' | b' ' | b'\t' | b'\r' | b'-' | b'+' | b'.' | b'0'..=b'9' => {}
            // The letters of `true`, `false`, `null` and of exponents, and of Python's constants.
            b'a' | b'e' | b'E' | b'f' | b'l' | b'n' | b'r' | b's' | b't' | b'u' => {}
            b'F' | b'N' | b'T' | b'o' => {}
            _ if is_strict => return None,
            _ => {}
        }
    }
    (!outside.is_inside).then_some(depth)
}

/// Returns the position behind the bracket that closes the first one, outside of strings.
pub(crate) fn first_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in OutsideStrings::of(text) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_open_nothing() {
        let colored = b"\x1b[32m{\"a\":\x1b[1m[\"\x1b[{\"]}\x1b[0m";
        assert_eq!(brackets(colored, false), Some(0));
        assert_eq!(first_end(colored), Some(colored.len() - 4));
        assert_eq!(brackets(b"\x1b[32m{\"a\":1\x1b[0m", false), Some(1));
        assert_eq!(brackets(b"\"\x1b\"[", false), Some(1));
    }
}
