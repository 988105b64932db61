//! Line readers.

use memchr::memchr;

/// A line reader in use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineReader {
    /// `str.splitlines` of Python: also at VT, FF, FS, GS, RS, NEL, U+2028 and U+2029.
    PythonSplitlines,
    /// Python's text mode with universal newlines.
    PythonText,
    /// Python's `readline` on bytes: at LF alone, which stays on the line with a CR before it.
    PythonBytes,
    /// Node's `readline`.
    NodeReadline,
    /// Java's `BufferedReader.readLine`.
    Java,
    /// C#'s `TextReader.ReadLine`.
    CSharp,
    /// Go's `bufio.Scanner`.
    GoScanner,
    /// Rust's `BufRead::lines`.
    RustLines,
    /// The read buffer of the TypeScript SDK.
    TypeScriptSdk,
}

impl LineReader {
    /// All readers.
    pub const ALL: [Self; 9] = [
        Self::PythonSplitlines,
        Self::PythonText,
        Self::PythonBytes,
        Self::NodeReadline,
        Self::Java,
        Self::CSharp,
        Self::GoScanner,
        Self::RustLines,
        Self::TypeScriptSdk,
    ];

    /// Splits a stream into lines. An empty line after the last line end is left out.
    pub fn split(self, stream: &[u8]) -> Vec<&[u8]> {
        let mut lines = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < stream.len() {
            let length = self.line_end(stream.get(at..).unwrap_or_default());
            if length > 0 {
                lines.push(self.trim(stream.get(start..at).unwrap_or_default()));
                start = at + length;
            }
            // CRLF is one line end where CR counts, so both bytes are skipped.
            at += length.max(1);
        }
        if let Some(last) = stream.get(start..).filter(|it| !it.is_empty()) {
            lines.push(self.trim(last));
        }
        lines
    }

    /// Returns the length of the line end that `bytes` starts with, or 0.
    fn line_end(self, bytes: &[u8]) -> usize {
        match bytes {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] if self.splits_at_cr() => 2,
            [b'\r', ..] if self.splits_at_cr() => 1,
            [0x0b | 0x0c | 0x1c..=0x1e, ..] if self == Self::PythonSplitlines => 1,
            // The UTF-8 encoding of U+0085.
            [0xc2, 0x85, ..] if self == Self::PythonSplitlines => 2,
            // The UTF-8 encodings of U+2028 and U+2029.
            [0xe2, 0x80, 0xa8 | 0xa9, ..]
                if matches!(self, Self::PythonSplitlines | Self::NodeReadline) =>
            {
                3
            }
            _ => 0,
        }
    }

    fn splits_at_cr(self) -> bool {
        match self {
            Self::PythonSplitlines
            | Self::PythonText
            | Self::NodeReadline
            | Self::Java
            | Self::CSharp => true,
            Self::PythonBytes | Self::GoScanner | Self::RustLines | Self::TypeScriptSdk => false,
        }
    }

    /// Removes the CR that these readers treat as part of the line end.
    fn trim(self, line: &[u8]) -> &[u8] {
        match self {
            Self::GoScanner | Self::RustLines | Self::TypeScriptSdk => {
                line.strip_suffix(b"\r").unwrap_or(line)
            }
            _ => line,
        }
    }
}

/// Returns true if line readers may disagree about these bytes.
pub(super) fn is_contested(frame: &[u8]) -> bool {
    let is_rare = |byte: &u8| *byte < 0x20 && *byte != b'\t' || *byte == 0xc2 || *byte == 0xe2;
    // One simple pass that the compiler can vectorize.
    if !frame.iter().any(is_rare) {
        return false;
    }
    let controls = frame.iter().any(|byte| *byte < 0x20 && *byte != b'\t');
    controls || has_pair(frame, 0xc2, |rest| rest.starts_with(&[0x85])) || {
        has_pair(frame, 0xe2, |rest| matches!(rest, [0x80, 0xa8 | 0xa9, ..]))
    }
}

fn has_pair(mut bytes: &[u8], first: u8, is_rest: impl Fn(&[u8]) -> bool) -> bool {
    while let Some(at) = memchr(first, bytes) {
        bytes = bytes.get(at + 1..).unwrap_or_default();
        if is_rest(bytes) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &str, reader: LineReader, expected: &[&str]) {
        let lines = reader.split(stream.as_bytes());
        let lines: Vec<_> = lines.into_iter().map(String::from_utf8_lossy).collect();
        assert_eq!(lines, expected, "{reader:?}");
    }

    #[test]
    fn each_reader_splits_where_it_does_in_the_field() {
        use LineReader::*;
        let stream = "a\nb\r\nc\rd\u{2028}e\u{2029}f\u{85}g\u{b}h\u{c}i\u{1c}j\u{1d}k\u{1e}l\n";
        check(
            stream,
            PythonSplitlines,
            &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"],
        );
        let rest = "f\u{85}g\u{b}h\u{c}i\u{1c}j\u{1d}k\u{1e}l";
        check(stream, NodeReadline, &["a", "b", "c", "d", "e", rest]);
        let rest = &format!("d\u{2028}e\u{2029}{rest}");
        for reader in [PythonText, Java, CSharp] {
            check(stream, reader, &["a", "b", "c", rest]);
        }
        let rest = &format!("c\r{rest}");
        for reader in [GoScanner, RustLines, TypeScriptSdk] {
            check(stream, reader, &["a", "b", rest]);
        }
        check(stream, PythonBytes, &["a", "b\r", rest]);
    }

    #[test]
    fn blank_and_unfinished_lines_are_lines() {
        for reader in LineReader::ALL {
            check("", reader, &[]);
            check("a", reader, &["a"]);
            check("\n\na", reader, &["", "", "a"]);
        }
        check("a\r\r\n", LineReader::Java, &["a", ""]);
        check("a\r\r\n", LineReader::RustLines, &["a\r"]);
    }

    #[test]
    fn contested_bytes_are_those_that_a_reader_splits_at() {
        for text in ["\r", "\n", "\u{85}", "\u{2028}", "é\u{2029}", "\u{1d}", "\0"] {
            assert!(is_contested(text.as_bytes()), "{text:?}");
        }
        for text in ["", "a\tb", "é€ \u{84}\u{86}\u{2027}\u{202a}\u{a0}"] {
            assert!(!is_contested(text.as_bytes()), "{text:?}");
        }
    }
}
