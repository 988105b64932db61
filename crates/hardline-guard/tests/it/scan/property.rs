//! Properties of any text.

use hardline_guard::Severity;
use hardline_guard::sanitize;
use hardline_guard::scan::{Hit, ScanSettings, Scanner};
use hardline_testkit::generate::{self, Rng};

use super::encode;

const PARTS: &[&str] = &[
    "\n",
    "\r",
    "\u{2028}",
    "\u{85}",
    "\0",
    "\x0b",
    " ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\\"",
    "\\n",
    "\\u007b",
    "\\u0022",
    "jsonrpc",
    "\"jsonrpc\":\"2.0\"",
    ",",
    ":",
    "\"id\":1",
    "\"method\":",
    "\"tools/call\"",
    "\"result\":{}",
    "&quot;",
    "&#123;",
    "&#10;",
    "&amp;",
    "%7B",
    "%22",
    "%25",
    "%0A",
    "+",
    "text",
    "é",
    "א",
    "😀",
    "\u{200b}",
    "\u{200d}",
    "\u{fe0f}",
    "\u{202e}",
    "\u{2067}",
    "\u{2069}",
    "\u{e0061}",
    "\u{ad}",
    "\u{feff}",
    "\x1b[0m",
    "\x7f",
    "Content-Length: 5",
    "ZXlKcWMyOXVjbkJqSWpv",
    "QUJDREVGR0hJSktMTU5PUFFS",
    "/*",
    "*/",
    "//",
    "'",
    "NaN",
];

fn text(rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..rng.below(12) {
        let part = match rng.below(10) {
            0 => generate::message(rng),
            1 => encode::json_string(&generate::message(rng)),
            2 => encode::percent(&generate::message(rng)),
            3 => encode::base64(&generate::message(rng)),
            4 => encode::hexadecimal(&generate::message(rng)),
            _ => rng.pick(PARTS).to_owned(),
        };
        text.push_str(&part);
    }
    if rng.one_in(3) {
        text = match rng.below(5) {
            0 => encode::json_string(&text),
            1 => encode::unicode(&text),
            2 => encode::named(&text),
            3 => encode::percent(&text),
            _ => encode::base64(&text),
        };
    }
    let mut bytes = text.into_bytes();
    if rng.one_in(4) {
        generate::mutate(rng, &mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn hits_are_in_order_and_on_characters() {
    let mut rng = Rng::new(1);
    let mut scanner = Scanner::new(ScanSettings::default());
    for _ in 0..20_000 {
        let text = text(&mut rng);
        let scan = scanner.scan(&text);
        assert_eq!(scan.scanned, text.len());
        assert!(scan.hits.is_sorted_by_key(|it| it.range.start), "{text:?}");
        for hit in &scan.hits {
            assert!(
                text.get(hit.range.clone()).is_some_and(|it| !it.is_empty()),
                "{hit:?} {text:?}"
            );
        }
        // The scanner carries no state from one text to the next.
        assert_eq!(Scanner::new(ScanSettings::default()).scan(&text), scan, "{text:?}");
    }
}

#[test]
fn cleaning_leaves_nothing_and_changes_nothing_twice() {
    let mut rng = Rng::new(2);
    let mut scanner = Scanner::new(ScanSettings::default());
    for least in [Severity::Medium, Severity::High, Severity::Low] {
        let is_wanted = |it: &Hit| it.severity >= least;
        for _ in 0..8_000 {
            let text = text(&mut rng);
            let cleaned = sanitize::clean(&mut scanner, &text, is_wanted);
            let cleaned = cleaned.unwrap_or_else(|| panic!("{text:?}"));
            let left = scanner.scan(&cleaned.text).hits;
            assert!(!left.iter().any(is_wanted), "{text:?} {left:?}");
            if cleaned.edits == 0 {
                assert_eq!(cleaned.text, text);
            }
        }
    }
}

#[test]
fn edits_leave_the_rest_as_it_was() {
    let mut rng = Rng::new(3);
    let mut scanner = Scanner::new(ScanSettings::default());
    for _ in 0..8_000 {
        let text = text(&mut rng);
        let hits = scanner.scan(&text).hits;
        let edits = sanitize::edits(&text, &hits);
        assert!(edits.is_sorted_by_key(|it| (it.range.start, it.range.end)));
        let mut rest = sanitize::apply(&text, &edits);
        // Undone from the last to the first, the edits restore the text.
        let mut shift: isize = 0;
        let mut places = Vec::new();
        for edit in &edits {
            let start = edit.range.start.checked_add_signed(shift).unwrap();
            places.push(start..start + edit.replacement.len());
            let grown = edit.replacement.len().checked_signed_diff(edit.range.len()).unwrap();
            shift += grown;
        }
        for (edit, place) in edits.iter().zip(places).rev() {
            assert_eq!(&rest[place.clone()], edit.replacement);
            rest.replace_range(place, &text[edit.range.clone()]);
        }
        assert_eq!(rest, text);
    }
}

#[test]
fn looks_at_no_more_than_it_is_told() {
    let mut settings = ScanSettings::default();
    settings.max_bytes = 11;
    let scan = Scanner::new(settings).scan("plain textéé\0");
    assert_eq!((scan.scanned, scan.hits), (10, vec![]));
}
