//! Whole values for people: nothing is cut, long values get several lines.
//!
//! Values are JSON in the notation of lock files, so that invisible characters are escaped. Long
//! text is broken after its newlines, which stay visible as `\n`, and at spaces.
//!
//! Invariant: no line break comes from a peer, so every line can get a mark in front of it.

use super::canonical::Json;
use super::outline::words;
use super::write::{INDENTED_LEVELS, write_json, write_string};

/// Width of a line in characters. Only a single word can be longer.
const WIDTH: usize = 100;
/// Indentation of the second and later lines of a JSON member that is broken at spaces.
const HANG: usize = 4;
/// Members of a definition that are shown first, in this order.
const FIRST: [&str; 6] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// Returns a value on one line, or on several lines if it is long.
pub(super) fn value(json: &Json) -> String {
    if let Some(words) = words(json) {
        return words;
    }
    let mut line = String::new();
    write_json(json, 0, 0, &mut line);
    if line.chars().count() <= WIDTH {
        return line;
    }
    let mut lines = Vec::new();
    if let Json::String(string) = json {
        wrap_text(string, &mut lines);
    } else {
        let mut text = String::new();
        write_json(json, 0, INDENTED_LEVELS, &mut text);
        for line in text.split('\n') {
            let indent = line.len() - line.trim_start_matches(' ').len();
            wrap(line, indent + HANG, &mut lines);
        }
    }
    lines.join("\n")
}

/// Returns a definition, the members that people judge it by first.
pub(super) fn definition(json: &Json) -> String {
    let Json::Object(members) = json else { return value(json) };
    let place = |key: &str| FIRST.iter().position(|it| *it == key).unwrap_or(FIRST.len());
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by_key(|(key, _)| place(key));
    let mut lines = Vec::new();
    for (key, json) in sorted {
        let (key, value) = (member("", key), value(json));
        if value.contains('\n') {
            lines.push(format!("{key}:"));
            lines.extend(value.lines().map(|line| format!("  {line}")));
        } else {
            lines.push(format!("{key}: {value}"));
        }
    }
    lines.join("\n")
}

/// Returns the path of a member; a key with special characters is written in brackets.
pub(super) fn member(path: &str, key: &str) -> String {
    if !is_plain(key) {
        return format!("{path}[{}]", quoted(key));
    }
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns true if a key needs no quotes in a path.
pub(super) fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|char| char.is_ascii_alphanumeric() || "_-$".contains(char))
}

/// Breaks a string after its newlines and at spaces. The quotes stand on the first and the last
/// line.
fn wrap_text(string: &str, lines: &mut Vec<String>) {
    let first = lines.len();
    for piece in string.split_inclusive('\n') {
        let quoted = quoted(piece);
        let inner = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        wrap(inner.unwrap_or(&quoted), 0, lines);
    }
    if let Some(first) = lines.get_mut(first) {
        first.insert(0, '"');
    }
    if let Some(last) = lines.last_mut() {
        last.push('"');
    }
}

/// Breaks a line at white space. Later lines are indented by `hang`.
fn wrap(line: &str, hang: usize, lines: &mut Vec<String>) {
    let (mut current, mut width) = (String::new(), 0);
    // Any white space is a break, or a run of no-break spaces could place text on a terminal.
    for word in line.split_inclusive(char::is_whitespace) {
        let length = word.chars().count();
        if width > hang && width + length > WIDTH {
            lines.push(std::mem::replace(&mut current, " ".repeat(hang)));
            width = hang;
        }
        current.push_str(word);
        width += length;
    }
    lines.push(current);
}

fn quoted(string: &str) -> String {
    let mut text = String::new();
    write_string(string, &mut text);
    text
}
