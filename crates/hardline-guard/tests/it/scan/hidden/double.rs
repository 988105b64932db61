//! Combining marks that cover the same mark below them.

use hardline_testkit::generate::Rng;

use super::{PAGE, assert_found, assert_passes};

const ENGLISH: &str = "A short note on how bread is made at home without much work. ";
const HEBREW: &str = "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ ";
const ARABIC: &str = "مُحَمَّدٌ رَسُولُ اللَّهِ ";
const HINDI: &str = "ज़रूर लड़का पढ़ाई करता है ";

/// Repeats the page with 96 bits: after each place, `least` marks or one more.
fn hide(
    page: &str,
    is_place: impl Fn(char) -> bool,
    mark: char,
    least: usize,
    seed: u64,
) -> String {
    let mut random = Rng::new(seed);
    let (mut text, mut bits) = (String::new(), 0);
    for char in page.chars().cycle() {
        text.push(char);
        if is_place(char) {
            text.extend(std::iter::repeat_n(mark, least + random.below(2)));
            bits += 1;
        }
        if bits == 96 {
            break;
        }
    }
    text
}

#[test]
fn marks_that_are_there_once_or_twice_are_found() {
    for seed in 0..20 {
        for mark in ['\u{334}', '\u{336}', '\u{338}', '\u{20d2}', '\u{20e5}'] {
            assert_found("overlays", &hide(ENGLISH, char::is_alphabetic, mark, 1, seed));
        }
        for (page, mark) in
            [(HEBREW, '\u{5b8}'), (HEBREW, '\u{5bc}'), (ARABIC, '\u{64e}'), (HINDI, '\u{93c}')]
        {
            assert_found("points", &hide(page, |it| it == mark, mark, 0, seed));
        }
    }
}

#[test]
fn marks_with_another_one_between_them_are_found() {
    let text = "ב\u{5bc}\u{5b8}\u{5bc} ".repeat(16);
    assert_found("a point between two equal ones", &text);
}

#[test]
fn a_mark_three_times_is_found() {
    for mark in ["\u{336}", "\u{338}", "\u{5bc}", "\u{93c}", "\u{94d}", "\u{20d2}", "\u{3099}"] {
        assert_found("a row", &format!("{PAGE}x{}", mark.repeat(3)));
        assert_passes("a mark", &format!("x{mark}").repeat(200));
        assert_passes("a typo", &format!("{PAGE}x{mark}{mark}{PAGE}"));
    }
}

#[test]
fn marks_that_people_see_pass() {
    let ornament = format!("{ARABIC}{ARABIC}ــ\u{64b}\u{64b}\u{64b}\u{64b} زخرفة، {PAGE}");
    for text in [HEBREW, ARABIC, HINDI, "e\u{301}\u{301}te\u{308}\u{308} ", &ornament] {
        assert_passes("marks", &text.repeat(100));
    }
}
