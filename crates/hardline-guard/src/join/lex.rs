//! Follows strings and nesting through the lines of a torn message.

/// Limit on the open brackets whose kinds are stored.
const MAX_KNOWN_DEPTH: usize = 128;

/// State after the text that was read so far. Cheap to copy, so that a line can be tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer {
    max_depth: usize,
    inside: bool,
    /// The quote that ends the string.
    quote: u8,
    /// Set if strings may also have the quotes of other languages than JSON.
    is_loose: bool,
    escape: bool,
    depth: usize,
    /// One bit for each open bracket, the innermost lowest: set for an array.
    arrays: u128,
    /// Set if the outermost value has ended.
    is_done: bool,
    /// Set if no further text can make it one JSON value.
    is_broken: bool,
}

impl Lexer {
    pub(super) fn new(max_depth: usize) -> Self {
        Self {
            max_depth,
            inside: false,
            quote: b'"',
            is_loose: false,
            escape: false,
            depth: 0,
            arrays: 0,
            is_done: false,
            is_broken: false,
        }
    }

    /// Creates a lexer that also knows strings between apostrophes and backticks.
    pub(super) fn loose(max_depth: usize) -> Self {
        Self { is_loose: true, ..Self::new(max_depth) }
    }

    /// Returns true if the text may be one complete JSON value.
    pub(super) fn is_complete(&self) -> bool {
        self.is_done && !self.is_broken
    }

    /// Returns true if the text ends inside a string.
    pub(super) fn is_in_string(&self) -> bool {
        self.inside && !self.is_broken
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Gives up on the text.
    pub(super) fn give_up(&mut self) {
        self.is_broken = true;
    }

    /// Reads bytes, and writes them with the control characters of strings escaped.
    ///
    /// Writes at most `max_bytes` in all, and the escape of one byte. A longer text is broken.
    pub(super) fn write(&mut self, bytes: &[u8], out: &mut Vec<u8>, max_bytes: usize) {
        for &byte in bytes {
            if self.is_broken {
                return;
            }
            let was_inside = self.inside;
            self.step(byte);
            match byte {
                b'\n' | b'\r' if !was_inside => out.push(b' '),
                ..0x20 if was_inside => push_escaped(out, byte),
                _ => out.push(byte),
            }
            self.is_broken |= max_bytes < out.len();
        }
    }

    /// Reads bytes without writing them.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.is_broken {
                return;
            }
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.inside {
            // No escape has a control character in it.
            self.is_broken |= self.escape && byte < 0x20;
            self.inside = self.escape || byte != self.quote;
            self.escape = byte == b'\\' && !self.escape;
            return;
        }
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.is_broken |= self.is_done && !is_space;
        match byte {
            b'"' => (self.inside, self.quote) = (true, byte),
            b'\'' | b'`' if self.is_loose => (self.inside, self.quote) = (true, byte),
            b'{' | b'[' => {
                self.depth += 1;
                self.arrays = self.arrays << 1 | u128::from(byte == b'[');
                self.is_broken |= self.max_depth < self.depth;
            }
            b'}' | b']' => {
                // Beyond the stored bits any bracket closes any other.
                let is_known = self.depth <= MAX_KNOWN_DEPTH;
                let is_array = self.arrays & 1 == 1;
                self.is_broken |= self.depth == 0 || is_known && is_array != (byte == b']');
                self.arrays >>= 1;
                self.depth = self.depth.saturating_sub(1);
                self.is_done = self.depth == 0;
            }
            _ => {}
        }
    }
}

/// Writes text as the inside of a JSON string. Returns false if the result exceeds `max_bytes`.
pub(super) fn push_text(out: &mut Vec<u8>, text: &[u8], max_bytes: usize) -> bool {
    for &byte in text {
        if max_bytes < out.len() {
            return false;
        }
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            ..0x20 => push_escaped(out, byte),
            _ => out.push(byte),
        }
    }
    out.len() <= max_bytes
}

/// Writes a control character as an escape.
fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            let digit = |value: u8| DIGITS.get(usize::from(value & 15)).copied().unwrap_or(b'0');
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let (mut lexer, mut out) = (Lexer::new(3), Vec::new());
        lexer.write(text.as_bytes(), &mut out, 64);
        let written = lexer.is_complete().then(|| String::from_utf8(out).unwrap());
        assert_eq!(written.as_deref(), expected, "{text}");
    }

    #[test]
    fn escapes_control_characters_of_strings_alone() {
        check("{\"a\":\n\t\"b\nc\r\n\t\u{1f}\" }", Some("{\"a\": \t\"b\\nc\\r\\n\\t\\u001f\" }"));
        check("{\"a\":\"\\\"}\"}", Some("{\"a\":\"\\\"}\"}"));
    }

    #[test]
    fn knows_when_a_value_has_ended_and_when_it_never_will() {
        check("{\"a\":\"}", None);
        check("{}}", None);
        check("{} {}", None);
        check("{\"a\":[}]", None);
        check("[{]}", None);
        check("{} \n", Some("{}  "));
        check("[[[[]]]]", None);
        check("{\"a\":\"\\\n\"}", None);
        check(&format!("{{\"{}\"}}", "a".repeat(64)), None);
    }

    #[test]
    fn text_is_escaped_quotes_and_all() {
        let mut out = Vec::new();
        assert!(push_text(&mut out, b"{\"a\":\"\\n\"}\n", 99));
        assert_eq!(out, br#"{\"a\":\"\\n\"}\n"#);
        assert!(!push_text(&mut out, b"\n\n\n", 20) && out.len() <= 22);
    }
}
