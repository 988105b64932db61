//! Text in private-use characters: each one stands for a letter, and people see boxes or icons.
//!
//! Icons are private-use characters too, so a few of them, or many without an order, pass. Text
//! keeps the order of ASCII, at an offset that ends with two hexadecimal zeros, and is mostly small
//! letters.

use std::ops::Range;

use super::kind::is_private;

/// Least number of consecutive characters that may be text.
const MIN_CHARS: usize = 8;

/// Finds the text in private-use characters that starts at `start`. Returns the range that was
/// read, and true if it is text.
pub(super) fn judge(text: &str, start: usize) -> (Range<usize>, bool) {
    let rest = text.get(start..).unwrap_or_default();
    let first = rest.chars().next().map_or(0, u32::from);
    let (mut count, mut small, mut is_ascii, mut end) = (0, 0, true, start);
    for (at, char) in rest.char_indices() {
        if !is_private(char) {
            // Spaces between words do not end the text.
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
    // Three fifths of small letters: prose has more, icons have fewer.
    (start..end, is_ascii && count >= MIN_CHARS && small * 5 >= count * 3)
}
