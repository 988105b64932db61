//! Formats JSON of peers for people: their values, our line breaks and spaces.
//!
//! Invariants:
//! - Keys keep their order and numbers their digits.
//! - Strings keep their meaning with as few escapes as possible, so that no letter hides behind an
//!   escape. The caller escapes characters that control or hide text on a terminal.

use hardline_wire::json::{Checker, Kind, Step, Value};
use hardline_wire::limits::Limits;

/// Indentation for each enclosing array or object, and the limit on it: deeper levels would cost
/// more spaces than letters.
const INDENT: &str = "  ";
const MAX_INDENTS: usize = 32;

/// Layout on many lines or on one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Lines {
    Many,
    One,
}

/// Formats a text on many lines. A text that is not strict JSON stays as it is.
pub(crate) fn indented(json: &str) -> String {
    checked(json, Lines::Many)
}

/// Formats a text on one line, without spaces. A text that is not strict JSON stays as it is.
pub(crate) fn flat(json: &str) -> String {
    checked(json, Lines::One)
}

fn checked(json: &str, lines: Lines) -> String {
    let mut checker = Checker::new(&Limits::default());
    match checker.check(json.as_bytes()) {
        Ok(checked) => lay_out(checked.value, lines),
        // JSON that is not strict is shown as it is, which is better than not at all.
        Err(_) => json.to_owned(),
    }
}

fn lay_out(value: Value<'_>, lines: Lines) -> String {
    let mut out = String::with_capacity(value.text().len());
    let mut open: Vec<Kind> = Vec::new();
    // True if the innermost array or object has an item before, and if the item's key is written.
    let (mut has_items, mut has_key) = (false, false);
    let begin = |out: &mut String, depth: usize, has_items: bool, has_key: bool| {
        // A value after its key, and the outermost value, start no new line.
        if has_key || depth == 0 {
            return;
        }
        if has_items {
            out.push(',');
        }
        end_line(out, depth, lines);
    };
    for step in value.steps() {
        match step {
            Step::Enter(kind, _) => {
                begin(&mut out, open.len(), has_items, has_key);
                out.push(if kind == Kind::Object { '{' } else { '[' });
                open.push(kind);
                (has_items, has_key) = (false, false);
            }
            Step::Leave(_) => {
                let kind = open.pop();
                if has_items {
                    // Only after an item: an empty array or object stays on one line.
                    end_line(&mut out, open.len(), lines);
                }
                out.push(if kind == Some(Kind::Object) { '}' } else { ']' });
                (has_items, has_key) = (true, false);
            }
            Step::Key(key) => {
                begin(&mut out, open.len(), has_items, false);
                push_scalar(&mut out, key);
                out.push_str(if lines == Lines::Many { ": " } else { ":" });
                has_key = true;
            }
            Step::Scalar(scalar) => {
                begin(&mut out, open.len(), has_items, has_key);
                push_scalar(&mut out, scalar);
                (has_items, has_key) = (true, false);
            }
        }
    }
    out
}

fn end_line(out: &mut String, depth: usize, lines: Lines) {
    if lines == Lines::Many {
        out.push('\n');
        // Without a limit, deep nesting would cost its square in spaces.
        out.push_str(&INDENT.repeat(depth.min(MAX_INDENTS)));
    }
}

fn push_scalar(out: &mut String, scalar: Value<'_>) {
    match scalar.as_str().filter(|_| scalar.text().contains('\\')) {
        Some(text) => match serde_json::to_string(&text) {
            Ok(text) => out.push_str(&text),
            Err(_) => out.push_str(scalar.text()),
        },
        None => out.push_str(scalar.text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, many: &str, one: &str) {
        assert_eq!(indented(json), many);
        assert_eq!(flat(json), one);
    }

    #[test]
    fn order_and_digits_stay() {
        check(
            r#" { "z":123456789012345678901234567890,"a" : [ 1.10, -0e7 ], "n":{"y":null,"b":true} } "#,
            "{\n  \"z\": 123456789012345678901234567890,\n  \"a\": [\n    1.10,\n    -0e7\n  ],\n  \"n\": {\n    \
             \"y\": null,\n    \"b\": true\n  }\n}",
            r#"{"z":123456789012345678901234567890,"a":[1.10,-0e7],"n":{"y":null,"b":true}}"#,
        );
    }

    #[test]
    fn what_is_empty_or_alone_takes_one_line() {
        check(" [ ] ", "[]", "[]");
        check("{\n}", "{}", "{}");
        check("[[],{}]", "[\n  [],\n  {}\n]", "[[],{}]");
        check(
            r#"{"a":[],"b":{"c":[]}}"#,
            "{\n  \"a\": [],\n  \"b\": {\n    \"c\": []\n  }\n}",
            r#"{"a":[],"b":{"c":[]}}"#,
        );
        check("7.0", "7.0", "7.0");
        check(r#""a""#, r#""a""#, r#""a""#);
    }

    #[test]
    fn letters_are_shown_as_letters_and_quotes_stay_quotes() {
        check(
            r#"{"caf\u00e9":"\ud83d\ude00 \/ \u0022 \\ \n \u001b {,:}"}"#,
            "{\n  \"café\": \"😀 / \\\" \\\\ \\n \\u001b {,:}\"\n}",
            r#"{"café":"😀 / \" \\ \n \u001b {,:}"}"#,
        );
    }

    #[test]
    fn what_is_laid_out_says_the_same() {
        let json = r#"[{"a":[[1,{"b":[]}],"]"],"c":"\u00e9\t"},false,[null],"x",{"":{"":0}}]"#;
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&indented(json)).unwrap(), value);
    }

    #[test]
    fn depth_does_not_multiply() {
        let json = format!("{}{}{}", "[".repeat(60), "1,".repeat(999) + "1", "]".repeat(60));
        assert!(indented(&json).len() < json.len() * 100);
        assert_eq!(indented("{\"a\":"), "{\"a\":");
    }
}
