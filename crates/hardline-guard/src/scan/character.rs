//! Finds characters that are hits by themselves (controls, line separators), and passes hidden ones
//! on.
//!
//! Only texts with odd bytes are scanned. Blocks without candidates are skipped; in the others, the
//! first bytes of candidate characters are checked one by one.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

use super::block::{BLOCK, within};
use super::hidden::{Hidden, Residue, is_doubled, is_invisible, is_long};
use super::list::List;
use crate::rule::Rule;

/// Finds control characters, line separators and hidden characters. `is_part` means that the text
/// hides a message together with others.
pub(super) fn scan(text: &str, is_part: bool, list: &mut List) -> Residue {
    let mut hidden = Hidden::new(text, is_part);
    let (blocks, tail) = text.as_bytes().as_chunks::<BLOCK>();
    let mut base = 0;
    for block in blocks {
        look(text, base, block, &mut hidden, list);
        base += BLOCK;
    }
    // Blanks are no candidates, so they pad the last block.
    let mut last = [b' '; BLOCK];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    look(text, base, &last, &mut hidden, list);
    hidden.finish(list)
}

/// Class of a character that is a hit, or is one together with others.
///
/// A rule over characters is a class, with its characters in [`of`](Self::of) and its rule in
/// [`hit`](Self::hit). Both prefilters must let the UTF-8 of the characters pass: [`candidates`]
/// looks at the lead byte, [`may_matter`] at the bytes after it. A test compares them with `of`, for
/// all characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CharacterClass {
    /// Controls a terminal and does not belong in plain text.
    Control,
    /// Begins a terminal escape sequence.
    Escape,
    /// Ends a line for some readers.
    Separator,
    /// Is not drawn.
    Invisible,
}

impl CharacterClass {
    /// Returns the class of a character. `None` for all that people see, and for layout.
    pub(crate) fn of(char: char) -> Option<Self> {
        match char {
            '\t' | '\n' | '\x0c' | '\r' => None,
            '\x0b' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(Self::Separator),
            '\x1b' | '\u{9b}' => Some(Self::Escape),
            _ if char.is_control() => Some(Self::Control),
            _ => is_invisible(char).then_some(Self::Invisible),
        }
    }

    /// Returns the rule that one such character violates, and the detail of the hit. `None` if only
    /// several of them are a hit.
    fn hit(self) -> Option<(Rule, &'static str)> {
        match self {
            Self::Control => Some((Rule::ContentControl, "a control character")),
            Self::Escape => Some((Rule::ContentControl, "a terminal escape sequence")),
            Self::Separator => {
                Some((Rule::ContentLineSeparator, "some readers end a line here, others do not"))
            }
            Self::Invisible => None,
        }
    }
}

#[inline]
fn look(text: &str, base: usize, block: &[u8; BLOCK], hidden: &mut Hidden<'_>, list: &mut List) {
    let mut mask = dispatch!(Level::new(), simd => candidates(simd, block));
    while mask != 0 {
        let at = base + mask.trailing_zeros() as usize;
        mask &= mask - 1;
        // A run of hidden characters was judged as a whole.
        if at >= hidden.done() && may_matter(text.as_bytes().get(at..).unwrap_or_default()) {
            judge(text, at, hidden, list);
        }
    }
}

fn judge(text: &str, at: usize, hidden: &mut Hidden<'_>, list: &mut List) {
    let Some(char) = text.get(at..).and_then(|it| it.chars().next()) else { return };
    let range = at..at + char.len_utf8();
    if let Some((rule, detail)) = CharacterClass::of(char).and_then(CharacterClass::hit) {
        list.add_characters(rule, range, detail);
    }
    // A choice between separators can encode bits too.
    hidden.take(at, list);
}

