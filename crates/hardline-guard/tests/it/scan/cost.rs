//! Twice the text costs at most three times the work, whatever the text.
//!
//! Work is the least time of many runs; a measurement that fails is made again, since other tests
//! run beside this one. Two doublings are measured at once: where many hits outgrow what the
//! allocator keeps, one of them shows that.

use std::time::{Duration, Instant};

use hardline_guard::scan::{Scanner, Settings};

const SMALL: usize = 12_000;
/// For two doublings.
const MOST: f64 = 9.0;
/// Times below this are noise.
const LEAST: Duration = Duration::from_micros(200);
const ATTEMPTS: usize = 40;

/// What hostile texts are made of, repeated.
const UNITS: &[&str] = &[
    "\n",
    "\r",
    " ",
    "{",
    "[",
    "{\"",
    "{\"a\":",
    "[{\"jsonrpc\":",
    "{\"jsonrpc\":\"2.0\",",
    "jsonrpc",
    "jsonrpc\n",
    "{\"jsonrpc\r",
    "{\u{2028}\"jsonrpc\0{\u{85}",
    "\"jsonrpc\\\"",
    "\\u",
    "\\u005c",
    "\\u007b",
    "\\\\",
    "\\\"jsonrpc",
    "&#",
    "&#38;",
    "&amp;",
    "&#123;&quot;jsonrpc",
    "%",
    "%25",
    "%2525",
    "%7B%22jsonrpc",
    "\\u0026%26&#37;\\\\jsonrpc{\"",
    "\\u0026%26&#37;\\\\jsonrpc{\" text\n",
    "a",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
    "ZXlKcWMyOXVjbkJqSWpvaU1pNHdJaXdpYldWMGFHOWsi\n",
    "{/*jsonrpc",
    "{//jsonrpc",
    "{'jsonrpc",
    "content-length: ",
    "h:",
    "\u{200b}",
    "a\u{200b}",
    "\u{e0061}",
    "\u{202e}",
    "א\u{2067}a\u{2069}",
    "א\u{2067}",
    "a\u{fe0f}",
    "\0",
    "\x1b[0m",
    "\u{ad}a",
    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\r",
    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\n",
    "x {\"jsonrpc\":\"2.0\",\"method\":\"ping\"} ",
    "{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"ping\\\"}\n",
    "👩\u{200d}🚀",
];

#[expect(clippy::disallowed_methods, reason = "a test may ask the time")]
fn least_time(scanner: &mut Scanner, text: &str) -> Duration {
    let once = |_| {
        let start = Instant::now();
        std::hint::black_box(scanner.scan(std::hint::black_box(text)));
        start.elapsed()
    };
    (0..5).map(once).min().unwrap()
}

#[test]
fn doubling_a_hostile_text_at_most_triples_the_work() {
    let mut scanner = Scanner::new(Settings::default());
    for unit in UNITS {
        let small = unit.repeat(SMALL / unit.len());
        let large = small.repeat(4);
        let is_linear = (0..ATTEMPTS).any(|_| {
            let (one, two) = (least_time(&mut scanner, &small), least_time(&mut scanner, &large));
            two < LEAST || two.as_secs_f64() <= MOST * one.as_secs_f64()
        });
        assert!(is_linear, "{unit:?}");
    }
}
