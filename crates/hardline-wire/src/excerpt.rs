//! Bytes from a peer, made safe for a terminal or a log: escaped and shortened.
//!
//! All text from peers reaches people through [`Excerpt`], so that no escape sequence moves a
//! cursor, no line separator forges a log line, no invisible character hides, and no megabyte fills
//! a disk.

use std::fmt::{self, Write};

/// Mark in place of a secret, in all texts of Hardline.
pub const REDACTED: &str = "[redacted]";

/// Shows bytes from a peer on one line.
///
/// Printable characters stay. Newlines, tabs and backslashes are escaped as in Rust, other control
/// and invisible characters as `\u{…}`, bytes that are not UTF-8 as `\x..`. The number of omitted
/// bytes is shown at the end.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a> {
    bytes: &'a [u8],
    max_bytes: usize,
    is_json: bool,
}

impl<'a> Excerpt<'a> {
    /// Shows at most `max_bytes` of `bytes`, cut at a character boundary.
    pub fn new(bytes: &'a [u8], max_bytes: usize) -> Self {
        Self { bytes, max_bytes, is_json: false }
    }

    /// Returns the original bytes, unescaped: not safe for a terminal.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Creates an excerpt of JSON text, whose backslashes stay, so that people can search for the
    /// text.
    pub fn of_json(text: &'a str, max_bytes: usize) -> Self {
        Self { bytes: text.as_bytes(), max_bytes, is_json: true }
    }
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.bytes.get(..self.cut()).unwrap_or(self.bytes);
        for chunk in shown.utf8_chunks() {
            for char in chunk.valid().chars() {
                match char {
                    // JSON has escapes of its own, which doubled backslashes would change.
                    '\\' if self.is_json => formatter.write_char(char)?,
                    _ => write_char(formatter, char)?,
                }
            }
            for byte in chunk.invalid() {
                write!(formatter, "\\x{byte:02x}")?;
            }
        }
        match self.bytes.len() - shown.len() {
            0 => Ok(()),
            more => write!(formatter, "… {more} bytes more"),
        }
    }
}

impl Excerpt<'_> {
    /// Returns the position of the cut, which is not inside a character.
    fn cut(&self) -> usize {
        let mut cut = self.max_bytes.min(self.bytes.len());
        let is_inside = |cut| self.bytes.get(cut).is_some_and(|byte| byte & 0xc0 == 0x80);
        // A character has at most three bytes after its first; longer runs are not UTF-8.
        for _ in 0..3 {
            if is_inside(cut) && cut > 0 {
                cut -= 1;
            }
        }
        // Four continuation bytes in a row are not UTF-8, so any cut is fine.
        if is_inside(cut) { self.max_bytes.min(self.bytes.len()) } else { cut }
    }
}

fn write_char(formatter: &mut fmt::Formatter<'_>, char: char) -> fmt::Result {
    match char {
        '\n' => formatter.write_str("\\n"),
        '\r' => formatter.write_str("\\r"),
        '\t' => formatter.write_str("\\t"),
        '\\' => formatter.write_str("\\\\"),
        _ if is_unsafe(char) => write!(formatter, "\\u{{{:x}}}", u32::from(char)),
        _ => formatter.write_char(char),
    }
}

/// Returns true if a character is invisible or changes how others are shown.
pub fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{2d7f}'
                | '\u{3164}'
                | '\u{e000}'..='\u{f8ff}'
                | '\u{fdd0}'..='\u{fdef}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffc}'
                | '\u{1107f}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{13441}'..='\u{13442}'
                | '\u{16fe4}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d159}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
                | '\u{f0000}'..
        )
        // The last two code points of each plane are not characters.
        || u32::from(char) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], max_bytes: usize, expected: &str) {
        assert_eq!(Excerpt::new(bytes, max_bytes).to_string(), expected);
    }

    #[test]
    fn escapes_what_a_terminal_would_obey_or_hide() {
        check(b"plain \"text\"", 99, "plain \"text\"");
        check("h\u{e9}llo \u{1f600}".as_bytes(), 99, "h\u{e9}llo \u{1f600}");
        check(b"\x1b[2J\r\n\t\\\0\x7f", 99, r"\u{1b}[2J\r\n\t\\\u{0}\u{7f}");
        check(
            "\u{85}\u{2028}\u{202e}\u{200b}\u{e0041}".as_bytes(),
            99,
            r"\u{85}\u{2028}\u{202e}\u{200b}\u{e0041}",
        );
        check(b"a\xff\xc3(", 99, r"a\xff\xc3(");
        assert_eq!(Excerpt::of_json("\"\\n\u{9b}\"", 99).to_string(), r#""\n\u{9b}""#);
    }

    #[test]
    fn cuts_long_text_at_a_character() {
        check(b"0123456789", 4, "0123… 6 bytes more");
        check(b"0123456789", 10, "0123456789");
        check("\u{e9}\u{e9}\u{e9}".as_bytes(), 3, "\u{e9}… 4 bytes more");
        check("\u{1f600}".as_bytes(), 3, "… 4 bytes more");
        check(b"\x80\x80\x80\x80\x80\x80", 4, r"\x80\x80\x80\x80… 2 bytes more");
    }
}