/// Returns the bytes with which a relevant character may start.
///
/// Ordinary scripts, quotes, dashes and emoji are left out here, because texts are full of them. The
/// bytes after the block are unknown, so its last characters may be candidates needlessly.
#[inline(always)]
pub(super) fn candidates<S: Simd>(simd: S, block: &[u8; BLOCK]) -> u64 {
    let bytes = u8x64::simd_from(simd, *block);
    let is = |byte: u8| bytes.simd_eq(byte).to_bitmask();
    let are = |first: u8, last: u8| within(bytes, first, last).to_bitmask();
    let layout = are(b'\t', b'\r') & !is(0x0b);
    let control = bytes.simd_lt(b' ').to_bitmask() & !layout | is(0x7f);
    let mut found = control | is(0xc2) | is(0xcd) | is(0xee) | is(0xd8) & second(is(0x9c));
    // A text has few scripts, so most of these are skipped.
    let e1 = is(0xe1);
    if e1 != 0 {
        found |= e1 & second(is(0x80) | is(0x85) | is(0x9a) | are(0x9e, 0xa0));
    }
    let e2 = is(0xe2);
    if e2 != 0 {
        // General punctuation without quotes, dashes, dots and bullets.
        let unseen = second(is(0x80)) & third(are(0x80, 0x8f) | are(0xa8, 0xaf));
        found |= e2 & (unseen | second(is(0x81) | is(0x83) | is(0xa0) | is(0xb5)));
    }
    let e3 = is(0xe3);
    if e3 != 0 {
        found |= e3 & second(is(0x85) | is(0x82)) & third(are(0x99, 0x9a) | is(0xa4));
    }
    let ef = is(0xef);
    if ef != 0 {
        // Not the signs of Chinese and Japanese.
        found |= ef & second(are(0x80, 0xa3) | are(0xb7, 0xb8) | is(0xbb) | are(0xbe, 0xbf));
    }
    let four = bytes.simd_ge(0xf0).to_bitmask();
    if four != 0 {
        let notations = is(0x91) | is(0x93) | is(0x96) | is(0x9b) | is(0x9d);
        let is_last = third(is(0xbf)) & second((bytes & 0xf).simd_eq(0xf).to_bitmask());
        found |= four & (second(notations) | is_last | bytes.simd_ge(0xf3).to_bitmask());
    }
    found | marks(bytes)
}

/// Moves the mask of a second byte to the first byte of its character.
fn second(mask: u64) -> u64 {
    mask >> 1 | 1 << 63
}

/// Moves the mask of a third byte to the first byte of its character.
fn third(mask: u64) -> u64 {
    mask >> 2 | 3 << 62
}

/// Returns the bytes with which a mark may start that matters if its letter has it twice. Marks before
/// a letter or ASCII are left out.
#[inline(always)]
fn marks<S: Simd>(bytes: u8x64<S>) -> u64 {
    let is = |byte: u8| bytes.simd_eq(byte).to_bitmask();
    let are = |first: u8, last: u8| within(bytes, first, last).to_bitmask();
    let two = are(0xcc, 0xd9);
    let e0 = is(0xe0);
    let mut found = 0;
    if two != 0 {
        let (d8, d9) = (is(0xd8), is(0xd9));
        let latin_and_hebrew =
            (is(0xcc) | is(0xd6)) & second(are(0xb0, 0xbf)) | is(0xd7) & second(are(0x81, 0x87));
        let arabic = (d8 | d9) & second(are(0x8b, 0x9a) | is(0xb0));
        let letters = d8 & bytes.simd_ge(0xa0).to_bitmask() >> 1 | d9 & are(0x80, 0x8a) >> 1;
        let ascii = bytes.simd_lt(0x80).to_bitmask();
        found |= (latin_and_hebrew | arabic) & !((letters | ascii) >> 2);
    }
    if e0 != 0 {
        // The letters of an Indian script come first in its block, and its signs after them.
        let even = (bytes & 1).simd_eq(0).to_bitmask();
        let letters = e0 & even >> 1 & are(0xa4, 0xb4) >> 1 & are(0x85, 0xb9) >> 2;
        let ascii = bytes.simd_lt(0x80).to_bitmask();
        found |= e0 & third(is(0x8d) | is(0xbc)) & !((letters | ascii) >> 3);
    }
    found
}

