//! Blanks that look like a space, and places of objects that are not there.

use hardline_testkit::generate::Rng;

use super::{PAGE, assert_found, assert_passes};

const KOREAN: &str = "빠른 갈색 여우가 게으른 개를 뛰어넘어 숲으로 달려갔다 ";

/// Appends one of two texts to each word.
fn choose(page: &str, words: usize, choices: [&str; 2], seed: u64) -> String {
    let mut random = Rng::new(seed);
    let words = page.split_whitespace().cycle().take(words);
    words.map(|word| format!("{word}{}", random.pick(&choices))).collect()
}

#[test]
fn long_rows_of_blanks_without_an_order_are_found() {
    for seed in 0..20 {
        let mut random = Rng::new(seed);
        let row: String = (0..64).map(|_| random.pick(&[" ", "\u{a0}"])).collect();
        assert_found("a gap", &format!("Total:{row}12 EUR"));
    }
    for row in [
        "\u{a0} ".repeat(40),
        "\u{a0}\u{a0} ".repeat(40),
        format!("{}{}", "\u{a0}".repeat(30), " ".repeat(30)),
        format!("    \u{a0}{}", " ".repeat(30)),
    ] {
        assert_passes("an order", &format!("Total:{row}12 EUR\n").repeat(50));
    }
}

#[test]
fn braille_without_dots_between_words_is_found() {
    for seed in 0..20 {
        assert_found("a space", &choose(PAGE, 96, [" ", "\u{2800}"], seed));
    }
    assert_passes("lines", &"First part.\n\u{2800}\nSecond part.\n".repeat(50));
}

#[test]
fn objects_and_hieroglyphs_that_are_not_there_are_found() {
    for seed in 0..20 {
        for hidden in ["\u{fffc}", "\u{13441}", "\u{13442}"] {
            let hidden = format!("{hidden} ");
            assert_found("in words", &choose(PAGE, 48, [" ", &hidden], seed));
        }
    }
    assert_passes("hieroglyphs", &"𓀀\u{13441}𓀁\u{13442}𓂋 ".repeat(100));
}

/// Korean has spaces, and needs no other word breaks.
#[test]
fn word_breaks_inside_korean_words_are_found() {
    for seed in 0..20 {
        let mut random = Rng::new(seed);
        let words = KOREAN.split_whitespace().cycle().take(96).map(|word| {
            let first = word.chars().next().map_or(0, char::len_utf8);
            let hidden = random.pick(&["", "\u{200b}"]);
            format!("{}{hidden}{}", &word[..first], &word[first..])
        });
        assert_found("word breaks", &words.collect::<Vec<_>>().join(" "));
    }
}
