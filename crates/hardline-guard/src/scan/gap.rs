//! Runs of base64 letters in the raw bytes of a frame, and the gaps between them.
//!
//! In a frame, a slash may be escaped, and a line end is an escape. Both may be escaped once more
//! where the text is JSON or source code.

use fearless_simd::Simd;

use super::block;

/// Limit on the backslashes of an escape that stands for layout: each level of JSON inside of JSON
/// doubles them.
const MAX_SLASHES: usize = 16;

/// Returns the length of a run. An escape that stands for a blank or a line end is no part of it.
#[inline(always)]
pub(super) fn run_length<S: Simd>(simd: S, rest: &[u8]) -> usize {
    let mut length = 0;
    loop {
        length += block::run_length_with(simd, rest.get(length..).unwrap_or_default());
        let behind = rest.get(length..).unwrap_or_default();
        if behind.first() != Some(&b'\\') || Gap::of(behind).length > 0 {
            return length;
        }
        length += 1;
    }
}

/// Blanks, and escapes that stand for blanks or line ends, in the frame or in the text itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gap {
    pub(super) length: usize,
    /// Set if there is a line end, so that the text before and after may be wrapped base64.
    pub(super) has_break: bool,
}

impl Gap {
    /// Reads the gap at the start of a text.
    #[inline]
    pub(super) fn of(rest: &[u8]) -> Self {
        match rest.first() {
            Some(b'\\' | b' ' | b'&' | b'%') => Self::read(rest),
            _ => Self::default(),
        }
    }

    fn read(text: &[u8]) -> Self {
        let mut gap = Self::default();
        loop {
            let rest = text.get(gap.length..).unwrap_or_default();
            let slashes = rest.iter().take(MAX_SLASHES).take_while(|it| **it == b'\\').count();
            gap.length += match (slashes, rest.get(slashes..).unwrap_or_default()) {
                (1.., [b'n' | b'r', ..]) => {
                    gap.has_break = true;
                    slashes + 1
                }
                (1.., [b't', ..]) => slashes + 1,
                (0, [b' ', ..]) => 1,
                (0, [b'&', b'n', b'b', b's', b'p', b';', ..]) => 6,
                (0, [b'%', b'2', b'0', ..]) => 3,
                _ => return gap,
            };
        }
    }
}
