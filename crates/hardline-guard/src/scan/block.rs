//! Inspects 64 bytes at once, with one bit per byte and question.
//!
//! Functions with a `simd` argument are compiled once for each instruction set, as parts of the functions that
//! call them; [`dispatch!`](fearless_simd::dispatch) chooses among these.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, mask8x64, u8x16, u8x64};
use memchr::{memchr2, memchr3};

use super::pattern::Pairs;

pub(super) const BLOCK: usize = 64;

/// One bit for each byte of a block.
#[derive(Debug)]
pub(super) struct Masks {
    /// `j`, `J`, a backslash, `&` or `%`.
    pub(super) rare: u64,
    /// Bytes that end a run: those up to `*`, and those beyond ASCII.
    pub(super) breaks: u64,
    /// Control characters other than layout, and bytes beyond ASCII.
    pub(super) odd: u64,
    pub(super) pairs: Pairs,
}

impl Masks {
    #[inline(always)]
    pub(super) fn of<S: Simd>(simd: S, block: &[u8; BLOCK]) -> Self {
        let bytes = u8x64::simd_from(simd, *block);
        let signs = bytes.simd_eq(b'\\') | bytes.simd_eq(b'&') | bytes.simd_eq(b'%');
        let layout = within(bytes, b'\t', b'\r') & !bytes.simd_eq(0x0b);
        let odd = bytes.simd_lt(b' ') & !layout | bytes.simd_ge(0x7f);
        Self {
            rare: ((bytes | 0x20).simd_eq(b'j') | signs).to_bitmask(),
            breaks: !is_calm(bytes).to_bitmask(),
            odd: odd.to_bitmask(),
            pairs: Pairs::of(bytes),
        }
    }
}

/// Returns the bytes from `first` to `last`.
#[inline(always)]
pub(super) fn within<S: Simd>(bytes: u8x64<S>, first: u8, last: u8) -> mask8x64<S> {
    (bytes - first).simd_le(last - first)
}

/// Returns the bytes that can be in a run: those of ASCII from `+` on.
#[inline(always)]
pub(super) fn is_calm<S: Simd>(bytes: u8x64<S>) -> mask8x64<S> {
    within(bytes, b'+', 0x7f)
}

/// Returns the rare bytes of a block that the following bytes do not rule out. The byte after the
/// block is unknown, so the last byte always counts.
#[inline(always)]
pub(super) fn likely<S: Simd>(simd: S, block: &[u8; BLOCK]) -> Likely {
    let bytes = u8x64::simd_from(simd, *block);
    let lower = bytes | 0x20;
    let bits = |mask: mask8x64<S>| mask.to_bitmask();
    let is = |byte: u8| bytes.simd_eq(byte);
    let j = bits(lower.simd_eq(b'j'));
    let s = bits(lower.simd_eq(b's') | is(0xc5));
    let o = bits(lower.simd_eq(b'o') | is(0xbf));
    let code = bits(lower.simd_eq(b'u') | is(b'x') | is(b'/'));
    let digit = bits(within(lower, b'0', b'9') | within(lower, b'a', b'f') | lower.simd_eq(b'u'));
    // The last bit stays set, because the next block may continue the match.
    let next = |mask: u64| mask >> 1 | 1 << 63;
    Likely {
        name: j & next(s) & (o >> 2 | 3 << 62),
        code: bits(is(b'\\')) & next(code),
        reference: bits(is(b'&')),
        percent: bits(is(b'%')) & next(digit),
    }
}

/// Possible escapes and occurrences of the name in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Likely {
    pub(super) name: u64,
    /// All of these are escapes, except possibly the last byte of the block.
    pub(super) code: u64,
    pub(super) reference: u64,
    pub(super) percent: u64,
}

/// Returns the base64 letters in a block.
#[inline(always)]
pub(super) fn letters<S: Simd>(simd: S, block: &[u8; BLOCK]) -> u64 {
    let bytes = u8x64::simd_from(simd, *block);
    let alphabet = within(bytes | 0x20, b'a', b'z');
    // The slash stands right before the digits in ASCII.
    let digits = within(bytes, b'/', b'9');
    let signs = bytes.simd_eq(b'+') | bytes.simd_eq(b'-') | bytes.simd_eq(b'_');
    (alphabet | digits | signs).to_bitmask()
}

