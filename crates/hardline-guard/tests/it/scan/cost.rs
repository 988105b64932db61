//! Twice the text costs at most three times the work, for any text: to scan it, and to clean it.

use std::hint::black_box;

use hardline_guard::sanitize;
use hardline_guard::scan::{MAX_DECODE_DEPTH, ScanSettings, Scanner};
use hardline_testkit::work::{Case, Otherwise, assert_linear};

use super::encode;

const SMALL: usize = 4_000;

const MESSAGE: &str = r#"{"jsonrpc":"2.0","error":{}}"#;

/// Planted texts, and near-misses of them.
const MESSAGES: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    r#"[{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","id":1,"error":{}}]"#,
    r#"x {"jsonrpc":"2.0","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","method":"ping",}"#,
    r#"{"jsonrpc":"2.0","method":"ping""#,
    r#"{"jsonrpc":"2.0"}"#,
    r#"{"jsonrpc":"1.0","id":1,"method":"eth_call"}"#,
    r#"{"jsonrpd":"2.0","method":"ping"}"#,
    r#"{'jsonrpc':'2.0',method:'ping'}"#,
    r#"{"jsonrpc":"2.0","#,
    r#"[{"jsonrpc":"#,
    r#"{"jsonrpc":"#,
    r#""jsonrpc"#,
    "jsonrpc",
    "jsonrp",
    "{//jsonrpc",
    "{/*jsonrpc",
    "{/**/\"jsonrpc\"",
];

/// Line ends of some reader, and characters that are none.
const ENDS: &[&str] =
    &["", "\n", "\r", "\r\n", "\u{85}", "\u{2028}", "\x0b", "\x0c", "\0", "\x1d", " ", ","];

/// Brackets, quotes, escapes, names, headers and characters, with near-misses.
const PIECES: &[&str] = &[
    "{",
    "[",
    "}",
    "{\"",
    "{\"a\":",
    "[{",
    "{}",
    "[]",
    "[],",
    "\"",
    "\"\\\"",
    "'",
    "{'",
    "a:",
    "1,",
    "j",
    "js",
    "json",
    "jsonrpcj",
    "J\u{17f}onrpc",
    "{\"jsonrpc\r",
    "\"jsonrpc\\\"",
    "{\u{2028}\"jsonrpc\0{\u{85}",
    "\\",
    "\\\\",
    "\\/",
    "\\n",
    "\\x",
    "\\u",
    "\\u0",
    "\\u{",
    "\\U",
    "\\u005c",
    "\\u007b",
    "\\ud800",
    "\\\"jsonrpc",
    "&",
    "&#",
    "&#x",
    "&a;",
    "&amp",
    "&abcdefgh",
    "&#38;",
    "&amp;",
    "&#123;&quot;jsonrpc",
    "%",
    "%2",
    "%u",
    "%25",
    "%2525",
    "+%",
    "%7B%22jsonrpc",
    "\\u0026%26&#37;\\\\jsonrpc{\"",
    "\\u0026%26&#37;\\\\jsonrpc{\" text\n",
    "a",
    "abcdefghijklmno ",
    "abcdefghijklmnop ",
    "abcdefghijklmnop\n",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
    "=",
    "-_",
    "ZXlKcWMyOXVjbkJqSWpvaU1pNHdJaXdpYldWMGFHOWsi\n",
    "h:",
    "content-length:",
    "content-length: ",
    "Content-Length: 5\n",
    "Content-Length: 5x\n",
    "content-length:\t\n",
    "\u{200b}",
    "a\u{200b}",
    "a\u{200b}b\u{200c}",
    "\u{200b}\u{200c} ",
    "\u{e0061}",
    "a\u{e0061}",
    "\u{202e}",
    "a\u{202e}",
    "\u{2067}",
    "א\u{2067}a\u{2069}",
    "א\u{2067}",
    "א\u{2067}\n",
    "\u{fe0f}",
    "a\u{fe0f}",
    "1\u{fe0f}",
    "\u{e0100}",
    "字\u{e0100}",
    "🏴\u{e0067}\u{e0062}\u{e007f}",
    "👩\u{200d}🚀",
    "\u{ad}",
    "a\u{ad}",
    "ab\u{ad}",
    "字\u{e0101}本\u{e0102}",
    "字\u{e0150}",
    "字",
    "א\u{200f}",
    "א\u{202b}a\n",
    "\u{202a}\u{202c}",
    "\u{2068}a\u{2069}",
    "\u{2066}",
    "\u{2069}",
    "\u{2000}\u{2003}",
    "\u{2800}",
    "\u{2028}\u{2029}",
    "\u{fdd0}\u{fdd7}",
    "\u{e061}",
    "\u{e061} ",
    "\u{f0e7}\u{e0a0}",
    "f\u{2061}(",
    "ب\u{200c}",
    "ب\u{64e}\u{64e}\u{64e}\u{64e}\u{200c}",
    "क\u{94d}\u{200d}",
    "\u{61c}",
    "ᠠ\u{180b}",
    "\u{115f}",
    "\u{3164}",
    "\u{feff}",
    "a\u{feff}",
    "\u{180e}",
    "\x01",
    "\x01a",
    "\x7f",
    "\x1b",
    "\x1b[0m",
    "\u{9b}0m",
    "\u{2028}a",
    "\u{85}a",
    "\x0ba",
    "é",
    "日",
    "😀",
    "—",
    "©",
    "\t",
];

type Encode = fn(&str) -> String;

