//! Scans a text, in windows.
//!
//! A file with a UTF-16 byte order mark is scanned twice, because not every reader respects the
//! mark: as UTF-16, and as raw bytes for messages.

use hardline_guard::Rule;
use hardline_guard::scan::{Hit, Scanner};

use super::encoding::Encoding;
use super::position::{Position, Ruler};
use super::report::Report;
use super::source::Source;
use super::window::{Sizes, Window, Windows};
use super::{Stop, document, read_on};

/// Scans a source. `may_be_json` if it begins like a JSON document.
pub(super) fn scan(
    scanner: &mut Scanner,
    source: &mut Source,
    may_be_json: bool,
    report: &mut Report<'_>,
) -> Result<(), Stop> {
    let mut decoded = Reading::new(source.encoding(), may_be_json);
    let is_decoded = source.encoding() != Encoding::Utf8;
    let mut raw = is_decoded.then(|| Reading::new(Encoding::Utf8, false));
    loop {
        read_on(source, report)?;
        decoded.read(source.text(), scanner, report, |_| true)?;
        if let Some(raw) = &mut raw {
            raw.read(source.raw(), scanner, report, is_message)?;
        }
        if source.text().is_empty() {
            break;
        }
    }
    // The raw reading covers the same bytes, so it is not counted.
    report.totals.bytes += decoded.place.offset;
    report.totals.cut_lines += decoded.windows.cut_lines;
    report.totals.not_text += decoded.windows.replaced + source.replaced();
    Ok(())
}

/// Returns true for rules about messages, not about characters.
fn is_message(rule: Rule) -> bool {
    matches!(rule, Rule::ContentFrame | Rule::ContentEncodedFrame | Rule::ContentJsonrpc)
}

/// One interpretation of a file.
struct Reading {
    windows: Windows,
    encoding: Encoding,
    may_be_json: bool,
    /// Position up to which the text was scanned.
    place: Position,
}

impl Reading {
    fn new(encoding: Encoding, may_be_json: bool) -> Self {
        let windows = Windows::new(Sizes::default());
        Self { windows, encoding, may_be_json, place: Position::START }
    }

    /// Scans a chunk, or the rest if the chunk is empty, and reports findings of wanted rules.
    fn read(
        &mut self,
        chunk: &[u8],
        scanner: &mut Scanner,
        report: &mut Report<'_>,
        is_wanted: fn(Rule) -> bool,
    ) -> Result<(), Stop> {
        let Self { windows, encoding, may_be_json, place } = self;
        if chunk.is_empty() {
            windows.end();
        } else {
            windows.push(chunk);
        }
        while let Some(window) = windows.next() {
            let text = window.text.as_bytes();
            let own = text.get(window.owned.clone()).unwrap_or_default();
            let mut ruler = Ruler::new(own, *place, *encoding);
            let hits = judge(scanner, &window, *may_be_json);
            for hit in hits.iter().filter(|hit| is_wanted(hit.rule)) {
                let found = text.get(hit.range.clone()).unwrap_or_default();
                let start = ruler.place(hit.range.start - window.owned.start);
                let length = encoding.measure(found);
                report.add_hit(hit, window.text, start, length).map_err(Stop::Output)?;
            }
            *place = ruler.place(own.len());
        }
        Ok(())
    }
}

/// Returns the findings in the window's owned part, in order.
fn judge(scanner: &mut Scanner, window: &Window<'_>, may_be_json: bool) -> Vec<Hit> {
    let is_own = |hit: &Hit| window.owned.contains(&hit.range.start);
    let mut hits = scanner.scan(window.text).hits;
    hits.retain(is_own);
    // A window of a document is not JSON, so its strings are scanned separately.
    if may_be_json && !window.is_whole {
        let mut inside = scanner.scan(&document::only_strings(window.text)).hits;
        let place = |hit: &Hit| (hit.range.start, hit.rule);
        inside.retain(|hit| {
            let is_new = hits.binary_search_by_key(&place(hit), place).is_err();
            is_own(hit) && !hit.encodings.is_empty() && is_new
        });
        hits.append(&mut inside);
        hits.sort_by_key(place);
    }
    hits
}

#[cfg(test)]
mod tests {
    use hardline_guard::scan::ScanSettings;

    use super::*;

    const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#;
    const SIZES: Sizes = Sizes { owned: 2048, line: 8192, around: 512 };

    type Found = (Rule, usize, usize);

    fn in_windows(text: &[u8], chunk: usize, may_be_json: bool) -> Vec<Found> {
        let mut scanner = Scanner::new(ScanSettings::default());
        let mut windows = Windows::new(SIZES);
        let (mut found, mut start) = (Vec::new(), 0);
        let mut take = |windows: &mut Windows| {
            while let Some(window) = windows.next() {
                let before = start - window.owned.start;
                for hit in judge(&mut scanner, &window, may_be_json) {
                    found.push((hit.rule, before + hit.range.start, hit.range.len()));
                }
                start += window.owned.len();
            }
        };
        for chunk in text.chunks(chunk) {
            windows.push(chunk);
            take(&mut windows);
        }
        windows.end();
        take(&mut windows);
        found
    }

