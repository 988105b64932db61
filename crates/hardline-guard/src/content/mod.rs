//! Iterates over the strings of a message, each with its place and its readers.
//!
//! Every string is inspected, keys included: a string that one client hides another passes to its
//! model. Some strings must never be edited, because a machine sends them back or compares them:
//! cursors, states, ids, addresses, names, binary data, metadata, keys, values of a choice. A match
//! in one of those is reported, or the frame is blocked: see the table in [`reader`].
//!
//! Invariants: each byte of the message is read once; paths are built only for findings.

mod path;
mod reader;
mod unescaped;

use hardline_wire::json::{Kind, Step, Value};

pub(crate) use path::JsonPath;
pub(crate) use reader::Reader;
pub(crate) use unescaped::Unescaped;

/// Calls `take` with each string of `value`, its place, and whether it is a key.
pub(crate) fn for_each_string<'a>(
    value: Value<'a>,
    mut take: impl FnMut(Value<'a>, &JsonPath<'a>, bool),
) {
    let mut place = JsonPath::default();
    for step in value.steps() {
        match step {
            Step::Enter(kind, _) => place.enter(kind == Kind::Array),
            Step::Leave(_) => place.leave(),
            Step::Key(key) => {
                // A key belongs to the object itself, not to the member before it.
                place.next_key();
                take(key, &place, true);
                place.key(key);
            }
            Step::Scalar(scalar) => {
                if scalar.kind() == Kind::String {
                    take(scalar, &place, false);
                }
                // Numbers and literals count as elements too.
                place.done();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hardline_wire::json::Checker;
    use hardline_wire::limits::Limits;

    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &[&str]) {
        let checked = Checker::new(&Limits::default()).check(json.as_bytes()).unwrap();
        let mut actual = Vec::new();
        for_each_string(checked.value, |string, place, is_key| {
            let mark = if place.reader(is_key) == Reader::Person { "" } else { " exact" };
            actual.push(format!("{place} {}{mark}", string.text()));
        });
        assert_eq!(actual, expected);
    }

    #[test]
    fn names_the_place_of_each_string() {
        check(
            r#"{"result":{"content":[{"type":"text","text":"a"},{"text":"b"}],"n":1,"x":["c",["d"]]}}"#,
            &[
                r#"$ "result" exact"#,
                r#"$.result "content" exact"#,
                r#"$.result.content[0] "type" exact"#,
                r#"$.result.content[0].type "text" exact"#,
                r#"$.result.content[0] "text" exact"#,
                r#"$.result.content[0].text "a""#,
                r#"$.result.content[1] "text" exact"#,
                r#"$.result.content[1].text "b""#,
                r#"$.result "n" exact"#,
                r#"$.result "x" exact"#,
                r#"$.result.x[0] "c""#,
                r#"$.result.x[1][0] "d""#,
            ],
        );
        check(
            r#"{"a b":"x","c\"d":{"":"y"}}"#,
            &[
                r#"$ "a b" exact"#,
                r#"$["a b"] "x""#,
                r#"$ "c\"d" exact"#,
                r#"$["c\"d"] "" exact"#,
                r#"$["c\"d"][""] "y""#,
            ],
        );
    }

    #[test]
    fn some_strings_must_not_be_edited() {
        let only = |json: &str| {
            let checked = Checker::new(&Limits::default()).check(json.as_bytes()).unwrap();
            let mut editable = Vec::new();
            for_each_string(checked.value, |string, place, is_key| {
                if place.reader(is_key) == Reader::Person {
                    editable.push(string.text().to_owned());
                }
            });
            editable.join(" ")
        };
        assert_eq!(only(r#"{"nextCursor":"a","uri":"b","text":"c"}"#), r#""c""#);
        assert_eq!(only(r#"{"_meta":{"a":{"b":["c"]}},"d":"e"}"#), r#""e""#);
        assert_eq!(only(r#"{"inputSchema":{"enum":["a"]},"description":"b"}"#), r#""b""#);
        assert_eq!(only(r#"{"error":{"message":"a","data":"b"}}"#), r#""a" "b""#);
        assert_eq!(only(r#"{"result":{"content":[{"type":"image","data":"b"}]}}"#), "");
        assert_eq!(only(r#"{"error":{"data":{"x":"b"}}}"#), r#""b""#);
    }
}
