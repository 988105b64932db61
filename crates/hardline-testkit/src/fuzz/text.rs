//! Texts: findings lie inside of them, and sanitized text is harmless for other readers too.

use std::cell::RefCell;

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::sanitize;
use hardline_guard::scan::{Hit, ScanSettings, Scanner};
use hardline_guard::{Action, Guard, Severity};

use crate::generate::Rng;
use crate::plant;

thread_local! {
    /// Created once, one for each profile: a guard keeps no state between texts.
    static GUARDS: RefCell<[Guard; 3]> =
        RefCell::new(Profile::ALL.map(|it| Guard::new(Policy::profile(it))));
}

/// Scans `data` as it is if it begins with a space, else a text that it chooses.
pub fn text(data: &[u8]) {
    match data.split_first() {
        Some((b' ', rest)) => check(&String::from_utf8_lossy(rest)),
        _ => check(&plant::text(&mut Rng::scripted(data))),
    }
}

fn check(text: &str) {
    let mut scanner = Scanner::new(ScanSettings::default());
    let scan = scanner.scan(text);
    assert_eq!(scan.scanned, text.len());
    assert!(scan.hits.is_sorted_by_key(|it| it.range.start));
    for hit in &scan.hits {
        // `get` also checks that the range lies on character boundaries.
        assert!(text.get(hit.range.clone()).is_some_and(|it| !it.is_empty()), "{hit:?}");
    }
    for least in [Severity::Low, Severity::Medium, Severity::High] {
        let is_wanted = |it: &Hit| it.severity >= least;
        let cleaned = sanitize::clean(&mut scanner, text, is_wanted);
        let Some(cleaned) = cleaned else { panic!("not clean at {least}: {text:?}") };
        let left = scanner.scan(&cleaned.text).hits;
        assert!(!left.iter().any(is_wanted), "{left:?} left in {:?}", cleaned.text);
        assert_eq!(cleaned.edits == 0, !scan.hits.iter().any(is_wanted));
        if cleaned.edits == 0 {
            assert_eq!(cleaned.text, text);
        }
        if least < Severity::High {
            assert_no_message(&cleaned.text);
        }
    }
    GUARDS.with_borrow_mut(|guards| {
        for guard in guards {
            let report = guard.scan_text(text);
            assert_eq!(report.findings.len(), scan.hits.len());
            assert_eq!(report.sanitized.is_some(), report.action == Action::Sanitize);
            if let Some(sanitized) = report.sanitized {
                let again = guard.scan_text(&sanitized);
                let is_clean = again.action < Action::Sanitize && again.sanitized.is_none();
                assert!(is_clean, "{again:?} after {:?}", report.findings);
            }
        }
    });
}

/// Checks that `serde_json` finds no message on any line, for every way to split and trim lines.
fn assert_no_message(text: &str) {
    const ENDS: [char; 8] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\x0b', '\x0c', '\0'];
    for line in text.split(ENDS).chain(text.split('\n')) {
        let line = line.trim_matches(|it: char| it.is_whitespace() || it == '\u{feff}');
        let Ok(value) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let elements = value.as_array().map_or(std::slice::from_ref(&value), |it| it);
        for element in elements {
            let has = |key| element.get(key).is_some();
            let is_message = element.get("jsonrpc").is_some_and(|it| it == "2.0")
                && (element.get("method").is_some_and(serde_json::Value::is_string)
                    || has("id") && (has("result") || has("error")));
            assert!(!is_message, "{line} is left of {text:?}");
        }
    }
}
