//! Base64 and base64url, with or without padding, also wrapped over lines.
//!
//! A text may follow other letters directly (a path, a word on the previous line), which shift it.
//! So a region is decoded from each of its first four letters. Padding ends a region.

use std::ops::Range;

use super::super::block::{is_base64, run_length};
use super::super::survey::MIN_RUN;
use super::tag;

/// Least number of letters that can encode a message: `{"jsonrpc":"2.0","id":1,"error":{}}`.
pub(in super::super) const MIN_LETTERS: usize = 46;

/// Base64 letters that belong together.
#[derive(Debug)]
pub(in super::super) struct Region {
    /// From the first letter to the end of the last.
    pub(in super::super) range: Range<usize>,
    letters: usize,
}

impl Region {
    /// Returns true if a message fits into the region.
    pub(in super::super) fn is_long(&self) -> bool {
        self.letters >= MIN_LETTERS
    }
}

/// Returns the region that starts with `run`. It continues over line breaks, as long as the lines
/// are wrapped.
pub(in super::super) fn region(text: &[u8], tags: &[u8], run: Range<usize>) -> Region {
    let mut range = run.clone();
    let mut letters = run.len();
    let mut last = run.len();
    // A shorter line ends a wrapped text.
    while last >= MIN_RUN {
        let rest = text.get(range.end..).unwrap_or_default();
        let Some(gap) = wrap_length(rest) else { break };
        let between = tags.get(range.end..range.end + gap).unwrap_or_default();
        // Parts that were decoded separately do not belong together.
        if tag::union(between) & tag::BOUNDARY != 0 {
            break;
        }
        last = run_length(rest.get(gap..).unwrap_or_default());
        if last == 0 {
            break;
        }
        letters += last;
        range.end += gap + last;
    }
    Region { range, letters }
}

/// Returns the length of a line break with the indentation around it.
fn wrap_length(rest: &[u8]) -> Option<usize> {
    /// Limit on the indentation.
    const MAX_INDENT: usize = 32;
    let blank = |it: &&u8| matches!(it, b' ' | b'\t' | b'\r');
    let before = rest.iter().take(MAX_INDENT).take_while(blank).count();
    let has_break = matches!(rest.get(before), Some(b'\n'))
        || rest.get(..before).is_some_and(|it| it.contains(&b'\r'));
    let newline = usize::from(rest.get(before) == Some(&b'\n'));
    let after = rest.get(before + newline..).unwrap_or_default();
    has_break.then(|| before + newline + after.iter().take(MAX_INDENT).take_while(blank).count())
}

/// Reads the values of the letters in a region.
pub(in super::super) fn values(region: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = region;
    while !rest.is_empty() {
        let (run, behind) = rest.split_at_checked(run_length(rest)).unwrap_or((rest, &[]));
        out.extend(run.iter().map(|it| value(*it)));
        let gap = behind.iter().take_while(|it| !is_base64(**it)).count();
        rest = behind.get(gap..).unwrap_or_default();
    }
}

/// Decodes letters, given by their values, and appends the bytes to `out`.
pub(in super::super) fn decode(values: &[u8], out: &mut Vec<u8>) {
    let (quads, rest) = values.as_chunks::<4>();
    let bytes = |[first, second, third, fourth]: [u8; 4]| {
        [first << 2 | second >> 4, second << 4 | third >> 2, third << 6 | fourth]
    };
    let start = out.len();
    out.resize(start + quads.len() * 3, 0);
    let (triples, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<3>();
    for (triple, quad) in triples.iter_mut().zip(quads) {
        *triple = bytes(*quad);
    }
    match *rest {
        // Without padding, two letters encode one byte, and three encode two.
        [first, second] => out.extend(bytes([first, second, 0, 0]).first()),
        [first, second, third] => out.extend(bytes([first, second, third, 0]).iter().take(2)),
        _ => {}
    }
}

/// Finds the letters of a region that encode the bytes at the sorted `positions`: from the start of
/// the first letter to the end of the last.
pub(in super::super) fn locate(
    text: &[u8],
    region: Range<usize>,
    phase: usize,
    positions: impl Iterator<Item = usize>,
    places: &mut Vec<Range<usize>>,
) {
    let inside = text.get(region.clone()).unwrap_or_default();
    let letters = (region.start..).zip(inside).filter(|(_, it)| is_base64(**it));
    let mut letters = letters.map(|(at, _)| at).skip(phase).enumerate();
    let mut current = letters.next();
    let mut seek = |index: usize| {
        while let Some((number, at)) = current {
            if number >= index {
                return at;
            }
            current = letters.next();
        }
        region.end
    };
    for position in positions {
        // In each group of four letters, byte n is in letters n and n + 1.
        let first = position / 3 * 4 + position % 3;
        let start = seek(first);
        places.push(start..region.end.min(seek(first + 1) + 1));
    }
}

/// Returns the value of a letter. Branch-free, so that the compiler can vectorize it.
#[inline]
pub(in super::super) fn value(letter: u8) -> u8 {
    let (upper, lower) = (letter.wrapping_sub(b'A'), letter.wrapping_sub(b'a'));
    let digit = letter.wrapping_sub(b'0');
    let sign = if letter == b'+' || letter == b'-' { 62 } else { 63 };
    let value = if digit < 10 { digit + 52 } else { sign };
    let value = if lower < 26 { lower + 26 } else { value };
    if upper < 26 { upper } else { value }
}
