//! Base64 and base64url, with or without padding, also wrapped over lines.
//!
//! A text may stand right after other letters (a path, a word on the line before), which shift it;
//! so a region is decoded from each of its first four letters. Padding ends a region.

use std::ops::Range;

use super::super::survey::{MIN_RUN, is_base64};

/// The fewest letters that can hold a message: `{"jsonrpc":"2.0","id":1,"error":{}}`.
pub(in super::super) const MIN_LETTERS: usize = 46;

/// Letters of base64 that belong together.
#[derive(Debug)]
pub(in super::super) struct Region {
    /// From the first letter to after the last.
    pub(in super::super) range: Range<usize>,
    letters: usize,
}

/// Follows the region that starts with `run`: over line breaks, as long as the lines are wrapped.
pub(in super::super) fn region(text: &[u8], run: Range<usize>) -> Region {
    let mut range = run.clone();
    let mut letters = run.len();
    let mut last = run.len();
    while last >= MIN_RUN {
        let rest = text.get(range.end..).unwrap_or_default();
        let Some(gap) = wrap_length(rest) else { break };
        last = rest.iter().skip(gap).take_while(|it| is_base64(**it)).count();
        if last == 0 {
            break;
        }
        letters += last;
        range.end += gap + last;
    }
    Region { range, letters }
}

/// The length of a line break with the blanks of a wrapped text around it.
fn wrap_length(rest: &[u8]) -> Option<usize> {
    /// The deepest indentation that is followed.
    const MAX_INDENT: usize = 32;
    let blank = |it: &&u8| matches!(it, b' ' | b'\t' | b'\r');
    let before = rest.iter().take(MAX_INDENT).take_while(blank).count();
    let has_break = matches!(rest.get(before), Some(b'\n'))
        || rest.get(..before).is_some_and(|it| it.contains(&b'\r'));
    let newline = usize::from(rest.get(before) == Some(&b'\n'));
    let after = rest.get(before + newline..).unwrap_or_default();
    has_break.then(|| before + newline + after.iter().take(MAX_INDENT).take_while(blank).count())
}

impl Region {
    /// Whether a message fits in.
    pub(in super::super) fn is_long(&self) -> bool {
        self.letters >= MIN_LETTERS
    }

    /// The values of the letters.
    pub(in super::super) fn values(&self, text: &[u8]) -> Vec<u8> {
        self.letters(text).map(|(_, value)| value).collect()
    }

    /// Finds the letters that hold the decoded bytes at `positions`, which are in order: where the
    /// first letter for each starts and its last one ends.
    pub(in super::super) fn locate(
        &self,
        text: &[u8],
        phase: usize,
        positions: &[usize],
    ) -> Vec<Range<usize>> {
        let mut letters = self.letters(text).skip(phase).map(|(at, _)| at).enumerate();
        let mut current = letters.next();
        let mut seek = |index: usize| {
            while let Some((number, at)) = current {
                if number >= index {
                    return at;
                }
                current = letters.next();
            }
            self.range.end
        };
        // Of each four letters, byte n is in letter n and the one after it.
        let first = |position: usize| position / 3 * 4 + position % 3;
        positions.iter().map(|it| seek(first(*it))..seek(first(*it) + 1) + 1).collect()
    }

    /// The letters with their places and values.
    fn letters<'a>(&self, text: &'a [u8]) -> impl Iterator<Item = (usize, u8)> + use<'a> {
        let start = self.range.start;
        let inside = text.get(self.range.clone()).unwrap_or_default();
        let places = inside.iter().enumerate();
        places.filter_map(move |(at, &byte)| Some((start + at, value(byte)?)))
    }
}

/// Decodes letters, given by their values.
pub(in super::super) fn decode(values: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let (quads, rest) = values.as_chunks::<4>();
    let bytes = |[first, second, third, fourth]: [u8; 4]| {
        [first << 2 | second >> 4, second << 4 | third >> 2, third << 6 | fourth]
    };
    out.extend(quads.iter().flat_map(|quad| bytes(*quad)));
    match *rest {
        [first, second] => out.extend(bytes([first, second, 0, 0]).first()),
        [first, second, third] => out.extend(bytes([first, second, third, 0]).iter().take(2)),
        _ => {}
    }
}

fn value(byte: u8) -> Option<u8> {
    VALUES.get(usize::from(byte)).copied().filter(|it| *it < 64)
}

/// The value of each letter, 64 for other bytes.
#[expect(clippy::indexing_slicing, reason = "at build time")]
static VALUES: [u8; 256] = {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [64; 256];
    let mut index = 0;
    while index < 64 {
        values[letters[index as usize] as usize] = index;
        index += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
};