    fn at_once(text: &str) -> Vec<Found> {
        let scan = Scanner::new(ScanSettings::default()).scan(text);
        scan.hits.iter().map(|hit| (hit.rule, hit.range.start, hit.range.len())).collect()
    }

    fn plant(text: &str, at: usize, planted: &str) -> String {
        let (before, after) = text.split_at(at);
        format!("{before}{planted}{after}")
    }

    #[track_caller]
    fn check(text: &str, chunk: usize) {
        assert_eq!(in_windows(text.as_bytes(), chunk, false), at_once(text), "{text:?}");
    }

    /// Plants every kind of finding at every distance from a window's end.
    #[test]
    fn finds_everything_wherever_windows_end() {
        let base64 =
            "eyJqc29ucnBjIjoiMi4wIiwiaWQiOjcsIm1ldGhvZCI6InRvb2xzL2NhbGwiLCJwYXJhbXMiOnt9fQ==";
        let (wrapped_1, wrapped_2) = base64.split_at(40);
        let hostile = [
            format!("\n{MESSAGE}\n"),
            format!(" inside {MESSAGE} a sentence "),
            MESSAGE.replace(':', ":\n  ").replace(',', ",\n  "),
            format!("\n{}\n", MESSAGE.replace('"', "&quot;")),
            format!("\n{wrapped_1}\n{wrapped_2}\n"),
            "\nContent-Length: 42\n".to_owned(),
            "a\u{202e}b".to_owned(),
            "\x1b[31m\0\0".to_owned(),
            "\u{200b}a\u{200c}a".repeat(12),
            "\u{e0041}\u{e0042}".to_owned(),
            "a\u{2028}b\r".to_owned(),
        ];
        let filler = "Some words é and more of them.\n".repeat(200);
        for planted in hostile {
            // Windows end near 2048 and 4096; this covers every offset around the first.
            for at in (1400..2700).filter(|at| filler.is_char_boundary(*at)) {
                let text = plant(&filler, at, &planted);
                check(&text, 700);
                assert!(!at_once(&text).is_empty());
            }
        }
    }

    /// Compares windows with a whole scan, for random texts in chunks of any size.
    #[test]
    fn windows_find_what_is_found_at_once() {
        let pieces = [
            "words and words ",
            "\n",
            "\n",
            "{",
            "}",
            "\"",
            "\\u006a",
            MESSAGE,
            "jsonrpc",
            "\u{200b}",
            "\u{200d}",
            "\u{202a}",
            "\x1b[0m",
            "é",
            "日本",
            "&quot;",
            "%7b",
            "\r\n",
            "Content-Length: 7",
            "\u{2028}",
            "abcdefghijklmnopqrstuvwxyz0123456789",
            ",",
            ": ",
        ];
        let mut state = 11_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            usize::try_from(state >> 33).unwrap() % below
        };
        for case in 0..400 {
            let mut text = String::new();
            for _ in 0..next(1500) {
                let piece = pieces[next(pieces.len())];
                // Hidden characters are counted over more text than these windows show, so keep
                // them rare.
                let is_hidden = matches!(piece, "\u{200b}" | "\u{200d}" | "\u{202a}" | "\u{2028}");
                if !is_hidden || next(20) == 0 {
                    text.push_str(piece);
                }
            }
            let (actual, expected) =
                (in_windows(text.as_bytes(), 1 + next(3000), false), at_once(&text));
            assert_eq!(actual, expected, "case {case}: {text:?}");
        }
    }

    #[test]
    fn the_strings_of_a_long_document_are_opened() {
        let line = "  {\"role\": \"tool\", \"content\": \"nothing to see here\"},\n";
        let string = serde_json::to_string(MESSAGE).unwrap();
        let planted = format!("  {{\"role\": \"tool\", \"content\": {string}}},\n");
        // Some of these offsets are visible in two windows.
        for before in 0..100 {
            let (before, after) = (line.repeat(before), line.repeat(200 - before));
            let text = format!("[\n{before}{planted}{after}  {{}}\n]\n");
            let expected = at_once(&text);
            assert_eq!(expected.len(), 1);
            assert_eq!(in_windows(text.as_bytes(), 700, true), expected);
            assert_eq!(in_windows(text.as_bytes(), 700, false), []);
        }
    }

    #[test]
    fn a_line_that_is_cut_is_judged_in_pieces() {
        let words = "words and words ".repeat(2000);
        for at in (9000..9600).chain(11_000..11_600) {
            let text = plant(&words, at, MESSAGE);
            let expected = [(Rule::ContentJsonrpc, at, MESSAGE.len())];
            assert_eq!(in_windows(text.as_bytes(), 700, false), expected, "at {at}");
        }
    }
}
