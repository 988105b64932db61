//! Marks and spans of direction: bits in which one stands in a place, and if one does.

use hardline_testkit::generate::Rng;

use super::{assert_found, assert_passes};

const MARKS: [&str; 4] = ["", "\u{200e}", "\u{200f}", "\u{61c}"];

const ENGLISH: &str = "A short note on how bread is made at home without much work";
const HEBREW: &str = "הספר על השולחן בבית הגדול ליד העיר העתיקה";
const POINTED: &str = "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ";

/// Joins groups of words. `wrap` hides bits in each of them.
fn written(
    page: &str,
    words: usize,
    separator: &str,
    groups: usize,
    mut wrap: impl FnMut(&str) -> String,
) -> String {
    let all: Vec<&str> = page.split(' ').collect();
    let group = |at: usize| {
        let words: Vec<_> = (0..words).map(|it| all[(at * words + it) % all.len()]).collect();
        wrap(&words.join(" "))
    };
    (0..groups).map(group).collect::<Vec<_>>().join(separator)
}

/// Two bits in each place, of which fewer than 96 remain hidden.
#[test]
fn direction_marks_of_mixed_kinds_are_found() {
    for seed in 0..20 {
        let mut random = Rng::new(seed);
        for sign in ["׳", "״", "׀", "׃", "־", "۔", "؟", "؛", "א"] {
            let text =
                written(ENGLISH, 1, " ", 48, |word| format!("{word}{sign}{}", random.pick(&MARKS)));
            assert_found("after signs of English words", &text);
        }
        for separator in ["\n", "\r\n", ", ", " | ", "<br>"] {
            let at_end = |word: &str| format!("{word}{}", random.pick(&MARKS));
            assert_found("at ends", &written(HEBREW, 1, separator, 48, at_end));
            let at_start = |word: &str| format!("{}{word}", random.pick(&MARKS));
            assert_found("at starts", &written(HEBREW, 1, separator, 48, at_start));
        }
    }
}

/// One mark, or none: a bit in each place.
#[test]
fn direction_marks_that_are_present_or_not_are_found() {
    for seed in 0..20 {
        let mut random = Rng::new(seed);
        for (mark, separator) in [("\u{200e}", "\n"), ("\u{200f}", "\n"), ("\u{200f}", ", ")] {
            let text = written(HEBREW, 1, separator, 192, |word| {
                format!("{word}{}", if random.one_in(2) { mark } else { "" })
            });
            assert_found("at ends", &text);
        }
    }
}

#[test]
fn direction_marks_in_one_place_are_found() {
    for seed in 0..20 {
        let mut random = Rng::new(seed);
        for unit in ["ab׳", "a longer sentence about bread and other things׳"] {
            let text = written(unit, 8, " ", 32, |word| {
                let marks: String = (0..4).map(|_| random.pick(&MARKS)).collect();
                format!("{word}{marks}")
            });
            assert_found("four", &text);
        }
    }
    assert_found("a row", "ש.\u{200f}\u{200f}\u{200f}");
}

#[test]
fn spans_of_lines_are_found() {
    let open = [("", ""), ("\u{202a}", ""), ("\u{202b}", ""), ("\u{2067}", "")];
    let closed = [
        ("", ""),
        ("\u{202b}", "\u{202c}"),
        ("\u{202a}", "\u{202c}"),
        ("\u{2067}", "\u{2069}"),
        ("\u{2066}", "\u{2069}"),
        ("\u{2068}", "\u{2069}"),
    ];
    let either = [("\u{202b}", ""), ("\u{202b}", "\u{202c}")];
    let nested = [("\u{202b}", ""), ("\u{202b}\u{202a}", ""), ("\u{202b}\u{2067}", "")];
    for seed in 0..20 {
        let mut random = Rng::new(seed);
        for (name, spans) in [
            ("not closed", &open[..]),
            ("closed", &closed[..]),
            ("closed or not", &either[..]),
            ("nested", &nested[..]),
        ] {
            let text = written(HEBREW, 3, "\n", 384, |words| {
                let (start, end) = spans[random.below(spans.len())];
                format!("{start}{words}{end}")
            });
            assert_found(name, &text);
        }
        let text = written(POINTED, 1, " ", 48, |word| {
            let half = word.char_indices().nth(word.chars().count() / 2).unwrap().0;
            format!("{}{}{}", &word[..half], open[random.below(open.len())].0, &word[half..])
        });
        assert_found("inside of words", &text);
    }
}

/// A mark in every place carries no bits.
#[test]
fn direction_marks_that_are_used_consistently_pass() {
    for mark in ["\u{200e}", "\u{200f}", "\u{61c}"] {
        for separator in ["\n", ", ", " | "] {
            let text = written(HEBREW, 1, separator, 2000, |word| format!("{word}.{mark}"));
            assert_passes("after stops", &text);
            let text = written(HEBREW, 3, separator, 2000, |word| format!("{mark}{word}"));
            assert_passes("before words", &text);
        }
    }
    for (start, end) in [("\u{202b}", ""), ("\u{202b}", "\u{202c}"), ("\u{2067}", "\u{2069}")] {
        let text = written(HEBREW, 3, "\n", 2000, |words| format!("{start}{words}{end}"));
        assert_passes("lines", &text);
    }
    // Each value has one, and no key.
    let data: String = (0..400).map(|it| format!("\"{it}-count\": \"\u{200f}0 אלף\",\n")).collect();
    assert_passes("data", &data);
}
