//! Characters that are hits by themselves: controls, line separators; and the way to hidden ones.
//!
//! Only texts with odd bytes come here. Blocks without one are stepped over; in the others the
//! first bytes of the characters in question are looked at one by one.

use wide::u8x16;

use super::block::BLOCK;
use super::hidden::Hidden;
use super::list::List;
use crate::rule::Rule;

/// Finds control characters, line separators and hidden characters.
pub(super) fn scan(text: &str, list: &mut List) {
    let mut hidden = Hidden::new(text);
    let (blocks, tail) = text.as_bytes().as_chunks::<BLOCK>();
    let mut base = 0;
    for block in blocks {
        look(text, base, block, &mut hidden, list);
        base += BLOCK;
    }
    let mut last = [b' '; BLOCK];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    look(text, base, &last, &mut hidden, list);
    hidden.finish(list);
}

/// Whether the character controls a terminal and is no part of plain text.
pub(crate) fn is_control(char: char) -> bool {
    char.is_control() && !matches!(char, '\t' | '\n' | '\x0b' | '\x0c' | '\r' | '\u{85}')
}

#[inline]
fn look(text: &str, base: usize, block: &[u8; BLOCK], hidden: &mut Hidden<'_>, list: &mut List) {
    let mut mask = candidates(block);
    while mask != 0 {
        let at = base + mask.trailing_zeros() as usize;
        mask &= mask - 1;
        if at >= hidden.done() && may_matter(text.as_bytes().get(at..).unwrap_or_default()) {
            judge(text, at, hidden, list);
        }
    }
}

fn judge(text: &str, at: usize, hidden: &mut Hidden<'_>, list: &mut List) {
    let Some(char) = text.get(at..).and_then(|it| it.chars().next()) else { return };
    let range = at..at + char.len_utf8();
    if is_control(char) {
        let is_escape = matches!(char, '\x1b' | '\u{9b}');
        let detail = if is_escape { "a terminal escape sequence" } else { "a control character" };
        list.add_control(range, detail);
    } else if matches!(char, '\u{2028}' | '\u{2029}' | '\u{85}' | '\x0b') {
        let detail = "some readers end a line here, others do not";
        list.add_characters(Rule::ContentLineSeparator, range, detail);
    } else {
        hidden.take(at, list);
    }
}

/// The bytes with which a character in question may start.
#[inline]
pub(super) fn candidates(block: &[u8; BLOCK]) -> u64 {
    let (mut mask, mut kana, mut seconds) = (0, 0, 0);
    for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*lanes);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let at_most = |bytes: u8x16, most: u8| bytes.min(u8x16::splat(most)).simd_eq(bytes);
        let layout = at_most(bytes - u8x16::splat(b'\t'), b'\r' - b'\t');
        let control = (at_most(bytes, 0x1f) & !layout) | is(0x0b) | is(0x7f);
        let two = is(0xc2) | is(0xcd);
        let three = is(0xe1) | is(0xe2) | is(0xef);
        let four = is(0xf0) | is(0xf3);
        let bits = |lanes: u8x16| u64::from(lanes.to_bitmask()) << (16 * index);
        mask |= bits(control | two | three | four);
        // The first byte of kana; with this second byte it is a letter of Hangul.
        kana |= bits(is(0xe3));
        seconds |= bits(is(0x85));
    }
    mask | kana & (seconds >> 1 | 1 << 63)
}

/// Whether the first bytes are those of a control, a separator or an invisible character.
#[inline]
pub(super) fn may_matter(rest: &[u8]) -> bool {
    match rest {
        [0xc2, 0x80..=0x9f | 0xad, ..] => true,
        [0xc2, ..] => false,
        [0xe1, 0x85 | 0x9e | 0xa0, ..] => true,
        [0xe2, 0x80, third, ..] => matches!(third, 0x8b..=0x8f | 0xa8..=0xae),
        [0xe2, 0x81, third, ..] => *third >= 0xa0,
        [0xe3, 0x85, third, ..] => *third == 0xa4,
        [0xef, 0xb8 | 0xbb | 0xbe | 0xbf, ..] => true,
        [0xf0, 0x93 | 0x9b | 0x9d, ..] => true,
        [0xe1..=0xf0, ..] => false,
        _ => true,
    }
}
