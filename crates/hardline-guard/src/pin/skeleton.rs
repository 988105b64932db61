//! Skeletons: one text for all names that people and models confuse with one another.
//!
//! A skeleton is a name without the parts that readers overlook. It starts from UTS 39, with the
//! tables of `unicode-security`, and goes further where tool names vary:
//! - compatibility forms (ligatures, fullwidth, enclosed, raised and mathematical letters) are
//!   replaced by the letters that they represent;
//! - invisible characters, combining marks, white space and word separators (`-`, `_`, `.`, `/`,
//!   `:`, dashes) are removed;
//! - case is removed, and a look-alike of a capital letter counts as one of the small letter;
//! - `i`, `l`, `1` and `|` are the same, `0` and `o` are the same, and `m` is `rn`, as in UTS 39.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Limit on the characters of a name that count.
///
/// Bounds the memory for names that servers choose. Names that differ only after that many
/// characters count as confusable, because people would confuse them.
const MAX_CHARS: usize = 256;

/// Limit on the rounds of mapping a character to its prototype: a prototype may itself look like
/// another letter.
const MAX_ROUNDS: usize = 3;

/// Small capitals, which UTS 39 does not map to the capitals that they look like.
const SMALL_CAPITALS: &str = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡ\0ʏᴢ";

/// Returns the skeleton of `name`. Two names with the same skeleton are confusable.
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
    // NFKD first: it replaces compatibility forms and separates combining marks.
    for char in name.nfkd().filter(|char| !is_passed_over(*char)).take(MAX_CHARS) {
        if char.is_ascii() {
            push_merged(&mut skeleton, char.to_ascii_lowercase());
        } else {
            plain(char).chars().for_each(|letter| push_merged(&mut skeleton, letter));
        }
    }
    skeleton
}

/// Returns a name without case and without the characters that readers overlook, otherwise
/// unchanged.
///
/// Some capitals look like one letter and their small form like another, so the skeletons of `Γ`
/// and `γ` differ. Two names are confusable if their skeletons or their folded texts are equal.
pub(super) fn folded(name: &str) -> String {
    let seen = name.nfkd().filter(|char| !is_passed_over(*char)).take(MAX_CHARS);
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Appends a small letter. Letters that look alike in most fonts become the same letter.
fn push_merged(skeleton: &mut String, letter: char) {
    match letter {
        'i' | '1' | '|' => skeleton.push('l'),
        '0' => skeleton.push('o'),
        'm' => skeleton.push_str("rn"),
        _ => skeleton.push(letter),
    }
}

/// Returns the ASCII letters that `char` looks like, in lower case, or the nearest other text.
fn plain(char: char) -> String {
    let mut text = prototype(&char.to_string());
    for _ in 1..MAX_ROUNDS {
        if text.is_ascii() {
            break;
        }
        text = prototype(&text);
    }
    text
}

/// Maps each character once: to the first ASCII text among the UTS 39 prototypes of the character,
/// of its capital and of its small form.
fn prototype(text: &str) -> String {
    let look = |text: &str| {
        let like = unicode_security::skeleton(text).nfkd();
        let like = like.filter(|char| !is_passed_over(*char));
        like.flat_map(char::to_lowercase).collect::<String>()
    };
    let mut result = String::new();
    for char in text.chars() {
        if let Some(letter) = of_small_capital(char) {
            result.push(letter);
            continue;
        }
        let own = look(char.encode_utf8(&mut [0; 4]));
        if own.is_ascii() {
            result.push_str(&own);
            continue;
        }
        // UTS 39 often maps only one of the two cases to a Latin letter.
        let capital: String = look(&char.to_uppercase().collect::<String>());
        let small: String = look(&char.to_lowercase().collect::<String>());
        let ascii = [capital, small].into_iter().find(|it| it.is_ascii());
        result.push_str(&ascii.unwrap_or(own));
    }
    result
}

fn of_small_capital(char: char) -> Option<char> {
    let place = SMALL_CAPITALS.chars().position(|it| it == char && it != '\0')?;
    u32::try_from(place).ok().and_then(|place| char::from_u32(u32::from('a') + place))
}

/// Returns true for characters that readers overlook: invisible ones, marks, and word separators.
fn is_passed_over(char: char) -> bool {
    if char.is_control() || char.is_whitespace() {
        return true;
    }
    if char.is_ascii() {
        return "-_./:".contains(char);
    }
    is_combining_mark(char) || is_ignorable(char) || is_connector(char) || is_blank(char)
}

/// Returns true for dots, dashes and other connectors between words.
fn is_connector(char: char) -> bool {
    matches!(
        char,
        '\u{b7}' | '\u{2010}'
            ..='\u{2015}'
                | '\u{2024}'
                | '\u{2027}'
                | '\u{203f}'
                | '\u{2040}'
                | '\u{2043}'
                | '\u{2044}'
                | '\u{2054}'
                | '\u{2212}'
                | '\u{2215}'
                | '\u{30fb}'
    )
}

/// Returns true for characters that fonts draw blank although Unicode does not say so: a Braille
/// pattern without dots, placeholders, annotations, a note without a head, controls of hieroglyphs.
fn is_blank(char: char) -> bool {
    matches!(
        char,
        '\u{2800}' | '\u{fff9}'..='\u{fffc}' | '\u{13430}'..='\u{1343f}' | '\u{1d159}'
    )
}

/// Returns true for characters that fonts ignore by the Unicode standard. UTS 39 maps them to
/// nothing.
fn is_ignorable(char: char) -> bool {
    unicode_security::skeleton(char.encode_utf8(&mut [0; 4])).next().is_none()
}
