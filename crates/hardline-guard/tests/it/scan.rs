//! The content scanner and the sanitizer of texts.
#![expect(clippy::string_slice, reason = "a test may panic")]

mod benign;
mod character;
mod cost;
mod encode;
mod hidden;
mod hostile;
mod property;

use hardline_guard::Severity;
use hardline_guard::scan::{Hit, ScanSettings, Scanner};

fn scan(text: &str) -> Vec<Hit> {
    Scanner::new(ScanSettings::default()).scan(text).hits
}

/// Returns the hits as `severity rule "excerpt"`.
fn show(text: &str) -> Vec<String> {
    let hits = scan(text);
    hits.iter()
        .map(|it| format!("{} {} {:?}", it.severity, it.rule, &text[it.range.clone()]))
        .collect()
}

fn worst(text: &str) -> Option<Severity> {
    scan(text).iter().map(|it| it.severity).max()
}