/// Returns true if the first bytes are those of a control, a separator or an invisible character, or of a
/// mark that the same letter has again, or a long row of no-break spaces.
#[inline]
pub(super) fn may_matter(rest: &[u8]) -> bool {
    match rest {
        [0xc2, 0xa0, ..] => is_long(rest),
        [0xc2, second, ..] => matches!(second, 0x80..=0x9f | 0xad),
        [0xcd, second, ..] => *second == 0x8f,
        [0xd8, 0x9c, ..] => true,
        [0xcc | 0xd6..=0xd9 | 0xe0, ..] => is_doubled(rest),
        [0xe1, 0x80 | 0x9f, 0xb7..=0xba | 0x92, ..] => is_doubled(rest),
        [0xe2, 0x83, ..] => is_doubled(rest),
        [0xe1, second, third, ..] => matches!(
            (second, third),
            (0x85, 0x9f | 0xa0) | (0x9a, 0x80) | (0x9e, 0xb4 | 0xb5) | (0xa0, 0x8b..=0x8f)
        ),
        [0xe2, second, third, ..] => matches!(
            (second, third),
            (0x80, 0x80..=0x8f | 0xa8..=0xaf) | (0x81, 0x9f..=0xaf) | (0xa0, 0x80) | (0xb5, 0xbf)
        ),
        [0xe3, 0x85, third, ..] => *third == 0xa4,
        [0xe3, ..] => is_doubled(rest),
        [0xef, second, third, ..] => matches!(
            (second, third),
            (0x80..=0xa3, _)
                | (0xb7, 0x90..=0xaf)
                | (0xb8, 0x80..=0x8f)
                | (0xbb, 0xbf)
                | (0xbe, 0xa0)
                | (0xbf, 0xb0..=0xbc | 0xbe | 0xbf)
        ),
        [0xf0, 0x93, 0x91, 0x81..=0x82, ..] => true,
        [0xf0, 0x91, 0x81, 0xbf, ..] | [0xf0, 0x93, 0x90, 0xb0..=0xbf, ..] => true,
        [0xf0, 0x96, 0xbf, 0xa4, ..] | [0xf0, 0x9b, 0xb2, 0xa0..=0xa3, ..] => true,
        [0xf0, 0x9d, 0x85, 0x99 | 0xb3..=0xba, ..] => true,
        // The last two code points of each plane.
        [0xf0..=0xf2, second, 0xbf, 0xbe | 0xbf, ..] => second & 0xf == 0xf,
        [0xf0..=0xf2, ..] => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::unicode::is_mark;

    /// A mark is left out only if the character after it is no mark.
    #[test]
    fn a_mark_before_another_one_is_a_candidate() {
        let doubled =
            ['\u{338}', '\u{5bc}', '\u{651}', '\u{94d}', '\u{d3c}', '\u{c4d}', '\u{3099}'];
        for first in doubled {
            for char in ('\0'..=char::MAX).filter(|it| is_mark(*it)) {
                let text = format!("{first}{char}");
                let mut block = [b' '; BLOCK];
                block[..text.len()].copy_from_slice(text.as_bytes());
                let found = dispatch!(Level::new(), simd => candidates(simd, &block));
                assert!(found & 1 != 0, "{first:?} {char:?}");
            }
        }
    }

    /// The prefilter misses no relevant character, and skips all others.
    #[test]
    fn what_may_matter_does() {
        for char in '\0'..=char::MAX {
            let matters = CharacterClass::of(char).is_some();
            let mut block = [b' '; BLOCK];
            let bytes = char.encode_utf8(&mut block).len();
            // The same at the end of a block, where the next byte is unknown.
            let mut last = [b' '; BLOCK];
            last[BLOCK - 1] = block[0];
            let candidates = |block| dispatch!(Level::new(), simd => candidates(simd, block));
            let is_candidate = candidates(&block) & 1 != 0;
            assert!(!matters || candidates(&last) >> 63 == 1, "{char:?}");
            let may_matter = is_candidate && may_matter(&block[..bytes]);
            // Planes without characters may be checked needlessly.
            let is_odd = char >= '\u{c0000}';
            assert!(may_matter == matters || may_matter && is_odd, "{char:?}: {may_matter}");
        }
    }
}
