//! The positions at which readers split a line that has no LF inside.
//!
//! One reader splits at LF alone and reads `{"a":"x<U+2028>y"}` as one line; another splits it in
//! two. So the pieces that start at one position have different lengths for different readers, and
//! all of them are read in one pass.

use std::ops::{Deref, Range};

use super::block::{BLOCK, line_ends};
use super::text::{MAX_END, View};

const CR: u8 = 1;
const VT: u8 = 1 << 1;
const FF: u8 = 1 << 2;
const NUL: u8 = 1 << 3;
const NEL: u8 = 1 << 4;
/// U+2028 and U+2029.
const SEPARATORS: u8 = 1 << 5;
/// U+001C to U+001E, at which Python splits.
const INFORMATION: u8 = 1 << 6;
/// The end of the previous line, at which all readers split.
const LF: u8 = 1 << 7;

/// The sets of line ends that readers use besides LF.
const READERS: [u8; 6] = [
    0,
    CR,
    NUL,
    CR | SEPARATORS,
    CR | VT | FF | NEL | SEPARATORS | INFORMATION,
    CR | VT | FF | NEL | SEPARATORS | INFORMATION | NUL,
];

/// The line ends of one line.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    ends: Vec<End>,
    /// The kinds of all line ends.
    kinds: u8,
}

/// A line end other than LF.
#[derive(Clone, Copy, Debug)]
struct End {
    at: usize,
    length: usize,
    kind: u8,
}

/// A position at which pieces start.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    at: usize,
    /// The kind of the line end before it.
    kind: u8,
    /// Index of the next line end.
    next: usize,
}

/// The ends of the pieces with the same start, sorted: at most one per reader.
#[derive(Debug, Default)]
pub(super) struct Ends {
    places: [usize; READERS.len()],
    count: usize,
}

impl Cuts {
    /// Finds the line ends in a line. Returns true if there are any.
    pub(super) fn find(&mut self, text: View<'_>, range: &Range<usize>) -> bool {
        self.ends.clear();
        self.kinds = 0;
        let line = text.get(range);
        for_each_block(line, |base, block| {
            let mut mask = line_ends(block);
            while mask != 0 {
                let at = base + mask.trailing_zeros() as usize;
                mask &= mask - 1;
                if let Some((kind, length)) = end_at(line, at) {
                    self.kinds |= kind;
                    self.ends.push(End { at: range.start + at, length, kind });
                }
            }
        });
        self.kinds != 0
    }

    /// Calls `take` with the start and the ends of the pieces that an encoding may have touched.
    pub(super) fn for_each_start(
        &self,
        text: View<'_>,
        range: &Range<usize>,
        mut take: impl FnMut(usize, &Ends),
    ) {
        // For each reader, a lower bound for the index of its next line end. It only grows, so all
        // searches together are linear.
        let mut nexts = [0; READERS.len()];
        let mut open = Open::default();
        let mut start = Start { at: range.start, kind: LF, next: 0 };
        loop {
            open.add(start);
            let Some(touched) = text.next_touched(start.at).filter(|it| *it < range.end + MAX_END)
            else {
                return;
            };
            let mut next = start.next;
            while let Some(end) = self.ends.get(next).filter(|it| it.at + it.length <= touched) {
                next += 1;
                open.add(Start { at: end.at + end.length, kind: end.kind, next });
            }
            open.take(|it| take(it.at, &self.ends_of(it, range.end, &mut nexts)));
            let Some(end) = self.ends.get(next) else { return };
            start = Start { at: end.at + end.length, kind: end.kind, next: next + 1 };
        }
    }

    /// Returns the ends of the pieces that start there.
    #[inline]
    fn ends_of(&self, start: Start, line_end: usize, nexts: &mut [usize; READERS.len()]) -> Ends {
        let mut ends = Ends::default();
        for (reader, next) in READERS.iter().zip(nexts) {
            let set = reader & self.kinds;
            // This reader does not split here, so it has no piece with this start.
            if (set | LF) & start.kind == 0 {
                continue;
            }
            if set == 0 {
                ends.add(line_end);
                continue;
            }
            *next = start.next.max(*next);
            let rest = self.ends.get(*next..).unwrap_or_default();
            *next += rest.iter().take_while(|it| it.kind & set == 0).count();
            ends.add(self.ends.get(*next).map_or(line_end, |it| it.at));
        }
        ends
    }
}

/// For each kind of line end, the last start behind it. A piece that starts earlier ends there at
/// the latest.
#[derive(Debug, Default)]
struct Open {
    starts: [Start; 8],
    /// The kinds that have a start.
    kinds: u8,
}

impl Open {
    #[inline]
    fn add(&mut self, start: Start) {
        self.kinds |= start.kind;
        if let Some(place) = self.starts.get_mut(start.kind.trailing_zeros() as usize) {
            *place = start;
        }
    }

    /// Passes all starts to `take`, in order.
    #[inline]
    fn take(&mut self, mut take: impl FnMut(Start)) {
        let mut kinds = std::mem::take(&mut self.kinds);
        while kinds != 0 {
            let is_open = |it: &&Start| it.kind & kinds != 0;
            let first = self.starts.iter().filter(is_open).min_by_key(|it| it.at);
            let Some(first) = first.copied() else { return };
            kinds &= !first.kind;
            take(first);
        }
    }
}

impl Ends {
    /// Creates the ends of a line that all readers leave whole.
    pub(super) fn one(end: usize) -> Self {
        let mut ends = Self::default();
        ends.add(end);
        ends
    }

    fn add(&mut self, end: usize) {
        let known = self.places.get(..self.count).unwrap_or_default();
        let index = known.iter().take_while(|it| **it < end).count();
        // Readers with the same end share one entry.
        if known.get(index) != Some(&end) {
            self.count += 1;
            let later = self.places.get_mut(index..self.count).unwrap_or_default();
            later.rotate_right(1);
            later.iter_mut().take(1).for_each(|it| *it = end);
        }
    }
}

impl Deref for Ends {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        self.places.get(..self.count).unwrap_or_default()
    }
}

/// Calls `look` for each block of the line; the last one is padded with spaces.
#[inline]
pub(super) fn for_each_block(line: &[u8], mut look: impl FnMut(usize, &[u8; BLOCK])) {
    let (blocks, tail) = line.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        look(index * BLOCK, block);
    }
    let mut last = [b' '; BLOCK];
    if let Some(start) = last.get_mut(..tail.len()) {
        start.copy_from_slice(tail);
    }
    look(line.len() - tail.len(), &last);
}

/// Returns the kind and the length of the line end at `at`.
#[inline]
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
