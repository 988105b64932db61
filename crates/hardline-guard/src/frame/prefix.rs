//! Finds a message behind text on its line: `Loading... {"jsonrpc":…}`.
//!
//! A server that prints without a newline, and then sends a message, writes both on one line.

use memchr::{memchr, memchr2};

/// Limit on the bytes of text before a message.
const MAX_PREFIX: usize = 4096;

/// A line cut before its first brace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Prefixed<'a> {
    /// The text from the first brace on.
    pub(crate) message: &'a [u8],
    /// True if the text before it has letters or digits: it may be a log line that quotes the message.
    pub(crate) has_words: bool,
    /// True if nothing before it is text: only padding, control characters and terminal escapes. A
    /// document may have written anything else, and the message as well.
    pub(crate) is_padding: bool,
}

/// Cuts a line before its first brace, if something short stands there.
pub(crate) fn cut_prefix(text: &[u8]) -> Option<Prefixed<'_>> {
    let at = memchr(b'{', text)?;
    let (prefix, message) = text.split_at_checked(at)?;
    let is_text = !prefix.trim_ascii().is_empty() && prefix.len() <= MAX_PREFIX;
    // A quote before the brace means that the message is part of something.
    let is_quote = prefix.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'}'));
    (is_text && !is_quote).then(|| Prefixed {
        message,
        has_words: has_words(prefix),
        is_padding: is_padding(prefix),
    })
}

/// Cuts off everything before the first brace of a line, if no word stands there: a progress bar, but
/// also the end of another message.
pub(crate) fn cut_junk(text: &[u8]) -> Option<&[u8]> {
    let (prefix, message) = text.split_at_checked(memchr(b'{', text)?)?;
    (prefix.len() <= MAX_PREFIX && !has_words(prefix)).then_some(message)
}

/// Cuts off blanks and the terminal's colors at the end of a line.
pub(crate) fn trim_colors(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_end();
        let Some(rest) = text.strip_suffix(b"m") else { return text };
        let is_parameter = |byte: &&u8| matches!(byte, b'0'..=b'9' | b';' | b':');
        let length = rest.iter().rev().take_while(is_parameter).count();
        let rest = rest.get(..rest.len() - length).unwrap_or_default();
        let Some(rest) = rest.strip_suffix(b"\x1b[") else { return text };
        text = rest;
    }
}

/// Returns true if there is a letter or digit outside of terminal escapes, behind the last carriage
/// return.
fn has_words(text: &[u8]) -> bool {
    // On a terminal, the text behind a carriage return overwrites the text before it.
    let start = memchr::memrchr(b'\r', text).map_or(0, |at| at + 1);
    let mut text = text.get(start..).unwrap_or_default();
    while let Some((&byte, rest)) = text.split_first() {
        text = match (byte, rest) {
            (0x1b, [b'[', parameters @ ..]) => after_escape(parameters),
            // A title, a link or a progress report of the terminal.
            (0x1b, [b']' | b'P' | b'_' | b'^', string @ ..]) => after_string(string),
            (0x1b, [_, rest @ ..]) => rest,
            _ if byte.is_ascii_alphanumeric() => return true,
            _ => rest,
        };
    }
    false
}

/// Returns true if a text consists of nothing but byte order marks, white space, control characters and the
/// terminal escapes that choose colors or move the cursor.
fn is_padding(mut text: &[u8]) -> bool {
    while let Some((&byte, rest)) = text.split_first() {
        text = match (byte, rest) {
            (0x1b, [b'[', parameters @ ..]) => after_escape(parameters),
            (0xef, [0xbb, 0xbf, rest @ ..]) => rest,
            _ if byte.is_ascii_whitespace() || byte.is_ascii_control() => rest,
            _ => return false,
        };
    }
    true
}

/// Returns the text after a terminal escape that begins with `ESC [`: its parameters and its final byte.
fn after_escape(parameters: &[u8]) -> &[u8] {
    let is_parameter = |byte: &&u8| (0x20..0x40).contains(*byte);
    let length = parameters.iter().take_while(is_parameter).count();
    parameters.get(length + 1..).unwrap_or_default()
}

/// Returns the text after a terminal escape that has a string: it ends with BEL or `ESC \\`.
fn after_string(string: &[u8]) -> &[u8] {
    match memchr2(0x07, 0x1b, string) {
        Some(end) => {
            let rest = string.get(end + 1..).unwrap_or_default();
            if string.get(end) == Some(&0x1b) { rest.get(1..).unwrap_or_default() } else { rest }
        }
        None => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, bool)>) {
        let cut = cut_prefix(text.as_bytes());
        let cut = cut.map(|it| (str::from_utf8(it.message).unwrap(), it.has_words));
        assert_eq!(cut, expected, "{text:?}");
    }

    #[test]
    fn tells_words_from_decoration() {
        check("Loading... {}", Some(("{}", true)));
        check("[INFO] {}", Some(("{}", true)));
        check("[####    ]\r{}", Some(("{}", false)));
        check("Loading: 50%\r{}", Some(("{}", false)));
        check("\x1b[2K\x1b[0;1m\x1b7{}", Some(("{}", false)));
        check("\x1b]0;my title\x07{}", Some(("{}", false)));
        check("\x1b]8;;a\x1b\\{}", Some(("{}", false)));
        check("\0\0{}", Some(("{}", false)));
        check("\u{feff}{}", Some(("{}", false)));
    }

    #[test]
    fn tells_padding_from_text() {
        for padding in ["\0\0", "\u{feff}", "\x1b[2K\x1b[0;1m", "\r\t ", "\x07"] {
            assert!(is_padding(padding.as_bytes()), "{padding:?}");
        }
        for text in ["> ", "50%\r", "é", "\x1b]0;a\x07", "//", "\u{a0}", "\x1b[0m#"] {
            assert!(!is_padding(text.as_bytes()), "{text:?}");
        }
        assert!(!is_padding(b"\xff"));
    }

    #[test]
    fn a_message_that_is_quoted_or_alone_has_no_prefix() {
        for text in ["{}", "  {}", "text", "", "\"a {}\"", "'{}'", "} {}"] {
            check(text, None);
        }
    }
}
