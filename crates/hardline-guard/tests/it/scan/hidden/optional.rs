//! Invisible characters that are optional where they stand: one bit in each place, present or not.

use hardline_guard::sanitize;
use hardline_guard::scan::{ScanSettings, Scanner};
use hardline_testkit::generate::Rng;

use super::{assert_found, assert_passes};

/// A way to hide one bit in each place of a text.
struct Channel {
    name: &'static str,
    page: &'static str,
    is_place: fn(char) -> bool,
    /// Text inserted after a place, for each value of the bit.
    zero: &'static str,
    one: &'static str,
}

/// Number of hidden bits that are found in every text.
const BITS: usize = 96;

const ENGLISH: &str =
    "The quick brown fox jumps over the lazy dog while the committee considers it. ";
const HEBREW: &str = "שלום עולם זה מבחן של טקסט עברי ארוך מאוד שנכתב כאן ";
const PERSIAN: &str = "این کتاب برای همه نوشته شده است که می خواهند تاریخ ما را بهتر بشناسند ";
const JAPANESE: &str = "今日は東京の会社で重要な会議があるので、資料を持って参加してください。";
const EMOJI: &str = "Great 👍 work 🙏 team 👏 see you 👋 soon 🎉 ok ";
const NUMBERS: &str = "Order 48213 of 2026-11-18: 3 items, total 149.90, paid at 09:17. ";
const MARKS: &str = "Acme© and Foo® use Bar™ with Baz™ and Qux© Ltd. ";
const TAMIL: &str = "அனைத்து மனிதர்களும் சுதந்திரமாகவே பிறக்கின்றனர் மேலும் உரிமைகளிலும் ";
const VOCALIZED: &str = "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ ";

const CODE: &str = "if a.len() < b[0].x {c.push(d.e, f::g)}; ";
const SHORT: &str = "No, yes! Go; or: a, b. ";

fn is_sign_of_code(char: char) -> bool {
    ".([{:".contains(char)
}

fn is_newline(char: char) -> bool {
    char == '\n'
}

fn is_jamo(char: char) -> bool {
    matches!(char, '\u{1100}'..='\u{1112}')
}

fn is_space(char: char) -> bool {
    char == ' '
}

fn channels() -> Vec<Channel> {
    let of = |name, page, is_place, one| Channel { name, page, is_place, zero: "", one };
    let is_digit = |it: char| it.is_ascii_digit();
    let is_emoji = |it: char| it > '\u{1f000}';
    let is_old_emoji = |it: char| it > '\u{2000}';
    let is_sign = |it: char| matches!(it, '©' | '®' | '™');
    let is_kanji = |it: char| matches!(it, '\u{4e00}'..='\u{9fff}');
    let is_quote = |it: char| matches!(it, '“' | '”' | '—');
    vec![
        of("emoji style of emoji", EMOJI, is_emoji, "\u{fe0f}"),
        of("emoji style of emoji alone", "👍🙏👏👋🎉", is_emoji, "\u{fe0f}"),
        of("emoji style of old emoji", "⚡⭐☕⌚⏩⚽⛄⛅⛔⛪", is_old_emoji, "\u{fe0f}"),
        of("text style of emoji", EMOJI, is_emoji, "\u{fe0e}"),
        of("text style of digits", NUMBERS, is_digit, "\u{fe0e}"),
        of("emoji style of digits", NUMBERS, is_digit, "\u{fe0f}"),
        of("text style of signs", MARKS, is_sign, "\u{fe0e}"),
        of("style of quotation marks", "“Yes,” he said — “no,” she said. ", is_quote, "\u{fe0f}"),
        of("keycaps", "1\u{20e3} 2\u{20e3} 3\u{20e3} go ", is_digit, "\u{fe0f}"),
        of("variants of kanji", JAPANESE, is_kanji, "\u{e0100}"),
        of("empty isolates", ENGLISH, is_space, "\u{2068}\u{2069}"),
        of("empty isolates in Hebrew", HEBREW, is_space, "\u{2067}\u{2069}"),
        of("ends of isolates in Hebrew", HEBREW, is_space, "\u{2069}"),
        of("ends of embeddings in Hebrew", HEBREW, is_space, "\u{202c}"),
        of("starts of embeddings in Hebrew", HEBREW, is_space, "\u{202b}"),
        of("direction marks", ENGLISH, is_space, "\u{200e}"),
        of("direction marks in Hebrew", HEBREW, is_space, "\u{200f}"),
        Channel { zero: "\u{200e}", ..of("two marks in Hebrew", HEBREW, is_space, "\u{200f}") },
        of("non-joiners after spaces", PERSIAN, is_space, "\u{200c}"),
        of("joiners of letters that join", PERSIAN, |it| "بتسشکگلمنیه".contains(it), "\u{200d}"),
        of(
            "non-joiners after letters that do not",
            PERSIAN,
            |it| "ادذرزو".contains(it),
            "\u{200c}",
        ),
        of("non-joiners in Tamil", TAMIL, |it| it == '\u{bcd}', "\u{200c}"),
        of("word breaks after spaces", ENGLISH, is_space, "\u{200b}"),
        of("word breaks at signs of code", CODE, is_sign_of_code, "\u{200b}"),
        of("word joiners at signs of code", CODE, is_sign_of_code, "\u{2060}"),
        of("byte order marks at signs of code", CODE, is_sign_of_code, "\u{feff}"),
        Channel {
            zero: "\u{2060}",
            ..of("breaks or joiners at signs", CODE, is_sign_of_code, "\u{200b}")
        },
        of(
            "word breaks between words of names",
            "readFileSync ",
            |it| "de".contains(it),
            "\u{200b}",
        ),
        of("word breaks in a rule", "----------\n", |it| it == '-', "\u{200b}"),
        of("byte order marks before lines", "- milk\n- bread\n- eggs\n", is_newline, "\u{feff}"),
        of("direction marks after signs", SHORT, |it| ".,;!".contains(it), "\u{200e}"),
        of("invisible factors in words", ENGLISH, char::is_alphabetic, "\u{2062}"),
        of("applied functions", "f(x) + g(y) = h(z)\n", |it| "fgh".contains(it), "\u{2061}"),
        of("separators in numbers", NUMBERS, is_digit, "\u{2063}"),
        of("fillers of syllables", "\u{1100} \u{1102} \u{1103} ", is_jamo, "\u{1160}"),
        of("grapheme joiners after letters", "e\u{301}te\u{301} ", |it| it == 'e', "\u{34f}"),
        of("grapheme joiners", VOCALIZED, |it| ('\u{5b0}'..='\u{5c7}').contains(&it), "\u{34f}"),
    ]
}

