//! From a message that was put together back to the lines that it was made of.

/// Follows a text that was put together through the lines that it was made of.
///
/// Nothing was done to those but this: control characters in strings became escapes, other line ends
/// spaces, and a backslash was put before quotes and backslashes.
pub(super) struct Trace<'a> {
    joined: &'a [u8],
    raw: &'a [u8],
    /// How far it was followed, in both.
    at: (usize, usize),
}

impl<'a> Trace<'a> {
    pub(super) fn new(joined: &'a [u8], raw: &'a [u8]) -> Self {
        Self { joined, raw, at: (0, 0) }
    }

    /// Where in the lines the byte `at` of the text came from.
    pub(super) fn find(&mut self, at: usize) -> Option<usize> {
        if at < self.at.0 {
            self.at = (0, 0);
        }
        let (mut joined, mut raw) = self.at;
        while joined < at {
            let was = *self.raw.get(raw)?;
            let is = *self.joined.get(joined)?;
            let (read, written) = match (was, is) {
                (b'\n' | b'\r' | b'\t', b'\\') => (1, 2),
                (..0x20, b'\\') => (1, 6),
                (b'\n' | b'\r', b' ') => (1, 1),
                _ if was == is => (1, 1),
                (_, b'\\') => (0, 1),
                _ => return None,
            };
            raw += read;
            joined += written;
        }
        self.at = (joined, raw);
        Some(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, joined: &str, pairs: &[(&str, &str)]) {
        let mut trace = Trace::new(joined.as_bytes(), raw.as_bytes());
        for (in_joined, in_raw) in pairs {
            let at = joined.find(in_joined).unwrap();
            assert_eq!(trace.find(at), raw.find(in_raw), "{in_joined}");
        }
    }

    #[test]
    fn follows_what_was_put_together() {
        check(
            "{\"a\":\"x\ny\tz\u{1}w\"\r\n}",
            "{\"a\":\"x\\ny\\tz\\u0001w\"  }",
            &[("y", "y"), ("z", "z"), ("w", "w"), ("}", "}"), ("a", "a")],
        );
        let raw = "{\"a\":\"x\n{\"b\":\"\\n\\\\ \\u0041\"}\nend\"}";
        let joined = "{\"a\":\"x\\n{\\\"b\\\":\\\"\\\\n\\\\\\\\ \\\\u0041\\\"}\\nend\"}";
        check(raw, joined, &[("b", "b"), ("0041", "0041"), ("end", "end")]);
    }
}
