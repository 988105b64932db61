//! Hidden text behind one encoding.

use hardline_guard::{Rule, Severity};

use super::super::scan;
use super::{PAGE, SECRET, assert_passes, tags};

#[test]
fn hidden_text_behind_an_encoding_is_reported() {
    let hidden = tags(SECRET);
    let escapes: String = hidden.encode_utf16().map(|it| format!("\\u{it:04x}")).collect();
    let references: String = hidden.chars().map(|it| format!("&#x{:x};", u32::from(it))).collect();
    let percents: String = hidden.bytes().map(|it| format!("%{it:02X}")).collect();
    let base64 = super::super::encode::base64(&format!("{PAGE}{hidden}"));
    for text in [
        format!("{{\"note\": \"Sunny.{escapes}\"}}"),
        format!("Sunny.{escapes} Fine."),
        format!("<p>Sunny.{references}</p>"),
        format!("https://example.org/?q={percents}"),
        base64,
    ] {
        let hits = scan(&text);
        let hit = hits.iter().find(|it| it.rule == Rule::ContentHidden).expect(&text);
        assert_eq!(hit.severity, Severity::Medium, "{text}");
        assert_eq!(hit.encodings.len(), 1, "{text}");
    }
}

/// Source code lists hidden characters in escapes.
#[test]
fn source_code_with_escapes_passes() {
    for code in [
        r"const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f]/g;",
        r"/\ud83c\udff4\udb40\udc67\udb40\udc62(?:\udb40\udc65\udb40\udc6e\udb40\udc67|\udb40\udc73)\udb40\udc7f/",
        r#"{"flag": "\ud83c\udff4\udb40\udc67\udb40\udc62\udb40\udc73\udb40\udc63\udb40\udc74\udb40\udc7f"}"#,
        r"const TAGS = /[\u{e0020}-\u{e007f}]/u, SELECTORS = /[\u{e0100}-\u{e01ef}]/u;",
        "<p>&#x1f3f4;&#xe0067;&#xe0062;&#xe0073;&#xe0063;&#xe0074;&#xe007f; in entities</p>",
    ] {
        assert_passes("source code", code);
    }
}