/// Repeats the page, with one bit after each of its places.
fn hide(channel: &Channel, mut bits: impl Iterator<Item = bool>) -> String {
    let mut text = String::new();
    for char in channel.page.chars().cycle() {
        text.push(char);
        if (channel.is_place)(char) {
            match bits.next() {
                Some(bit) => text.push_str(if bit { channel.one } else { channel.zero }),
                None => break,
            }
        }
    }
    text
}

#[test]
fn optional_marks_that_are_present_or_not_are_found() {
    for channel in channels() {
        for seed in 0..20 {
            let mut random = Rng::new(seed);
            let text = hide(&channel, (0..BITS).map(|_| random.one_in(2)));
            assert_found(channel.name, &text);
        }
    }
}

/// A text that hides a message is sent on with marks, and hides nothing then.
#[test]
fn optional_marks_that_are_found_are_made_visible() {
    let mut scanner = Scanner::new(ScanSettings::default());
    for channel in channels() {
        for seed in 0..20 {
            let mut random = Rng::new(seed);
            let text = hide(&channel, (0..4 * BITS).map(|_| random.one_in(2)));
            let cleaned = sanitize::clean(&mut scanner, &text, |_| true);
            let cleaned = cleaned.expect(channel.name).text;
            assert!(cleaned.contains("<U+"), "{}: {cleaned}", channel.name);
            // Nothing that people see is lost.
            let shown: String = cleaned
                .split("<U+")
                .map(|it| it.split_once('>').map_or(it, |(_, it)| it))
                .collect();
            let visible = |text: &str| {
                text.replace(|it| channel.one.contains(it) || channel.zero.contains(it), "")
            };
            assert_eq!(visible(&shown), visible(&text), "{}", channel.name);
        }
    }
}

/// Words inside a span, or not.
#[test]
fn spans_around_some_of_the_words_are_found() {
    let arabic = "مرحبا بالعالم هذا اختبار للنص العربي الطويل جدا والمفيد ";
    let title = "The Quick Brown Fox Jumps Over The Lazy Dog While The Committee Waits. ";
    for (page, start, end) in [
        (ENGLISH, "\u{2068}", "\u{2069}"),
        (title, "\u{2068}", "\u{2069}"),
        (NUMBERS, "\u{2068}", "\u{2069}"),
        (HEBREW, "\u{2067}", "\u{2069}"),
        (HEBREW, "\u{2068}", "\u{2069}"),
        (arabic, "\u{202b}", "\u{202c}"),
    ] {
        for seed in 0..20 {
            let mut random = Rng::new(seed);
            let words = page.split_whitespace().cycle().take(BITS).map(|word| {
                if random.one_in(2) { format!("{start}{word}{end}") } else { word.to_owned() }
            });
            assert_found("spans", &words.collect::<Vec<_>>().join(" "));
        }
    }
}

/// A mark that a text always uses says nothing.
#[test]
fn optional_marks_that_are_used_consistently_pass() {
    for channel in channels() {
        assert_passes(
            channel.name,
            &hide(&channel, std::iter::repeat_n(false, 200)).replace('\u{200e}', ""),
        );
    }
    for name in [
        "emoji style of emoji",
        "emoji style of emoji alone",
        "emoji style of old emoji",
        "text style of emoji",
        "text style of signs",
        "keycaps",
        "non-joiners in Tamil",
    ] {
        let all = channels();
        let channel = all.iter().find(|it| it.name == name).unwrap();
        assert_passes(name, &hide(channel, std::iter::repeat_n(true, 2000)));
    }
    let lines = "⚡\u{fe0f} Fast and small.\n✨ Clean, with no setup.\n☕\u{fe0f} Runs on Java.\n🚀 Ready.\n";
    assert_passes("a list of features", &lines.repeat(100));
    let mixed =
        "Deploy went fine 👍\nThanks, that was quick 👍\u{fe0f}\nSee you all tomorrow then 👋\n";
    assert_passes("a chat of several people", &mixed.repeat(100));
    let game = "⬛\u{fe0f}🟨⬛\u{fe0f}⬛\u{fe0f}🟩\n🟩🟩🟩🟩🟩\n";
    assert_passes("a game", &game.repeat(100));
    let fluent =
        "Hello \u{2068}Alice\u{2069}, \u{2068}3\u{2069} of \u{2068}10\u{2069} files are new.\n";
    assert_passes("inserted values", &fluent.repeat(100));
    let chat = "\u{200e}[18/11/2026, 10:24] \u{2068}Ana\u{2069}: \u{200e}image omitted\n";
    assert_passes("an exported chat", &chat.repeat(100));
    let columns = "U0634 // \u{200e}ش\u{200e}   \u{200e}ۆ\u{200e}   \u{200e}ض\u{200e}\n";
    assert_passes("columns of letters", &columns.repeat(100));
}
