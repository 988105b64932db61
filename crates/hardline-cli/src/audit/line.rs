//! A finding or an event on one line, in words.

use hardline_proxy::audit::read::{Event, Finding};

/// What was found, where, and how often.
pub(super) fn what(finding: &Finding) -> String {
    let mut what = on_one_line(&finding.detail);
    if let Some(path) = &finding.path {
        what = format!("{what} at {path}");
    }
    if !finding.excerpt.is_empty() {
        what = format!("{what}: {}", finding.excerpt);
    }
    if 1 < finding.count {
        format!("{what} (and {} more like it)", finding.count - 1)
    } else {
        what
    }
}

/// What happened.
pub(super) fn happened(event: &Event) -> String {
    if event.kind != "launch" {
        return on_one_line(&event.text);
    }
    let words: Vec<String> = serde_json::from_str(&event.text).unwrap_or_default();
    let command = words.join(" ");
    match &event.sha256 {
        Some(hash) => format!("{command} (sha256 {})", hash.get(..12).unwrap_or(hash)),
        None => command,
    }
}

/// A text of several lines on one: "tool look is not what was pinned: description: …; annotations: …".
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for part in text.lines().map(str::trim).filter(|part| !part.is_empty()) {
        if !line.is_empty() {
            line.push_str(if line.ends_with(':') { " " } else { "; " });
        }
        line.push_str(part);
    }
    line
}
