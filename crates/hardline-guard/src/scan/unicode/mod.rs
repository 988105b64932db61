//! Unicode data: the needs of scripts and emoji, and the sequences of characters that exist.
//!
//! The tables are generated: [`table`] holds properties, [`sequence`] variation and emoji
//! sequences.

mod emoji;
mod sequence;
mod set;
mod table;
#[cfg(test)]
mod tests;

use set::{CharSet, Ranges};

pub(super) use emoji::{has_styles, is_emoji_by_default};

static RIGHT_TO_LEFT: CharSet = CharSet::new(table::RIGHT_TO_LEFT);
static MARK: CharSet = CharSet::new(table::MARK);
static JOINS_NEXT: CharSet = CharSet::new(table::JOINS_NEXT);
static JOINS_BEFORE: CharSet = CharSet::new(table::JOINS_BEFORE);
static INDIC: CharSet = CharSet::new(table::INDIC);
static VIRAMA: CharSet = CharSet::new(table::VIRAMA);
static UNSPACED: CharSet = CharSet::new(table::UNSPACED);
static PICTOGRAPH: CharSet = CharSet::new(table::PICTOGRAPH);
static IDEOGRAPH: CharSet = CharSet::new(table::IDEOGRAPH);
static EMOJI_BASES: CharSet = CharSet::new(sequence::EMOJI_BASES);
static JOINED_BEFORE: CharSet = CharSet::new(sequence::JOINED_BEFORE);
static JOINED_AFTER: CharSet = CharSet::new(sequence::JOINED_AFTER);

/// Returns true if the letter is written from right to left.
pub(super) fn is_right_to_left(char: char) -> bool {
    RIGHT_TO_LEFT.has(char)
}

/// Returns true if the character combines with the one before.
pub(super) fn is_mark(char: char) -> bool {
    MARK.has(char)
}

/// Returns true if the letter has a form that joins the next one, as in Arabic or Mongolian.
pub(super) fn joins_next(char: char) -> bool {
    JOINS_NEXT.has(char)
}

/// Returns true if the letter has a form that joins the one before.
pub(super) fn joins_before(char: char) -> bool {
    JOINS_BEFORE.has(char)
}

/// Returns true if the character belongs to a Brahmic script, from Devanagari to Balinese.
pub(super) fn is_indic(char: char) -> bool {
    INDIC.has(char)
}

/// Returns true if the sign joins consonants or silences one, so that adjacent joiners change its
/// look.
pub(super) fn is_virama(char: char) -> bool {
    VIRAMA.has(char)
}

/// Returns true if the script has no spaces between words, such as Thai and Khmer.
pub(super) fn is_unspaced(char: char) -> bool {
    UNSPACED.has(char)
}

/// Returns true if the character is, or may become, an emoji.
pub(super) fn is_pictograph(char: char) -> bool {
    PICTOGRAPH.has(char)
}

/// Returns true if the character is an ideograph.
pub(super) fn is_ideograph(char: char) -> bool {
    IDEOGRAPH.has(char)
}

/// Returns true if lines break between any two characters of the script: Han, kana, Hangul.
pub(super) fn is_east_asian(char: char) -> bool {
    is_ideograph(char)
        || matches!(char, '\u{3000}'..='\u{30ff}' | '\u{3130}'..='\u{318f}' | '\u{31f0}'..='\u{31ff}'
            | '\u{ac00}'..='\u{d7a3}' | '\u{ff00}'..='\u{ffef}')
}

pub(super) fn is_mongolian(char: char) -> bool {
    matches!(char, '\u{1800}'..='\u{180a}' | '\u{1810}'..='\u{18af}' | '\u{11660}'..='\u{1166c}')
}

/// Returns true if the standard defines this variant of `base`. Emoji and ideographs are not
/// covered.
pub(super) fn has_variant(base: char, selector: char) -> bool {
    let variant = u32::from(base) << 8 | u32::from(selector) & 0xff;
    sequence::VARIANTS.binary_search(&variant).is_ok()
}

/// Returns true if some emoji joins these two characters.
pub(super) fn is_joined(before: char, after: char) -> bool {
    JOINED_BEFORE.has(before) && JOINED_AFTER.has(after)
}
