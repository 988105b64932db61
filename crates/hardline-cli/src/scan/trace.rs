//! Maps positions in a joined message back to the lines that it was made of.

/// Follows a joined text through its original lines.
///
/// Joining changed only this: control characters in strings became escapes, other line ends became
/// spaces, and quotes and backslashes got a backslash before them.
pub(super) struct Trace<'a> {
    joined: &'a [u8],
    raw: &'a [u8],
    /// Last position, in the joined text and in the lines.
    at: (usize, usize),
}

impl<'a> Trace<'a> {
    pub(super) fn new(joined: &'a [u8], raw: &'a [u8]) -> Self {
        Self { joined, raw, at: (0, 0) }
    }

    /// Returns the position in the lines of the byte at `at`.
    pub(super) fn find(&mut self, at: usize) -> Option<usize> {
        if at < self.at.0 {
            self.at = (0, 0);
        }
        let (mut joined, mut raw) = self.at;
        while joined < at {
            let was = *self.raw.get(raw)?;
            let is = *self.joined.get(joined)?;
            let (read, written) = match (was, is) {
                // Bytes consumed in the lines, and bytes that joining wrote for them.
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
