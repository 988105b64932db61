//! 64 bytes looked at at once: a bit for each byte and question.

use wide::u8x16;

pub(super) const BLOCK: usize = 64;

/// One bit for each byte of a block.
#[derive(Debug)]
pub(super) struct Masks {
    /// `j`, `J`, a backslash, `&` or `%`.
    pub(super) rare: u64,
    /// Bytes that are in no run: those up to `*`, and those beyond ASCII.
    pub(super) breaks: u64,
    pub(super) h: u64,
    pub(super) colon: u64,
}

impl Masks {
    #[inline]
    pub(super) fn of(block: &[u8; BLOCK], odd: &mut u8x16) -> Self {
        let mut masks = Self { rare: 0, breaks: 0, h: 0, colon: 0 };
        for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = u8x16::new(*lanes);
            let lower = bytes | u8x16::splat(0x20);
            let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
            let is_letter = |letter: u8| lower.simd_eq(u8x16::splat(letter));
            let at_most = |bytes: u8x16, most: u8| bytes.min(u8x16::splat(most)).simd_eq(bytes);
            // The bytes beyond ASCII come first in this order.
            let turned = bytes ^ u8x16::splat(0x80);
            let layout = at_most(bytes - u8x16::splat(b'\t'), b'\r' - b'\t');
            let below_space = at_most(turned, 0x9f);
            *odd |= (below_space & !layout) | is(0x0b) | is(0x7f);
            let bits = |lanes: u8x16| u64::from(lanes.to_bitmask()) << (16 * index);
            masks.rare |= bits(is_letter(b'j') | is(b'\\') | is(b'&') | is(b'%'));
            masks.breaks |= bits(at_most(turned, 0xaa));
            masks.h |= bits(is_letter(b'h'));
            masks.colon |= bits(is(b':'));
        }
        masks
    }
}

/// The letters of base64 in a block.
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
        // The slash stands before the digits.
        let all = alphabet | within(bytes, b'/', b'9') | is(b'+') | is(b'-') | is(b'_');
        mask |= u64::from(all.to_bitmask()) << (16 * index);
    }
    mask
}

/// Where 16 ones in a row start.
#[inline]
pub(super) fn runs_of_16(mut bits: u64) -> u64 {
    bits &= bits >> 1;
    bits &= bits >> 2;
    bits &= bits >> 4;
    bits & bits >> 8
}
