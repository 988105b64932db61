//! Lines, as any reader may cut them, and the messages that are lines of their own.
//!
//! One reader cuts at LF alone and takes `{"a":"x<U+2028>y"}` for one line, another cuts it in two.
//! So a line between two LF is cut in every way that is in use, and each piece is read.

use std::ops::Range;

use super::message::Class;
use super::survey;
use super::value::{Reader, Sequence, blank_length};

/// A piece of text that is a message, or a batch, or several in a row.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) range: Range<usize>,
    pub(super) class: Class,
    pub(super) is_relaxed: bool,
    /// Where its messages open.
    pub(super) braces: Vec<usize>,
}

const CR: u8 = 1;
const VT: u8 = 1 << 1;
const FF: u8 = 1 << 2;
const NUL: u8 = 1 << 3;
const NEL: u8 = 1 << 4;
/// U+2028 and U+2029.
const SEPARATORS: u8 = 1 << 5;
/// U+001C to U+001E, at which Python cuts.
const INFORMATION: u8 = 1 << 6;

/// The sets of line ends that readers use beside LF.
const READERS: [u8; 6] = [
    0,
    CR,
    NUL,
    CR | SEPARATORS,
    CR | VT | FF | NEL | SEPARATORS | INFORMATION,
    CR | VT | FF | NEL | SEPARATORS | INFORMATION | NUL,
];

/// What a line holds.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The frames, in order.
    pub(super) frames: Vec<Frame>,
    /// The insides of strings that may hold a message, in pieces that are nothing but values.
    pub(super) strings: Vec<Range<usize>>,
    /// Whether the whole line is nothing but values.
    pub(super) is_json: bool,
}

impl Line {
    /// Reads the line `range` of `text`, which has no LF inside.
    pub(super) fn read(reader: &mut Reader, text: &[u8], range: Range<usize>) -> Self {
        let mut this = Self::default();
        let line = text.get(range.clone()).unwrap_or_default();
        let ends = ends_in(line);
        for (index, set) in READERS.iter().enumerate() {
            let used = set & ends;
            // Another reader cut it in the same way.
            if READERS.iter().take(index).any(|earlier| earlier & ends == used) {
                continue;
            }
            let pieces = Pieces { line, at: Some(0), set: used };
            for piece in pieces {
                let offset = range.start + piece.start;
                let is_json = this.piece(reader, line.get(piece).unwrap_or_default(), offset);
                this.is_json |= is_json && used == 0;
            }
        }
        // What each reader made of the line is in order: this joins a few sorted parts.
        this.frames.sort_by_key(|it| (it.range.start, it.range.end));
        this.frames.dedup_by(|later, first| later.range == first.range);
        this.strings.sort_by_key(|it| (it.start, it.end));
        this.strings.dedup();
        this
    }

    /// Reads one piece, which starts at `offset`, and says whether it is nothing but values.
    fn piece(&mut self, reader: &mut Reader, piece: &[u8], offset: usize) -> bool {
        let blank = blank_length(piece);
        let Some(rest @ [first @ (b'{' | b'[' | b'"'), ..]) = piece.get(blank..) else {
            return false;
        };
        if !survey::may_name(rest) {
            return false;
        }
        let Some(Sequence { class, is_relaxed, end }) = reader.sequence(rest) else {
            return false;
        };
        let start = offset + blank;
        let place = |it: &Range<usize>| start + it.start..start + it.end;
        self.strings.extend(reader.strings().iter().map(place));
        if let Some(class) = class.filter(|_| *first != b'"') {
            let braces = reader.outer().map(|it| start + it.range.start).collect();
            self.frames.push(Frame { range: start..start + end, class, is_relaxed, braces });
        }
        true
    }
}

/// Which line ends are in the line.
fn ends_in(line: &[u8]) -> u8 {
    let mut ends = 0;
    let mut at = 0;
    while let Some(offset) = line.get(at..).and_then(|it| it.iter().position(|it| may_end(*it))) {
        at += offset;
        ends |= end_at(line, at).map_or(0, |(end, _)| end);
        at += 1;
    }
    ends
}

fn may_end(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t') || byte == 0xc2 || byte == 0xe2
}

/// The line end at `at`, as its bit and its length.
fn end_at(line: &[u8], at: usize) -> Option<(u8, usize)> {
    match line.get(at..)? {
        [b'\r', ..] => Some((CR, 1)),
        [0x0b, ..] => Some((VT, 1)),
        [0x0c, ..] => Some((FF, 1)),
        [0, ..] => Some((NUL, 1)),
        [0x1c..=0x1e, ..] => Some((INFORMATION, 1)),
        [0xc2, 0x85, ..] => Some((NEL, 2)),
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => Some((SEPARATORS, 3)),
        _ => None,
    }
}

/// A line cut at the ends of a set.
struct Pieces<'a> {
    line: &'a [u8],
    at: Option<usize>,
    set: u8,
}

impl Iterator for Pieces<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at.take()?;
        if self.set == 0 {
            return Some(start..self.line.len());
        }
        let mut at = start;
        while let Some(offset) = self.line.get(at..)?.iter().position(|it| may_end(*it)) {
            at += offset;
            match end_at(self.line, at) {
                Some((end, length)) if end & self.set != 0 => {
                    self.at = Some(at + length);
                    return Some(start..at);
                }
                _ => at += 1,
            }
        }
        Some(start..self.line.len())
    }
}
