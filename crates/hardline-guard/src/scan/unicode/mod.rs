//! Unicode data: the needs of scripts and emoji, and the sequences of characters that exist.
//!
//! The tables are generated: [`table`] holds properties, [`sequence`] variation and emoji
//! sequences.

mod sequence;
mod table;
#[cfg(test)]
mod tests;

/// First and last code point of each range, in order.
type Ranges = &'static [u32];

fn is_in(ranges: Ranges, char: char) -> bool {
    let code = u32::from(char);
    let (pairs, _) = ranges.as_chunks::<2>();
    // Most characters come before all ranges.
    if pairs.first().is_none_or(|[first, _]| code < *first) {
        return false;
    }
    let next = pairs.partition_point(|[_, last]| *last < code);
    pairs.get(next).is_some_and(|[first, _]| *first <= code)
}

/// Returns true if the letter is written from right to left.
pub(super) fn is_right_to_left(char: char) -> bool {
    is_in(table::RIGHT_TO_LEFT, char)
}

/// Returns true if the character combines with the one before.
pub(super) fn is_mark(char: char) -> bool {
    is_in(table::MARK, char)
}

/// Returns true if the letter has a form that joins the next one, as in Arabic or Mongolian.
pub(super) fn joins_next(char: char) -> bool {
    is_in(table::JOINS_NEXT, char)
}

/// Returns true if the letter has a form that joins the one before.
pub(super) fn joins_before(char: char) -> bool {
    is_in(table::JOINS_BEFORE, char)
}

/// Returns true if the character belongs to a Brahmic script, from Devanagari to Balinese.
pub(super) fn is_indic(char: char) -> bool {
    is_in(table::INDIC, char)
}

/// Returns true if the sign joins consonants or silences one, so that adjacent joiners change its
/// look.
pub(super) fn is_virama(char: char) -> bool {
    is_in(table::VIRAMA, char)
}

/// Returns true if the script has no spaces between words, such as Thai and Khmer.
pub(super) fn is_unspaced(char: char) -> bool {
    is_in(table::UNSPACED, char)
}

/// Returns true if the character is, or may become, an emoji.
pub(super) fn is_pictograph(char: char) -> bool {
    is_in(table::PICTOGRAPH, char)
}

/// Returns true if the character is drawn as an emoji without a selector.
pub(super) fn is_emoji_by_default(char: char) -> bool {
    is_in(table::EMOJI_BY_DEFAULT, char)
}

/// Returns true if the character is an ideograph.
pub(super) fn is_ideograph(char: char) -> bool {
    is_in(table::IDEOGRAPH, char)
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

/// Returns true if the character has a text style and an emoji style.
pub(super) fn has_styles(char: char) -> bool {
    is_in(sequence::EMOJI_BASES, char)
}

/// Returns true if the standard defines this variant of `base`. Emoji and ideographs are not
/// covered.
pub(super) fn has_variant(base: char, selector: char) -> bool {
    let variant = u32::from(base) << 8 | u32::from(selector) & 0xff;
    sequence::VARIANTS.binary_search(&variant).is_ok()
}

/// Returns true if some emoji joins these two characters.
pub(super) fn is_joined(before: char, after: char) -> bool {
    is_in(sequence::JOINED_BEFORE, before) && is_in(sequence::JOINED_AFTER, after)
}
