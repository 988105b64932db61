//! Names that people and models take for one another.
//!
//! A skeleton is what is left of a name without what the eye passes over. It follows UTS 39 as far
//! as tool names need it, and goes further where tool names are loose:
//! - characters that nobody sees (zero-width, bidi, tags, variation selectors, controls) and
//!   combining marks fall away;
//! - look-alikes of Latin letters and digits from Greek, Cyrillic, Armenian, Cherokee, Coptic and
//!   Lisu, fullwidth, mathematical, enclosed, raised and accented ones become the plain letter;
//! - case, and what separates words (`-`, `_`, `.`, `/`, `:`, space, dashes), falls away;
//! - `i`, `l`, `1` and `|` are one, `0` and `o` are one, and `m` is `rn`, as in UTS 39.
//!
//! What other scripts look like among themselves is left out: two Arabic names differ if they
//! differ in a letter.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lookalike::LOOKALIKES;

/// Most characters of a name that count.
///
/// Bounds the memory for names that servers choose. Names that differ only after that many
/// characters are taken for one another, as people would.
const MAX_CHARS: usize = 256;

static LETTERS: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let rows = LOOKALIKES.iter();
    rows.flat_map(|(letter, row)| row.chars().map(|like| (like, *letter))).collect()
});

/// What is left of `name`: two names with one skeleton are confusable.
///
/// ```
/// use hardline_guard::pin::skeleton;
///
/// assert_eq!(skeleton("read_file"), skeleton("Read-Fi1e"));
/// assert_eq!(skeleton("read_file"), skeleton("r\u{435}ad_file")); // a Cyrillic letter
/// assert_ne!(skeleton("read_file"), skeleton("read_files"));
/// ```
pub fn skeleton(name: &str) -> String {
    let mut skeleton = String::new();
    for char in name.chars().filter(|char| !is_passed_over(*char)).take(MAX_CHARS) {
        for letter in plain(char).to_lowercase() {
            match letter {
                'i' | '1' | '|' => skeleton.push('l'),
                '0' => skeleton.push('o'),
                'm' => skeleton.push_str("rn"),
                _ => skeleton.push(letter),
            }
        }
    }
    skeleton
}

/// The ASCII letter or digit that `char` looks like, or `char` itself.
fn plain(char: char) -> char {
    let code = u32::from(char);
    match code {
        0..0x80 => char,
        // Fullwidth forms of all of ASCII.
        0xff01..=0xff5e => char::from_u32(code - 0xff01 + 0x21).unwrap_or(char),
        // Mathematical letters: alphabets of capitals and small letters in turn, then digits.
        0x1d400..=0x1d6a3 => char::from_u32(0x61 + (code - 0x1d400) % 26).unwrap_or(char),
        0x1d7ce..=0x1d7ff => char::from_u32(0x30 + (code - 0x1d7ce) % 10).unwrap_or(char),
        _ => LETTERS.get(&char).copied().unwrap_or(char),
    }
}

/// Whether the eye passes over a character: invisible, a mark, or between words.
fn is_passed_over(char: char) -> bool {
    char.is_control()
        || char.is_whitespace()
        || matches!(
            char,
            '-' | '_' | '.' | '/' | ':'
                | '\u{ad}'
                | '\u{b7}'
                | '\u{300}'..='\u{36f}'
                | '\u{483}'..='\u{489}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{180b}'..='\u{180f}'
                | '\u{1ab0}'..='\u{1aff}'
                | '\u{1dc0}'..='\u{1dff}'
                | '\u{200b}'..='\u{2015}'
                | '\u{2024}'
                | '\u{202a}'..='\u{202e}'
                | '\u{203f}'..='\u{2040}'
                | '\u{2060}'..='\u{206f}'
                | '\u{20d0}'..='\u{20ff}'
                | '\u{2212}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{fe20}'..='\u{fe2f}'
                | '\u{fe33}'..='\u{fe34}'
                | '\u{fe4d}'..='\u{fe4f}'
                | '\u{fe58}'
                | '\u{fe63}'
                | '\u{feff}'
                | '\u{ff0d}'
                | '\u{ff3f}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}
