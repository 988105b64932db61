//! Combining marks that a font draws on the same spot each time: overlays, points of Hebrew and Arabic,
//! the dot below a letter and the vowel killer of India. Of two equal ones, people see one.
//!
//! Typing leaves the same mark twice now and then. Three of them are no accident, except in Arabic,
//! where some fonts draw marks above each other.
//!
//! Invariant: each mark is compared with at most [`MAX_MARKS`] others, so the cost is linear.

use std::ops::Range;

use super::kind::kind;
use crate::scan::unicode::is_mark;

/// Limit on the marks of one letter that are searched for an equal one.
const MAX_MARKS: usize = 8;

/// Returns true if the first bytes are those of a mark that the same letter has again. Any text may
/// follow.
pub(crate) fn is_doubled(rest: &[u8]) -> bool {
    let Some((first, mut rest)) = split_char(rest).filter(|it| covers_itself(it.0)) else {
        return false;
    };
    for _ in 0..MAX_MARKS {
        match split_char(rest) {
            Some((next, _)) if next == first => return true,
            Some((next, behind)) if is_mark(next) => rest = behind,
            _ => return false,
        }
    }
    false
}

/// Splits the first character off, unless it is ASCII.
fn split_char(bytes: &[u8]) -> Option<(char, &[u8])> {
    let length = match bytes.first()? {
        ..0x80 => return None,
        ..0xe0 => 2,
        ..0xf0 => 3,
        _ => 4,
    };
    let (char, rest) = bytes.split_at_checked(length)?;
    Some((str::from_utf8(char).ok()?.chars().next()?, rest))
}

/// A mark without an effect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Double {
    pub(super) char: char,
    pub(super) place: Range<usize>,
    /// True if it is too often there for an accident.
    pub(super) is_row: bool,
}

/// Returns the end of the marks at `start`, and those of them that people do not see.
pub(super) fn find(text: &str, start: usize) -> (usize, Vec<Double>) {
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.find(|it| !is_mark(it) || kind(it).is_some()).unwrap_or(rest.len());
    let marks = rest.get(..length).unwrap_or_default();
    let (mut last, mut doubles) = (['\0'; MAX_MARKS], Vec::new());
    for (index, (at, char)) in marks.char_indices().enumerate() {
        let count = last.iter().filter(|it| **it == char).count();
        if count > 0 && covers_itself(char) {
            let place = start + at..start + at + char.len_utf8();
            let is_row = count > 1 && !is_arabic(char);
            doubles.push(Double { char, place, is_row });
        }
        if let Some(oldest) = last.get_mut(index % MAX_MARKS) {
            *oldest = char;
        }
    }
    (start + length, doubles)
}

/// Returns true for a mark that a second one of its kind covers.
fn covers_itself(char: char) -> bool {
    match char {
        '\u{334}'..='\u{338}' | '\u{5b0}'..='\u{5bd}' => true,
        '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c7}' => true,
        '\u{618}'..='\u{61a}' | '\u{64b}'..='\u{652}' | '\u{670}' => true,
        // All scripts of India have them in the same place of their block.
        '\u{900}'..='\u{d7f}' => matches!(u32::from(char) & 0x7f, 0x3c | 0x4d) && is_mark(char),
        '\u{1037}' | '\u{1039}'..='\u{103a}' | '\u{17d2}' => true,
        '\u{20d2}'..='\u{20d3}' | '\u{20d8}'..='\u{20da}' => true,
        '\u{20e5}'..='\u{20e6}' | '\u{20ea}'..='\u{20eb}' | '\u{3099}'..='\u{309a}' => true,
        _ => false,
    }
}

fn is_arabic(char: char) -> bool {
    matches!(char, '\u{610}'..='\u{670}')
}

#[cfg(test)]
mod tests {
    use unicode_normalization::char::canonical_combining_class;

    use super::*;

    #[test]
    fn marks_that_cover_themselves_have_a_fixed_place() {
        for char in ('\0'..=char::MAX).filter(|it| covers_itself(*it)) {
            let class = canonical_combining_class(char);
            assert!(matches!(class, 1 | 7..=35), "U+{:04X}: {class}", u32::from(char));
        }
    }
}
