//! Maps byte offsets to lines and columns without scanning the text.

use std::ops::Range;

/// Number of bytes between two stored character counts.
const STEP: usize = 1024;

/// Index of line starts and character counts of a text.
#[derive(Clone, Debug)]
pub(super) struct Positions {
    /// Byte offset of each line, starting with 0.
    lines: Vec<usize>,
    /// Number of characters before each multiple of [`STEP`].
    counts: Vec<usize>,
}

impl Positions {
    pub(super) fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = [0].into_iter().chain(newlines.map(|(at, _)| at + 1)).collect();
        let mut counts = vec![0];
        let mut count = 0;
        for block in text.as_bytes().chunks(STEP) {
            count += starts(block);
            counts.push(count);
        }
        Self { lines, counts }
    }

    /// Returns line and column of an offset in the same text, both counted from 1.
    pub(super) fn place(&self, text: &str, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(text.len());
        // Parsers may report an offset inside a character.
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        (line, self.characters(text, offset) - self.characters(text, start) + 1)
    }

    /// Returns the number of characters before an offset.
    fn characters(&self, text: &str, offset: usize) -> usize {
        let block = offset / STEP;
        let range: Range<usize> = block * STEP..offset;
        let counted = self.counts.get(block).copied().unwrap_or_default();
        counted + starts(text.as_bytes().get(range).unwrap_or_default())
    }
}

/// Returns the number of characters that start in these bytes.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_counting_from_the_start() {
        let line = "é日\u{1f600}a".repeat(200);
        let text = format!("{line}\n\n{line}{line}\r\n{line}");
        let positions = Positions::new(&text);
        let (mut row, mut column) = (1, 1);
        for (offset, char) in text.char_indices() {
            assert_eq!(positions.place(&text, offset), (row, column), "at {offset}");
            (row, column) = if char == '\n' { (row + 1, 1) } else { (row, column + 1) };
        }
        assert_eq!(positions.place(&text, usize::MAX), (row, column));
    }
}
