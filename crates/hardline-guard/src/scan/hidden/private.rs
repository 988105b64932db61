//! Text in private-use characters: each one stands for a letter, and people see boxes or icons.
//!
//! Icons are private-use characters too, so that a few of them, or many without an order, pass. Text keeps the
//! order of ASCII, at some distance from it that ends with two zeros, and is mostly small letters.

use std::ops::Range;

use super::kind::is_private;

/// Characters in a row that may be text.
const MIN_CHARS: usize = 8;

/// Finds the text in private-use characters that starts at `start`. Returns where what was looked at ends,
/// and whether it is text.
pub(super) fn judge(text: &str, start: usize) -> (Range<usize>, bool) {
    let rest = text.get(start..).unwrap_or_default();
    let first = rest.chars().next().map_or(0, u32::from);
    let (mut count, mut small, mut is_ascii, mut end) = (0, 0, true, start);
    for (at, char) in rest.char_indices() {
        if !is_private(char) {
            if char == ' ' {
                continue;
            }
            break;
        }
        let code = u32::from(char);
        let letter = code & 0xff;
        count += 1;
        small += usize::from((0x61..=0x7a).contains(&letter));
        is_ascii &= code >> 8 == first >> 8 && (0x20..0x7f).contains(&letter);
        end = start + at + char.len_utf8();
    }
    (start..end, is_ascii && count >= MIN_CHARS && small * 5 >= count * 3)
}
