//! Compares the kinds of characters with the Unicode data of ICU4X.

use icu_properties::props::{
    DefaultIgnorableCodePoint, GeneralCategory, NoncharacterCodePoint, WhiteSpace,
};
use icu_properties::{CodePointMapData, CodePointSetData};

use hardline_wire::excerpt::is_unsafe;

use super::*;

#[test]
fn everything_that_a_font_does_not_draw_has_a_kind() {
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let noncharacter = CodePointSetData::new::<NoncharacterCodePoint>();
    let category = CodePointMapData::<GeneralCategory>::new();
    for char in '\0'..=char::MAX {
        let is_format = category.get(char) == GeneralCategory::Format && !is_drawn(char);
        if ignorable.contains(char) || noncharacter.contains(char) || is_format {
            assert!(kind(char).is_some(), "U+{:04X}", u32::from(char));
        }
    }
}

/// Returns true for format characters that a font draws: signs before numbers, and the line of an
/// abbreviation.
fn is_drawn(char: char) -> bool {
    matches!(char, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{110bd}' | '\u{110cd}')
}

#[test]
fn every_blank_has_a_kind_or_is_plain() {
    let space = CodePointSetData::new::<WhiteSpace>();
    for char in ('\0'..=char::MAX).filter(|it| space.contains(*it)) {
        let is_plain = matches!(char, ' ' | '\t' | '\n' | '\r' | '\x0c' | '\u{a0}' | '\u{3000}');
        assert_eq!(kind(char).is_none(), is_plain, "U+{:04X}", u32::from(char));
    }
}

/// Drawn characters have no kind, except for blanks that look like characters.
#[test]
fn drawn_characters_have_no_kind() {
    let category = CodePointMapData::<GeneralCategory>::new();
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let blank = [
        '\u{2800}',
        '\u{fffc}',
        '\u{1d159}',
        '\u{2d7f}',
        '\u{1107f}',
        '\u{13441}',
        '\u{13442}',
        '\u{16fe4}',
    ];
    for char in '\0'..=char::MAX {
        use GeneralCategory::*;
        let is_special = matches!(
            category.get(char),
            Control | Format | LineSeparator | ParagraphSeparator | SpaceSeparator | Unassigned
        );
        if !is_special && !ignorable.contains(char) && !blank.contains(&char) {
            assert!(kind(char).is_none(), "U+{:04X}", u32::from(char));
        }
    }
}

/// An excerpt escapes each hidden character, so that findings show it.
#[test]
fn excerpts_escape_what_is_hidden() {
    for char in ('\0'..=char::MAX).filter(|it| is_invisible(*it)) {
        let is_space = kind(char) == Some(Kind::Blank) && char.is_whitespace();
        assert!(is_space || is_unsafe(char), "U+{:04X}", u32::from(char));
    }
}
