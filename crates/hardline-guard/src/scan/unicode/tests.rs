//! Compares the tables with the Unicode data of ICU4X.

use std::collections::{BTreeSet, HashMap};

use icu_normalizer::properties::{CanonicalDecompositionBorrowed, Decomposed};
use icu_properties::props::{
    BidiClass, CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiPresentation,
    ExtendedPictographic, GeneralCategory, Ideographic, IndicSyllabicCategory, JoiningType,
    LineBreak,
};
use icu_properties::{CodePointMapData, CodePointSetData};

use super::*;

/// Compares a table with ICU4X. Returns the source of the correct table if they differ.
fn compare(name: &str, table: Ranges, has: impl Fn(char) -> bool) -> Option<String> {
    let mut expected: Vec<u32> = Vec::new();
    for code in ('\0'..=char::MAX).filter(|it| has(*it)).map(u32::from) {
        match expected.last_mut() {
            Some(last) if *last + 1 == code => *last = code,
            _ => expected.extend([code, code]),
        }
    }
    let numbers: Vec<String> = expected.iter().map(|it| format!("{it:#x}")).collect();
    let source = format!("pub(super) const {name}: Ranges = &[{}];\n", numbers.join(", "));
    (table != expected).then_some(source)
}

#[test]
fn tables_are_those_of_the_unicode_data() {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    type Syllabic = IndicSyllabicCategory;
    let bidi = CodePointMapData::<BidiClass>::new();
    let category = CodePointMapData::<GeneralCategory>::new();
    let joining = CodePointMapData::<JoiningType>::new();
    let syllabic = CodePointMapData::<IndicSyllabicCategory>::new();
    let combining = CodePointMapData::<CanonicalCombiningClass>::new();
    let breaking = CodePointMapData::<LineBreak>::new();
    let emoji = CodePointSetData::new::<Emoji>();
    let presentation = CodePointSetData::new::<EmojiPresentation>();
    let pictographic = CodePointSetData::new::<ExtendedPictographic>();
    let ideographic = CodePointSetData::new::<Ideographic>();
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let joins = |it: char, side: JoiningType| {
        let kinds = [JoiningType::DualJoining, JoiningType::JoinCausing, side];
        it != '\u{200d}' && kinds.contains(&joining.get(it))
    };
    let kills = [
        Syllabic::InvisibleStacker,
        Syllabic::PureKiller,
        Syllabic::ReorderingKiller,
        Syllabic::Virama,
    ];
    let unspaced = [
        LineBreak::Aksara,
        LineBreak::AksaraPrebase,
        LineBreak::AksaraStart,
        LineBreak::ComplexContext,
        LineBreak::ViramaFinal,
        LineBreak::Virama,
    ];
    let is_brahmic = |it: char| it > '\u{8ff}' && !matches!(it, '\u{2000}'..='\u{2fff}');
    let wrong = [
        compare("RIGHT_TO_LEFT", table::RIGHT_TO_LEFT, |it| {
            let is_letter = !ignorable.contains(it);
            is_letter && matches!(bidi.get(it), BidiClass::RightToLeft | BidiClass::ArabicLetter)
        }),
        compare("MARK", table::MARK, |it| {
            matches!(category.get(it), EnclosingMark | NonspacingMark | SpacingMark)
        }),
        compare("JOINS_NEXT", table::JOINS_NEXT, |it| joins(it, JoiningType::LeftJoining)),
        compare("JOINS_BEFORE", table::JOINS_BEFORE, |it| joins(it, JoiningType::RightJoining)),
        compare("INDIC", table::INDIC, |it| is_brahmic(it) && syllabic.get(it) != Syllabic::Other),
        compare("VIRAMA", table::VIRAMA, |it| {
            kills.contains(&syllabic.get(it))
                || combining.get(it) == CanonicalCombiningClass::Virama
        }),
        compare("UNSPACED", table::UNSPACED, |it| {
            let is_tibetan = matches!(it, '\u{f00}'..='\u{fff}') && it.is_alphanumeric();
            is_tibetan || unspaced.contains(&breaking.get(it))
        }),
        compare("EMOJI_BY_DEFAULT", table::EMOJI_BY_DEFAULT, |it| presentation.contains(it)),
        compare("PICTOGRAPH", table::PICTOGRAPH, |it| {
            !it.is_ascii() && (emoji.contains(it) || pictographic.contains(it))
        }),
        compare("IDEOGRAPH", table::IDEOGRAPH, |it| ideographic.contains(it)),
    ];
    let wrong: String = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "table.rs should have\n{wrong}");
}

/// Each compatibility ideograph has a variant of the ideograph that it decomposes to, in their order.
#[test]
fn variants_of_ideographs_are_those_of_the_unicode_data() {
    let decomposition = CanonicalDecompositionBorrowed::new();
    let mut counts: HashMap<char, u32> = HashMap::new();
    let mut expected = BTreeSet::new();
    for char in ('\u{f900}'..='\u{faff}').chain('\u{2f800}'..='\u{2fa1f}') {
        let Decomposed::Singleton(base) = decomposition.decompose(char) else { continue };
        let count = counts.entry(base).or_default();
        let selector = char::from_u32(0xfe00 + *count).unwrap();
        *count += 1;
        assert!(has_variant(base, selector), "{base} {selector:?} for {char}");
        expected.insert((base, selector));
    }
    assert_eq!(expected.len(), 1002);
    let bases = ('\u{3400}'..='\u{9fff}').chain('\u{20000}'..='\u{3ffff}');
    for base in bases {
        for selector in '\u{fe00}'..='\u{fe0f}' {
            let is_expected = expected.contains(&(base, selector));
            assert_eq!(has_variant(base, selector), is_expected, "{base} {selector:?}");
        }
    }
}

#[test]
fn sequences_exist_or_do_not() {
    assert!(has_variant('≨', '\u{fe00}') && !has_variant('≨', '\u{fe01}'));
    assert!(has_variant('\u{1820}', '\u{180b}') && !has_variant('\u{1827}', '\u{180b}'));
    assert!(!has_variant('a', '\u{fe00}') && !has_variant('字', '\u{fe00}'));
    assert!(has_styles('❤') && has_styles('1') && !has_styles('😀') && !has_styles('✓'));
    assert!(is_joined('👩', '🚀') && is_joined('🏳', '🌈') && is_joined('👁', '🗨'));
    assert!(!is_joined('😀', '😀') && !is_joined('🚀', '👩'));
    let pictographs = CodePointSetData::new::<Emoji>();
    for char in ('\0'..=char::MAX).filter(|it| has_styles(*it)) {
        assert!(pictographs.contains(char), "{char:?}");
    }
}

#[test]
fn a_set_has_the_characters_of_its_ranges() {
    let sets = [
        (&RIGHT_TO_LEFT, table::RIGHT_TO_LEFT),
        (&MARK, table::MARK),
        (&JOINS_NEXT, table::JOINS_NEXT),
        (&IDEOGRAPH, table::IDEOGRAPH),
        (&EMOJI_BASES, sequence::EMOJI_BASES),
        (&JOINED_BEFORE, sequence::JOINED_BEFORE),
    ];
    for (set, ranges) in sets {
        let (pairs, _) = ranges.as_chunks::<2>();
        let expected = pairs.iter().flat_map(|[first, last]| *first..=*last);
        let found = ('\0'..=char::MAX).filter(|it| set.has(*it)).map(u32::from);
        assert!(found.eq(expected));
    }
}
