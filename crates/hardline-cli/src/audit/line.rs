//! Formats a finding or an event as one line of text.

use hardline_proxy::audit::read::{EventRow, FindingRow};

/// Returns the description, path, excerpt and count of a finding.
pub(super) fn what(finding: &FindingRow) -> String {
    let mut what = on_one_line(&finding.detail);
    if let Some(path) = &finding.path {
        what = format!("{what} at {path}");
    }
    if !finding.excerpt.is_empty() {
        what = format!("{what}: {}", finding.excerpt);
    }
    if finding.count > 1 { format!("{what} ({} more like it)", finding.count - 1) } else { what }
}

/// Returns the text of an event; for a launch, the command line and its hash.
pub(super) fn happened(event: &EventRow) -> String {
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

/// Joins the lines of a text: "tool look differs from its pin: description: …; annotations: …".
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
