//! The strings of a message, each with its place and with what may be done to it.
//!
//! Every string is looked at, keys included: what one client shows to nobody another hands to its model.
//! Some must not be edited, whatever is in them, since somebody will send them back or compare them:
//! cursors, states, ids, addresses, names, binary data, schemas, metadata, keys. What is wrong with one
//! of those is reported, or the frame is blocked.
//!
//! Invariants: each byte of the message is looked at once; paths are put together only for findings.

mod place;
mod text;

use hardline_wire::json::{Kind, Step, Value};

pub(crate) use place::Place;
pub(crate) use text::Text;

/// Members whose string values are never edited.
const OPAQUE: [&str; 24] = [
    "blob",
    "cursor",
    "data",
    "format",
    "href",
    "id",
    "jsonrpc",
    "level",
    "method",
    "mimeType",
    "name",
    "nextCursor",
    "progressToken",
    "protocolVersion",
    "requestId",
    "requestState",
    "role",
    "sessionId",
    "sizes",
    "src",
    "taskId",
    "type",
    "uri",
    "uriTemplate",
];

/// Members of which nothing inside is ever edited.
const OPAQUE_TREES: [&str; 4] = ["_meta", "inputSchema", "outputSchema", "requestedSchema"];

/// Calls `take` with each string of `value`, where it is, and whether it must not be edited.
pub(crate) fn for_each_string<'a>(
    value: Value<'a>,
    mut take: impl FnMut(Value<'a>, &Place<'a>, bool),
) {
    let mut place = Place::default();
    for step in value.steps() {
        match step {
            Step::Enter(kind, _) => place.enter(kind == Kind::Array),
            Step::Leave(_) => place.leave(),
            Step::Key(key) => {
                place.next_key();
                take(key, &place, true);
                let name = key.as_str().unwrap_or_default();
                let is_tree = OPAQUE_TREES.contains(&&*name);
                let is_opaque = is_tree || is_opaque(&name, &place);
                place.key(key, is_opaque, is_tree);
            }
            Step::Scalar(scalar) => {
                if scalar.kind() == Kind::String {
                    take(scalar, &place, place.is_opaque());
                }
                place.done();
            }
        }
    }
}

/// Whether the member is one that must not be edited, where it stands.
fn is_opaque(name: &str, place: &Place<'_>) -> bool {
    match name {
        // An error's or a log message's `data` is for people; that of an image is not.
        "data" => !place.is_in(&["error", "params"]),
        name => OPAQUE.contains(&name),
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
        for_each_string(checked.value, |string, place, is_opaque| {
            let mark = if is_opaque { " opaque" } else { "" };
            actual.push(format!("{place} {}{mark}", string.text()));
        });
        assert_eq!(actual, expected);
    }

    #[test]
    fn names_the_place_of_each_string() {
        check(
            r#"{"result":{"content":[{"type":"text","text":"a"},{"text":"b"}],"n":1,"x":["c",["d"]]}}"#,
            &[
                r#"$ "result" opaque"#,
                r#"$.result "content" opaque"#,
                r#"$.result.content[0] "type" opaque"#,
                r#"$.result.content[0].type "text" opaque"#,
                r#"$.result.content[0] "text" opaque"#,
                r#"$.result.content[0].text "a""#,
                r#"$.result.content[1] "text" opaque"#,
                r#"$.result.content[1].text "b""#,
                r#"$.result "n" opaque"#,
                r#"$.result "x" opaque"#,
                r#"$.result.x[0] "c""#,
                r#"$.result.x[1][0] "d""#,
            ],
        );
        check(
            r#"{"a b":"x","c\"d":{"":"y"}}"#,
            &[
                r#"$ "a b" opaque"#,
                r#"$["a b"] "x""#,
                r#"$ "c\"d" opaque"#,
                r#"$["c\"d"] "" opaque"#,
                r#"$["c\"d"][""] "y""#,
            ],
        );
    }

    #[test]
    fn some_strings_must_not_be_edited() {
        let only = |json: &str| {
            let checked = Checker::new(&Limits::default()).check(json.as_bytes()).unwrap();
            let mut editable = Vec::new();
            for_each_string(checked.value, |string, _, is_opaque| {
                if !is_opaque {
                    editable.push(string.text().to_owned());
                }
            });
            editable.join(" ")
        };
        assert_eq!(only(r#"{"nextCursor":"a","uri":"b","text":"c"}"#), r#""c""#);
        assert_eq!(only(r#"{"_meta":{"a":{"b":["c"]}},"d":"e"}"#), r#""e""#);
        assert_eq!(only(r#"{"inputSchema":{"description":"a"},"description":"b"}"#), r#""b""#);
        assert_eq!(only(r#"{"error":{"message":"a","data":"b"}}"#), r#""a" "b""#);
        assert_eq!(only(r#"{"result":{"content":[{"type":"image","data":"b"}]}}"#), "");
        assert_eq!(only(r#"{"error":{"data":{"x":"b"}}}"#), r#""b""#);
    }
}
