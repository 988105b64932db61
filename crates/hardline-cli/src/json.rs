//! JSON output: meant for programs, but often shown on a terminal.
//!
//! Invariant: characters that end lines, control a terminal or reorder text are escaped. Every
//! command prints its JSON through this module. `layout` formats JSON of peers for people.

pub(crate) mod layout;

use std::borrow::Cow;
use std::io;

use serde::Serialize;

use crate::terminal::is_obeyed;

/// Writes a value on one line.
///
/// # Errors
///
/// The value cannot be written as JSON.
pub(crate) fn line(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string(value)?;
    // A raw value inside may contain line breaks.
    Ok(escaped(&text).replace('\n', " "))
}

/// Writes a value on many lines.
///
/// # Errors
///
/// The value cannot be written as JSON.
pub(crate) fn pretty(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(escaped(&text).into_owned())
}

/// Escapes all characters that control a terminal. The JSON keeps its meaning.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    if !json.chars().any(is_obeyed) {
        return Cow::Borrowed(json);
    }
    let mut result = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        match char {
            _ if !is_obeyed(char) => result.push(char),
            // Inside strings these are always escaped, so here they are white space between values.
            '\n' => result.push(char),
            '\t' | '\r' => result.push(' '),
            // All others occur only inside strings, and all are in the basic multilingual plane.
            _ => result.push_str(&format!("\\u{:04x}", u32::from(char))),
        }
    }
    Cow::Owned(result)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_written_raw() {
        let value = json!({"a": "\u{7f}\u{9b}\u{2028}\n\u{1b}é\u{202e}\u{85}"});
        let text = line(&value).unwrap();
        assert_eq!(text, "{\"a\":\"\\u007f\\u009b\\u2028\\n\\u001bé\\u202e\\u0085\"}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        let text = pretty(&value).unwrap();
        assert!(text.starts_with("{\n  \"a\": \"\\u007f"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn space_between_values_stays_space() {
        let raw = RawValue::from_string("{\t\"a\":\r\n1}".to_owned()).unwrap();
        assert_eq!(line(&raw).unwrap(), "{ \"a\":  1}");
    }
}
