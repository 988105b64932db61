//! Parses JSON with comments, as editors write it.
//!
//! Comments and trailing commas are accepted in the file of every client, because some clients accept them
//! and a strict reader would miss servers. Other JSON5 extensions are rejected: no known client reads them.

use std::borrow::Cow;

use jsonc_parser::ast::{ObjectPropName, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{DocumentError, Member, Node, Value, place};

pub(super) fn parse(text: &str) -> Result<Option<Node>, DocumentError> {
    let readable = without_lone_surrogates(text);
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        allow_comments: true,
        allow_trailing_commas: true,
    };
    let parsed = parse_to_ast(&readable, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| {
        // Positions in the stand-in are positions in the file, because both have the same length.
        let (line, column) = place(text, error.range().start);
        DocumentError::Syntax { line, column, message: lower_first(&error.kind().to_string()) }
    })?;
    Ok(parsed.value.map(|value| node(text, &value)))
}

/// Converts a parsed value. The parser's limit of 512 levels bounds the recursion.
fn node(text: &str, value: &Ast<'_>) -> Node {
    let range = value.start()..value.end();
    let value = match value {
        Ast::StringLit(string) => Value::String(string.value.clone().into_owned()),
        Ast::Array(array) => Value::Array(array.elements.iter().map(|it| node(text, it)).collect()),
        Ast::Object(object) => {
            let members = object.properties.iter().map(|property| {
                let key = match &property.name {
                    ObjectPropName::String(name) => name.value.clone().into_owned(),
                    ObjectPropName::Word(name) => name.value.to_owned(),
                };
                let key_range = property.name.start()..property.name.end();
                Member { key, key_range, node: node(text, &property.value) }
            });
            Value::Object(members.collect())
        }
        Ast::NumberLit(_) | Ast::BooleanLit(_) | Ast::NullKeyword(_) => {
            Value::Other(text.get(range.clone()).unwrap_or_default().to_owned())
        }
    };
    Node { range, value }
}

/// Replaces each lone surrogate escape with an escape of the same length, so that offsets stay valid.
///
/// JavaScript writes a lone surrogate when it cuts a string in the middle of an emoji, and clients store
/// chat histories next to their servers. The parser rejects such an escape.
fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    const HALF: &str = "\\ud";
    const STAND_IN: &str = "\\ufffd";
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    // Most files have no such escape, and then nothing is copied.
    let lower = text.to_ascii_lowercase();
    if !lower.contains(HALF) {
        return Cow::Borrowed(text);
    }
    let mut readable = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + found;
        readable.push_str(text.get(at..escape).unwrap_or_default());
        let length = match (unit(escape), unit(escape + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            // Length 0 marks a lone surrogate, which is replaced below.
            (Some(0xd800..=0xdfff), _) => 0,
            (Some(_), _) => 6,
            // Any other escape: the backslash and the character after it.
            (None, _) => {
                1 + text
                    .get(escape + 1..)
                    .and_then(|it| it.chars().next())
                    .map_or(0, char::len_utf8)
            }
        };
        if length == 0 {
            readable.push_str(STAND_IN);
            at = escape + STAND_IN.len();
        } else {
            readable.push_str(text.get(escape..escape + length).unwrap_or_default());
            at = escape + length;
        }
    }
    readable.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(readable)
}

fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().map(|char| char.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_lone_surrogates() {
        for (text, expected) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""a\ude00\uD83Db\ud83d\u0041""#, "a\u{fffd}\u{fffd}b\u{fffd}A"),
            (r#""é\\\ud83d""#, "é\\\u{fffd}"),
        ] {
            let node = parse(text).unwrap().unwrap();
            assert_eq!(node.as_str(), Some(expected), "{text}");
            assert_eq!(node.range, 0..text.len(), "{text}");
        }
    }

    #[test]
    fn syntax_errors_have_a_line_and_column() {
        for (text, expected) in [
            ("{\n  \"a\": tru\n}", "line 2, column 8: unexpected word"),
            ("{\"ä\" 1}", "line 1, column 6: "),
            ("{\"a\": 1", "line 1, column 1: unterminated object"),
            ("{} {}", "line 1, column 4: "),
            ("{a: 1}", "line 1, column 2: "),
            ("{\"a\": \"\\q\"}", "line 1, column 8: "),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
