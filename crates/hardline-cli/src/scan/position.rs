//! Positions in a file, for people and for programs.

use std::ops::Range;

use super::encoding::Encoding;

/// A position in a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Position {
    /// Line, counted from 1.
    pub(super) line: u64,
    /// Column in characters, counted from 1.
    pub(super) column: u64,
    /// Offset in bytes from the start of the file.
    pub(super) offset: u64,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1, offset: 0 };

    /// Moves the position past `text`.
    pub(super) fn advance(&mut self, text: &[u8], encoding: Encoding) {
        self.offset += encoding.measure(text);
        let mut last = text;
        if let Some(newline) = memchr::memrchr(b'\n', text) {
            self.line += text.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.column = 1;
            last = text.get(newline + 1..).unwrap_or_default();
        }
        // Continuation bytes do not start a character.
        self.column += last.iter().filter(|byte| *byte & 0xc0 != 0x80).count() as u64;
    }
}

/// Finds positions in one text. Positions that are requested in order cost one pass in total.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ruler<'a> {
    text: &'a [u8],
    encoding: Encoding,
    start: Position,
    /// Last position that was found, and its offset in the text.
    last: (usize, Position),
}

impl<'a> Ruler<'a> {
    /// Measures `text`, whose first byte is at `start`.
    pub(super) fn new(text: &'a [u8], start: Position, encoding: Encoding) -> Self {
        Self { text, encoding, start, last: (0, start) }
    }

    /// Returns the position of a range, and its length in the file.
    pub(super) fn find(&mut self, range: Range<usize>) -> (Position, u64) {
        let place = self.place(range.start);
        (place, self.encoding.measure(self.text.get(range).unwrap_or_default()))
    }

    pub(super) fn place(&mut self, at: usize) -> Position {
        let at = at.min(self.text.len());
        let (mut from, mut place) = self.last;
        // Positions before the last one need a new start.
        if at < from {
            (from, place) = (0, self.start);
        }
        place.advance(self.text.get(from..at).unwrap_or_default(), self.encoding);
        self.last = (at, place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_characters_and_bytes_of_the_file() {
        let text = "ab\né😀c\n".as_bytes();
        let mut ruler = Ruler::new(text, Position::START, Encoding::Utf8);
        assert_eq!(ruler.place(1), Position { line: 1, column: 2, offset: 1 });
        assert_eq!(ruler.place(9), Position { line: 2, column: 3, offset: 9 });
        assert_eq!(ruler.place(3), Position { line: 2, column: 1, offset: 3 });
        assert_eq!(ruler.find(5..9), (Position { line: 2, column: 2, offset: 5 }, 4));
        assert_eq!(ruler.place(99), Position { line: 3, column: 1, offset: 11 });
        let mut ruler = Ruler::new(text, Position::START, Encoding::Utf16Le);
        assert_eq!(ruler.find(5..9), (Position { line: 2, column: 2, offset: 8 }, 4));
    }
}
