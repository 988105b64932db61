//! `hardline demo`, as a new user runs it.

use std::time::{Duration, Instant};

use super::hardline;

#[test]
fn everything_is_stopped_and_shown_in_eighty_columns() {
    let start = Instant::now();
    let output = hardline(&["demo"], b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches("    plain     ✗").count(), 13, "{text}");
    assert_eq!(text.matches("    hardline  ✓").count(), 13, "{text}");
    assert!(text.contains("all 12 attacks stopped"), "{text}");
    // A server that an earlier attack made suspect would have its reports dropped.
    assert!(!text.contains(" 0 reports"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
    // A pipe gets no colors, and no escape sequence of an attack.
    assert!(text.chars().all(|char| char == '\n' || !char.is_control()), "{text:?}");
    assert!(!text.contains('\u{e0020}'));
    assert_eq!(untimed(&text), untimed(&picture()), "draw it again: cargo xtask picture");
    // It takes a few seconds; the margin is for busy machines.
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
}

#[test]
fn colors_can_be_asked_for() {
    let output = hardline(&["demo", "--color", "always"], b"");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("\u{1b}[1m"));
}

/// Returns the text of the picture in the README.
fn picture() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/demo.svg");
    let svg = std::fs::read_to_string(path).unwrap();
    let lines = svg.lines().filter(|line| line.starts_with("<text")).map(|line| {
        let parts = line.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        let text: String = parts.collect();
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") + "\n"
    });
    lines.collect()
}

/// Removes digits, because some figures depend on timing.
fn untimed(text: &str) -> Vec<String> {
    text.lines().map(|line| line.replace(|char: char| char.is_ascii_digit(), "")).collect()
}
