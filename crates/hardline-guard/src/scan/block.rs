//! Inspects 64 bytes at once, with one bit per byte and question.

use memchr::{memchr2, memchr3};
use wide::u8x16;

use super::pattern::Pairs;

pub(super) const BLOCK: usize = 64;

/// One bit for each byte of a block.
#[derive(Debug)]
pub(super) struct Masks {
    /// `j`, `J`, a backslash, `&` or `%`.
    pub(super) rare: u64,
    /// Bytes that end a run: those up to `*`, and those beyond ASCII.
    pub(super) breaks: u64,
    pub(super) pairs: Pairs,
}

impl Masks {
    #[inline]
    pub(super) fn of(block: &[u8; BLOCK], odd: &mut u8x16) -> Self {
        let mut masks = Self { rare: 0, breaks: 0, pairs: Pairs::default() };
        for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = u8x16::new(*lanes);
            let lower = bytes | u8x16::splat(0x20);
            let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
            let is_letter = |letter: u8| lower.simd_eq(u8x16::splat(letter));
            let at_most = |bytes: u8x16, most: u8| bytes.min(u8x16::splat(most)).simd_eq(bytes);
            // With the top bit flipped, the bytes beyond ASCII compare as the smallest.
            let turned = bytes ^ u8x16::splat(0x80);
            let layout = at_most(bytes - u8x16::splat(b'\t'), b'\r' - b'\t');
            let below_space = at_most(turned, 0x9f);
            *odd |= (below_space & !layout) | is(0x0b) | is(0x7f);
            let bits = |lanes: u8x16| u64::from(lanes.to_bitmask()) << (16 * index);
            masks.rare |= bits(is_letter(b'j') | is(b'\\') | is(b'&') | is(b'%'));
            masks.breaks |= bits(at_most(turned, 0xaa));
            masks.pairs.add(bytes, index);
        }
        masks
    }
}

/// Returns the rare bytes of a block that the following bytes do not rule out. The byte after the
/// block is unknown, so the last byte always counts.
pub(super) fn likely(block: &[u8; BLOCK]) -> Likely {
    let mut masks = [0_u64; 8];
    for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*lanes);
        let lower = bytes | u8x16::splat(0x20);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let is_letter = |letter: u8| lower.simd_eq(u8x16::splat(letter));
        let within = |first: u8, last: u8| {
            let turned = lower - u8x16::splat(first);
            turned.min(u8x16::splat(last - first)).simd_eq(turned)
        };
        let all = [
            is_letter(b'j'),
            is_letter(b's') | is(0xc5),
            is_letter(b'o') | is(0xbf),
            is(b'\\'),
            is(b'u') | is(b'U') | is(b'x') | is(b'/'),
            is(b'&'),
            is(b'%'),
            within(b'0', b'9') | within(b'a', b'f') | is(b'u'),
        ];
        for (mask, lanes) in masks.iter_mut().zip(all) {
            *mask |= u64::from(lanes.to_bitmask()) << (16 * index);
        }
    }
    let [j, s, o, backslash, code, reference, percent, digit] = masks;
    // The last bit stays set, because the next block may continue the match.
    let next = |mask: u64| mask >> 1 | 1 << 63;
    let name = j & next(s) & (o >> 2 | 3 << 62);
    Likely { name, code: backslash & next(code), reference, percent: percent & next(digit) }
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
pub(super) fn letters(block: &[u8; BLOCK]) -> u64 {
    let mut mask = 0;
    for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*lanes);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let within = |bytes: u8x16, first: u8, last: u8| {
            let turned = bytes - u8x16::splat(first);
            turned.min(u8x16::splat(last - first)).simd_eq(turned)
        };
        let alphabet = within(bytes | u8x16::splat(0x20), b'a', b'z');
        // The slash stands right before the digits in ASCII.
        let all = alphabet | within(bytes, b'/', b'9') | is(b'+') | is(b'-') | is(b'_');
        mask |= u64::from(all.to_bitmask()) << (16 * index);
    }
    mask
}

/// Returns the number of base64 letters at the start of `bytes`.
pub(super) fn run_length(bytes: &[u8]) -> usize {
    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        let letters = letters(block);
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
    let mut mask = 0;
    for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*lanes);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes) & !is(b'\t');
        let all = control | is(0xc2) | is(0xe2);
        mask |= u64::from(all.to_bitmask()) << (16 * index);
    }
    mask
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
    let near = u8x16::new(*near);
    let is = |byte: u8| near.simd_eq(u8x16::splat(byte));
    match (is(first) | is(second)).to_bitmask() {
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
    let near = u8x16::new(*near);
    let is = |byte: u8| near.simd_eq(u8x16::splat(byte));
    match (is(first) | is(second) | is(third)).to_bitmask() {
        0 => memchr3(first, second, third, far).map(|at| from + at + 16),
        mask => Some(from + mask.trailing_zeros() as usize),
    }
}

/// Returns the positions at which 16 consecutive ones start.
#[inline]
pub(super) fn runs_of_16(mut bits: u64) -> u64 {
    bits &= bits >> 1;
    bits &= bits >> 2;
    bits &= bits >> 4;
    bits & bits >> 8
}
