//! JSON output: meant for programs, but often shown on a terminal.
//!
//! Invariant: characters that end lines, control a terminal, reorder text or are invisible are escaped.
//! Every command prints its JSON through this module. `layout` formats JSON of peers for people.

pub(crate) mod layout;

use std::borrow::Cow;
use std::io;

use hardline_wire::excerpt::is_unsafe;
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

/// Escapes all characters that control a terminal or are invisible. The JSON keeps its meaning.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    let is_odd = |char: char| is_obeyed(char) || is_unsafe(char);
    if !json.chars().any(is_odd) {
        return Cow::Borrowed(json);
    }
    let mut result = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        match char {
            _ if !is_odd(char) => result.push(char),
            // Inside strings these are always escaped, so here they are white space between values.
            '\n' => result.push(char),
            '\t' | '\r' => result.push(' '),
            // All others occur only inside strings. Those beyond the basic plane need two escapes.
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    result.push_str(&format!("\\u{unit:04x}"));
                }
            }
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
    fn what_is_invisible_is_escaped_and_writing_stays() {
        let value =
            json!({"pass\u{200b}word": "a\u{200d}b\u{feff}\u{e0041}\u{fe0f} é 日本 😀 \u{a0}"});
        let text = line(&value).unwrap();
        let expected =
            "{\"pass\\u200bword\":\"a\\u200db\\ufeff\\udb40\\udc41\\ufe0f é 日本 😀 \u{a0}\"}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(serde_json::from_str::<Value>(&pretty(&value).unwrap()).unwrap(), value);
    }

    #[test]
    fn space_between_values_stays_space() {
        let raw = RawValue::from_string("{\t\"a\":\r\n1}".to_owned()).unwrap();
        assert_eq!(line(&raw).unwrap(), "{ \"a\":  1}");
    }
}
