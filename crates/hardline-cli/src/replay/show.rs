//! Formats values: cut and escaped for people, as JSON for programs.

use std::borrow::Cow;

use hardline_wire::encode::push_json_string;
use hardline_wire::json::Value;

use crate::terminal::Pieces;

/// A value that differs.
#[derive(Clone, Debug)]
pub(super) struct ShownValue {
    /// JSON; for a long value, its beginning as a string.
    pub(super) json: String,
    /// Text for people.
    pub(super) text: String,
}

/// Limit on the JSON of a value.
const MAX_JSON_BYTES: usize = 16 << 10;
/// Width of the text.
const WIDTH: usize = 72;
/// Characters shown before the first difference.
const BEFORE: usize = 24;

impl ShownValue {
    /// Formats two values, each from shortly before their first difference.
    pub(super) fn pair(
        one: Option<Value<'_>>,
        other: Option<Value<'_>>,
    ) -> (Option<Self>, Option<Self>) {
        let strings = (one.and_then(|it| it.as_str()), other.and_then(|it| it.as_str()));
        let from = match &strings {
            // Two long strings are shown from shortly before their difference.
            (Some(one), Some(other)) => first_difference(one, other),
            _ => 0,
        };
        (one.map(|it| Self::new(it, from)), other.map(|it| Self::new(it, from)))
    }

    /// Formats the names of a list's elements.
    pub(super) fn of_names(names: &[Cow<'_, str>]) -> Self {
        let mut json = String::from("[");
        for (index, name) in names.iter().enumerate() {
            json.push_str(if index == 0 { "" } else { "," });
            push_json_string(&mut json, name);
        }
        json.push(']');
        Self { text: cut(json.as_bytes(), true), json: bounded(&json) }
    }

    fn new(value: Value<'_>, from: usize) -> Self {
        let text = match value.as_str() {
            None => cut(value.text().as_bytes(), true),
            Some(string) => {
                let dots = if from > 0 { "…" } else { "" };
                format!(
                    "\"{dots}{}\"",
                    cut(string.as_bytes().get(from..).unwrap_or_default(), false)
                )
            }
        };
        Self { json: bounded(value.text()), text }
    }
}

/// Returns the offset at which to begin, so that the first difference is visible.
fn first_difference(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    // The difference is visible without cutting the beginning.
    if same < WIDTH - BEFORE {
        return 0;
    }
    let mut from = same.saturating_sub(BEFORE);
    while !one.is_char_boundary(from) {
        from -= 1;
    }
    from
}

fn cut(text: &[u8], is_json: bool) -> String {
    Pieces::up_to(WIDTH, text, is_json).first(WIDTH, false)
}

/// Returns JSON text unchanged, or its beginning as a string.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_JSON_BYTES {
        // Strings contain no raw control characters, so these are white space between values.
        return text.replace(['\t', '\r', '\n'], " ");
    }
    let mut end = MAX_JSON_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (beginning, rest) = text.split_at(end);
    let mut json = String::new();
    push_json_string(&mut json, &format!("{beginning}… {} bytes more", rest.len()));
    json
}

#[cfg(test)]
mod tests {
    use hardline_wire::json::Checker;
    use hardline_wire::limits::Limits;

    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, expected: (&str, &str)) {
        let limits = Limits::default();
        let mut checkers = [Checker::new(&limits), Checker::new(&limits)];
        let [first, second] = &mut checkers;
        let one = first.check(one.as_bytes()).unwrap().value;
        let other = second.check(other.as_bytes()).unwrap().value;
        let (one, other) = ShownValue::pair(Some(one), Some(other));
        assert_eq!((&*one.unwrap().text, &*other.unwrap().text), expected);
    }

    #[test]
    fn long_texts_are_shown_where_they_differ() {
        check("\"a\"", "\"b\"", ("\"a\"", "\"b\""));
        check("\"\\u001b[2J\"", "{\"a\":\"\\n\"}", ("\"\\u{1b}[2J\"", "{\"a\":\"\\n\"}"));
        let long = "é".repeat(500);
        let (one, other) = (format!("\"{long}1 end\""), format!("\"{long}2 end\""));
        let shown = |digit: char| format!("\"…{}{digit} end\"", "é".repeat(BEFORE / 2));
        check(&one, &other, (&shown('1'), &shown('2')));
        let (one, other) = (format!("\"1{long}\""), format!("\"2{long}\""));
        let shown = |digit: char| format!("\"{digit}{}…\"", "é".repeat(WIDTH - 2));
        check(&one, &other, (&shown('1'), &shown('2')));
    }

    #[test]
    fn programs_get_no_more_than_they_can_take() {
        let long = format!("\"{}\"", "é".repeat(MAX_JSON_BYTES));
        let json = bounded(&long);
        assert!(json.len() < MAX_JSON_BYTES + 100);
        let text: String = serde_json::from_str(&json).unwrap();
        assert!(text.ends_with(" bytes more"), "{text}");
        assert_eq!(bounded("{\t\r}"), "{  }");
    }
}
