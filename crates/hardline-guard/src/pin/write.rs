//! Writes lock files.

use hardline_wire::excerpt::Excerpt;

use super::canonical::Json;
use super::definition::Definition;
use super::instructions::Instructions;
use super::lock::{Lock, ServerPins};

/// Levels of a definition that are written with one member per line.
///
/// Reaches the properties of a schema. Deeper values stand on one line, so that indentation cannot
/// make the file many times longer than its content.
pub(super) const INDENTED_LEVELS: usize = 6;

/// Returns the text of the file.
pub(super) fn write(lock: &Lock) -> String {
    let mut text = format!("{{\n  \"version\": {},\n  \"servers\": {{", Lock::VERSION);
    let mut is_first_server = true;
    for (server, pins) in lock.all() {
        text.push_str(if is_first_server { "\n    " } else { ",\n    " });
        is_first_server = false;
        write_string(server, &mut text);
        text.push_str(": {");
        write_server(pins, &mut text);
        text.push_str("\n    }");
    }
    text.push_str(if is_first_server { "}\n}\n" } else { "\n  }\n}\n" });
    text
}

fn write_server(pins: &ServerPins, text: &mut String) {
    if let Some(Instructions { definition }) = &pins.instructions {
        text.push_str("\n      \"instructions\": {");
        write_definition(text, definition, 8);
        text.push_str("\n      }");
    }
    let Some(tools) = pins.tools() else { return };
    let comma = if pins.instructions.is_some() { "," } else { "" };
    text.push_str(comma);
    text.push_str("\n      \"tools\": {");
    let mut is_first = true;
    for tool in tools {
        text.push_str(if is_first { "\n        " } else { ",\n        " });
        is_first = false;
        write_tool(text, tool);
    }
    text.push_str(if is_first { "}" } else { "\n      }" });
}

/// Writes one tool, its name first.
pub(super) fn write_tool(text: &mut String, tool: &Definition) {
    write_string(tool.name(), text);
    text.push_str(": {");
    write_definition(text, tool, 10);
    text.push_str("\n        }");
}

/// Writes the members of a pin, each on a line of its own.
fn write_definition(text: &mut String, definition: &Definition, indent: usize) {
    let line = format!("\n{}", " ".repeat(indent));
    let key = if definition.is_outline() { "outline" } else { "definition" };
    text.push_str(&format!("{line}\"sha256\": \"{}\",", definition.fingerprint()));
    text.push_str(&format!("{line}\"{key}\": "));
    write_json(&definition.json(), indent, INDENTED_LEVELS, text);
}

/// Writes a value with one member or element per line on the outer `levels`.
pub(super) fn write_json(json: &Json, indent: usize, levels: usize, text: &mut String) {
    let (open, close, len) = match json {
        Json::Word(word) => return text.push_str(word),
        Json::String(string) => return write_string(string, text),
        Json::Array(elements) => ('[', ']', elements.len()),
        Json::Object(members) => ('{', '}', members.len()),
    };
    // Below the indented levels, everything stays on one line.
    let newline = |indent: usize, text: &mut String| {
        if levels > 0 {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent));
        }
    };
    let next = |index: usize, text: &mut String| {
        match (index, levels) {
            (0, _) => {}
            (_, 0) => text.push_str(", "),
            _ => text.push(','),
        }
        newline(indent + 2, text);
    };
    text.push(open);
    match json {
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                next(index, text);
                write_json(element, indent + 2, levels.saturating_sub(1), text);
            }
        }
        Json::Object(members) => {
            for (index, (key, value)) in members.iter().enumerate() {
                next(index, text);
                write_string(key, text);
                text.push_str(": ");
                write_json(value, indent + 2, levels.saturating_sub(1), text);
            }
        }
        Json::Word(_) | Json::String(_) => {}
    }
    if len > 0 {
        newline(indent, text);
    }
    text.push(close);
}

/// Writes a string with escapes for all invisible characters.
pub(super) fn write_string(string: &str, text: &mut String) {
    // JSON escapes come first; only characters outside of them can be invisible.
    let plain = Json::String(string.to_owned()).to_text();
    for char in plain.chars() {
        if is_seen(char) {
            text.push(char);
        } else {
            // JSON escapes characters beyond U+FFFF as a surrogate pair.
            for unit in char.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
}

/// Returns true if a character is visible, by the same rule as in all other output.
fn is_seen(char: char) -> bool {
    if char.is_ascii() {
        return !char.is_ascii_control();
    }
    let mut buffer = [0; 4];
    let encoded = &*char.encode_utf8(&mut buffer);
    Excerpt::new(encoded.as_bytes(), encoded.len()).to_string() == encoded
}
