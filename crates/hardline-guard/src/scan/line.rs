//! Finds the messages that are lines of their own, for every way to split lines.

use std::ops::Range;

use super::block::BLOCK;
use super::cut::{Cuts, Ends, for_each_block};
use super::found::Found;
use super::survey;
use super::text::View;
use super::token::blank_length;
use super::value::{Reader, Sequence};

/// Reads lines, and stores the results of the last one.
#[derive(Debug, Default)]
pub(super) struct Lines {
    reader: Reader,
    cuts: Cuts,
    names: Names,
    frames: Vec<Found>,
    /// Contents of strings that may contain a message, in pieces that consist of values only.
    strings: Vec<Range<usize>>,
}

impl Lines {
    /// Returns the reader for messages and values.
    pub(super) fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// Returns the messages on the last line, in order.
    pub(super) fn frames(&mut self) -> &mut Vec<Found> {
        &mut self.frames
    }

    /// Returns the contents of strings on that line that may contain a message, in order.
    pub(super) fn strings(&self) -> &[Range<usize>] {
        &self.strings
    }

    /// Reads the line `range` of `text`, which contains a name but no LF. Returns true if the whole
    /// line consists of values.
    pub(super) fn read(&mut self, text: View<'_>, range: Range<usize>) -> bool {
        let Self { reader, cuts, names, frames, strings } = self;
        frames.clear();
        strings.clear();
        let mut found = Pieces { text, reader, frames, strings };
        if !cuts.find(text, &range) {
            return found.read(range.start, &Ends::one(range.end));
        }
        let mut is_json = false;
        names.clear();
        cuts.for_each_start(text, &range, |start, ends| {
            let Some(last) = ends.last() else { return };
            let piece = start..*last;
            if may_start(text.get(&piece)) && names.find_any(text, &range, &piece) {
                is_json |= found.read(start, ends) && piece == range;
            }
        });
        // Strings of pieces with one start are sorted, but may overlap with those of another start.
        strings.sort_by_key(|it| (it.start, it.end));
        strings.dedup();
        is_json
    }
}

/// Returns true if a piece may consist of values, by its first byte.
#[inline]
fn may_start(piece: &[u8]) -> bool {
    matches!(piece, [b'{' | b'[' | b'"' | 0..=0x20 | 0x7f.., ..])
}

/// Collects the results for the pieces of a line.
struct Pieces<'a> {
    text: View<'a>,
    reader: &'a mut Reader,
    frames: &'a mut Vec<Found>,
    strings: &'a mut Vec<Range<usize>>,
}

impl Pieces<'_> {
    /// Reads the pieces with one start. Returns true if the longest consists of values only.
    fn read(&mut self, start: usize, ends: &Ends) -> bool {
        let Self { text, reader, frames, strings } = self;
        let Some(last) = ends.last() else { return false };
        let blank = blank_length(text.get(&(start..*last)));
        // A line that starts with anything else is no message for any reader.
        let Some(first @ (b'{' | b'[' | b'"')) = text.get(&(start + blank..*last)).first() else {
            return false;
        };
        let mut is_json = false;
        reader.sequences(text.bytes, start + blank, ends, |reader, end, sequence| {
            // An untouched piece was already read at an outer level.
            if !text.is_touched(&(start..end)) {
                return;
            }
            is_json = end == *last;
            strings.extend_from_slice(reader.strings());
            let Sequence { class, is_relaxed, end } = sequence;
            if let Some(class) = class.filter(|_| *first != b'"') {
                let braces = reader.outer().map(|it| it.range.start);
                frames.push(Found::line(start + blank..end, class, is_relaxed, braces));
            }
        });
        is_json
    }
}

/// One bit for each byte of a line at which the name, or an escape that may be part of it, starts.
#[derive(Debug, Default)]
struct Names(Vec<u64>);

impl Names {
    fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns true if a name starts in the piece `piece` of the line `range`. The first call finds
    /// all names of the line.
    fn find_any(&mut self, text: View<'_>, range: &Range<usize>, piece: &Range<usize>) -> bool {
        if self.0.is_empty() {
            let line = text.get(range);
            for_each_block(line, |base, block| self.0.push(survey::names(line, base, block)));
        }
        let (start, end) = (piece.start - range.start, piece.end - range.start);
        let from = |place: usize| u64::MAX << (place % BLOCK);
        let words = start / BLOCK..end.div_ceil(BLOCK);
        let last = words.len().saturating_sub(1);
        let words = self.0.get(words).unwrap_or_default();
        words.iter().enumerate().any(|(index, word)| {
            let first = if index == 0 { from(start) } else { u64::MAX };
            let after = if index == last && end % BLOCK != 0 { from(end) } else { 0 };
            word & first & !after != 0
        })
    }
}
