//! Emoji properties of a character, from a flat table: texts with emoji ask for those of each one.

use super::{Ranges, sequence, table};

/// The blocks that have nearly all emoji.
const OLD: u32 = 0x2000;
const NEW: u32 = 0x1f000;
/// Number of code points of each.
const LENGTH: u32 = 0xc00;

/// The character is drawn as an emoji without a selector.
const BY_DEFAULT: u8 = 1;
/// The character has a text style and an emoji style.
const STYLES: u8 = 2;

static PROPERTIES: [[u8; LENGTH as usize]; 2] = [properties(OLD), properties(NEW)];

/// Returns true if the character is drawn as an emoji without a selector.
pub(in crate::scan) fn is_emoji_by_default(char: char) -> bool {
    find(char).is_some_and(|it| it & BY_DEFAULT != 0)
}

/// Returns true if the character has a text style and an emoji style.
pub(in crate::scan) fn has_styles(char: char) -> bool {
    match find(char) {
        Some(properties) => properties & STYLES != 0,
        None => super::EMOJI_BASES.has(char),
    }
}

/// Returns the properties of a character of one of the blocks.
fn find(char: char) -> Option<u8> {
    let [old, new] = &PROPERTIES;
    let code = u32::from(char);
    let (block, at) = if code < NEW { (old, code.checked_sub(OLD)?) } else { (new, code - NEW) };
    block.get(at as usize).copied()
}

const fn properties(start: u32) -> [u8; LENGTH as usize] {
    let table = mark([0; LENGTH as usize], start, table::EMOJI_BY_DEFAULT, BY_DEFAULT);
    mark(table, start, sequence::EMOJI_BASES, STYLES)
}

/// Adds a property to the code points of some ranges.
#[expect(
    clippy::indexing_slicing,
    reason = "runs at compile time, where a mistake fails the build"
)]
const fn mark(
    mut table: [u8; LENGTH as usize],
    start: u32,
    ranges: Ranges,
    property: u8,
) -> [u8; LENGTH as usize] {
    let mut at = 0;
    while at < ranges.len() {
        let mut code = ranges[at];
        while code <= ranges[at + 1] {
            if code >= start && code < start + LENGTH {
                table[(code - start) as usize] |= property;
            }
            code += 1;
        }
        at += 2;
    }
    table
}