/// Returns the number of base64 letters at the start of `bytes`.
pub(super) fn run_length(bytes: &[u8]) -> usize {
    dispatch!(Level::new(), simd => run_length_with(simd, bytes))
}

/// Like [`run_length`], for code that was compiled for this machine.
#[inline(always)]
pub(super) fn run_length_with<S: Simd>(simd: S, bytes: &[u8]) -> usize {
    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        let letters = letters(simd, block);
        if letters != u64::MAX {
            return index * BLOCK + letters.trailing_ones() as usize;
        }
    }
    bytes.len() - tail.len() + tail.iter().take_while(|it| is_base64(**it)).count()
}

/// Returns true for a letter of base64 or base64url.
pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Returns the bytes with which a line end other than LF may start: controls except TAB, and the
/// first bytes of NEL and of the separators.
#[inline]
pub(super) fn line_ends(block: &[u8; BLOCK]) -> u64 {
    dispatch!(Level::new(), simd => {
        let bytes = u8x64::simd_from(simd, *block);
        let control = bytes.simd_lt(b' ') & !bytes.simd_eq(b'\t');
        (control | bytes.simd_eq(0xc2) | bytes.simd_eq(0xe2)).to_bitmask()
    })
}

/// Finds one of two bytes in `text` between `from` and `end`. Checks 16 bytes first, because a
/// match is usually near.
#[inline]
pub(super) fn find_either(
    [first, second]: [u8; 2],
    text: &[u8],
    from: usize,
    end: usize,
) -> Option<usize> {
    let part = text.get(from..end)?;
    // Bytes after the end may be read, but do not count.
    let Some(near) = text.get(from..).and_then(|it| it.first_chunk::<16>()) else {
        return part.iter().position(|it| *it == first || *it == second).map(|at| from + at);
    };
    match near_mask(near, [first, second, second]) {
        0 => memchr2(first, second, part.get(16..)?).map(|at| from + at + 16),
        mask => Some(from + mask.trailing_zeros() as usize).filter(|at| *at < end),
    }
}

/// Finds one of three bytes in `text` from `from` on. Checks 16 bytes first, because a match is
/// usually near.
#[inline]
pub(super) fn find_any([first, second, third]: [u8; 3], text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let Some((near, far)) = rest.split_first_chunk::<16>() else {
        let is_one = |it: &u8| *it == first || *it == second || *it == third;
        return rest.iter().position(is_one).map(|at| from + at);
    };
    match near_mask(near, [first, second, third]) {
        0 => memchr3(first, second, third, far).map(|at| from + at + 16),
        mask => Some(from + mask.trailing_zeros() as usize),
    }
}

/// Calls `take` with the position of each byte that is not less than `least`, in order.
#[inline]
pub(super) fn for_each_from(least: u8, bytes: &[u8], mut take: impl FnMut(usize)) {
    let (parts, tail) = bytes.as_chunks::<16>();
    for (index, part) in parts.iter().enumerate() {
        let mut mask = dispatch!(Level::baseline(), simd => {
            u8x16::simd_from(simd, *part).simd_ge(least).to_bitmask()
        });
        while mask != 0 {
            take(16 * index + mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    }
    let start = bytes.len() - tail.len();
    let found = tail.iter().enumerate().filter(|(_, it)| **it >= least);
    found.for_each(|(at, _)| take(start + at));
}

/// Returns the positions of three bytes among 16.
#[inline(always)]
fn near_mask(near: &[u8; 16], [first, second, third]: [u8; 3]) -> u64 {
    dispatch!(Level::baseline(), simd => {
        let bytes = u8x16::simd_from(simd, *near);
        (bytes.simd_eq(first) | bytes.simd_eq(second) | bytes.simd_eq(third)).to_bitmask()
    })
}

/// Returns the positions at which 16 consecutive ones start.
#[inline(always)]
pub(super) fn runs_of_16(mut bits: u64) -> u64 {
    bits &= bits >> 1;
    bits &= bits >> 2;
    bits &= bits >> 4;
    bits & bits >> 8
}