/// The encodings that are decoded.
const ENCODINGS: &[(&str, Encode)] = &[
    ("a JSON string", encode::json_string),
    ("\\u", encode::unicode),
    ("entities", encode::decimal),
    ("percents", encode::percent_all),
    ("base64", encode::base64),
    ("base64url", encode::base64url),
    ("wrapped base64", |text| encode::wrapped(&encode::base64(text), 20, "\r\n")),
];

/// The same with fewer escapes: names of entities, signs alone.
const SPARSE: &[(&str, Encode)] = &[
    ("escaped signs", encode::unicode_signs),
    ("\\x", encode::hex),
    ("named entities", encode::named_all),
    ("hexadecimal entities", encode::hexadecimal),
    ("percents of signs", encode::percent),
    ("a form", encode::form),
];

/// Escapes at the start of an otherwise plain line, so that the whole line is decoded in many ways.
const PREFIXES: &[&str] = &[
    "\\u0026amp;%26amp;&#37;25\\\\u0041&#92;n%5Cn ",
    "{\"a\":\"\\u0026amp;%26amp;&#37;25\\\\u0041&#92;n%5Cn\"} ",
    "\\u007b&#123;%7B\"a\":",
];

/// Units that are repeated behind them.
const BODIES: &[&str] = &[
    "\0{\"jsonrpc\":\"2.0\"}",
    "{\u{2028}\"jsonrpc\0{\u{85}",
    "j",
    "js",
    "[",
    "{},",
    "\\",
    "&",
    "%",
    "\r",
    "\"a\",",
    "eyJqc29ucnBjIjoiMi4wIiwibWV0aG9kIjoicGluZyJ9\\x22",
    "QUJDREVGR0hJSktM",
    " ",
];

type Text = (String, Box<dyn Fn(usize) -> String>);

/// Repeats a unit.
fn repeated(name: String, unit: String) -> Text {
    (name, Box::new(move |len| unit.repeat(len.div_ceil(unit.len()))))
}

fn texts() -> Vec<Text> {
    let mut texts = Vec::new();
    for piece in PIECES {
        texts.push(repeated(format!("{piece:?}"), (*piece).to_owned()));
    }
    for message in MESSAGES {
        for end in ENDS {
            let unit = format!("{message}{end}");
            texts.push(repeated(format!("{unit:?}"), unit));
        }
    }
    for (name, encode) in ENCODINGS.iter().chain(SPARSE) {
        for inner in [MESSAGE, "jsonrpc", "\n", "{\"jsonrpc\":"] {
            let unit = encode(inner);
            texts.push(repeated(format!("{inner:?} in {name}"), unit.clone()));
            texts.push(repeated(format!("{inner:?} in {name}, lines"), unit + "\n"));
            // All of them in one text.
            let make = move |len: usize| encode(&inner.repeat(len.div_ceil(encode(inner).len())));
            texts.push((format!("many {inner:?} in {name}"), Box::new(make)));
        }
    }
    for prefix in PREFIXES {
        for body in BODIES {
            let make =
                move |len: usize| format!("{prefix}{}", body.repeat(len.div_ceil(body.len())));
            texts.push((format!("{prefix:?} and {body:?}"), Box::new(make)));
        }
    }
    texts
}

/// Nested encodings, in every combination.
fn nested() -> Vec<Text> {
    let mut level: Vec<(String, String)> = vec![("a message".to_owned(), MESSAGE.to_owned())];
    let mut texts = Vec::new();
    for _ in 0..MAX_DECODE_DEPTH {
        let inside = |(inner, text): &(String, String)| -> Vec<(String, String)> {
            let encoded =
                ENCODINGS.iter().map(|(name, encode)| (format!("{inner} in {name}"), encode(text)));
            encoded.collect()
        };
        level = level.iter().flat_map(inside).collect();
        texts.extend(level.iter().map(|(name, text)| repeated(name.clone(), format!("{text}\n"))));
    }
    texts
}

fn scan(text: &[u8]) {
    let mut scanner = Scanner::new(ScanSettings::default());
    black_box(scanner.scan(str::from_utf8(text).unwrap()));
}

fn scan_deep(text: &[u8]) {
    let mut settings = ScanSettings::default();
    settings.max_decode_depth = MAX_DECODE_DEPTH;
    black_box(Scanner::new(settings).scan(str::from_utf8(text).unwrap()));
}

fn clean(text: &[u8]) {
    let mut scanner = Scanner::new(ScanSettings::default());
    black_box(sanitize::clean(&mut scanner, str::from_utf8(text).unwrap(), |_| true));
}

fn cases(run: fn(&[u8]), texts: Vec<Text>) -> impl Iterator<Item = Case> {
    texts
        .into_iter()
        .map(move |(name, make)| Case::new(name, run, SMALL, |len| make(len).into_bytes()))
}

#[test]
fn doubling_a_hostile_text_at_most_triples_the_scan() {
    let test = "scan::cost::doubling_a_hostile_text_at_most_triples_the_scan";
    assert_linear(test, Otherwise::Nothing, || cases(scan, texts()));
}

#[test]
fn doubling_a_hostile_text_at_most_triples_the_cleaning() {
    let test = "scan::cost::doubling_a_hostile_text_at_most_triples_the_cleaning";
    assert_linear(test, Otherwise::Nothing, || cases(clean, texts()));
}

#[test]
fn doubling_nested_encodings_at_most_triples_the_scan() {
    let test = "scan::cost::doubling_nested_encodings_at_most_triples_the_scan";
    assert_linear(test, Otherwise::Nothing, || cases(scan_deep, nested()));
}
