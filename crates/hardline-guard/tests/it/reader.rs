//! Strings that people or models read are sanitized; strings that machines compare are blocked or
//! reported.

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::{Action, Direction, Guard, Rule};
use serde_json::{Value, json};

/// Each string of the schemas, and its readers.
const STRINGS: &str = include_str!("../data/strings.txt");

/// Planted texts, each with the rule that matches it and its sanitized form.
const PLANTS: [(&str, Rule, &str); 3] = [
    ("Fine.\u{e0049}\u{e0067}", Rule::ContentHidden, "Fine.<U+E0049><U+E0067>"),
    ("Fine.\u{1b}[2J", Rule::ContentControl, "Fine.<U+001B>[2J"),
    ("Fine.\u{202e}txt", Rule::ContentHidden, "Fine.<U+202E>txt"),
];

/// Creates a value with `text` at `path`.
fn plant(path: &[&str], text: &str) -> Value {
    let Some((first, rest)) = path.split_first() else { return json!(text) };
    match *first {
        "-" => json!([plant(rest, text)]),
        "{key}" => json!({ text: 1 }),
        "*" => json!({ "any": plant(rest, text) }),
        name => json!({ name.replace("~1", "/"): plant(rest, text) }),
    }
}

fn message(path: &str, text: &str) -> String {
    let path: Vec<&str> = path.split('/').skip(1).collect();
    let mut message = plant(&path, text);
    message["jsonrpc"] = json!("2.0");
    if path[0] == "params" {
        message["method"] = json!("notifications/message");
    } else {
        message["id"] = json!(1);
    }
    if path[0] == "error" {
        message["error"]["code"] = json!(1);
        let message = &mut message["error"]["message"];
        if message.is_null() {
            *message = json!("no");
        }
    }
    message.to_string()
}

#[test]
fn every_string_of_the_schemas_is_made_harmless_blocked_or_reported() {
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    let mut count = 0;
    for line in STRINGS.split_terminator('\n').filter(|it| !it.starts_with('#')) {
        let (reader, path) = line.split_once(' ').unwrap();
        for (text, rule, harmless) in PLANTS {
            let frame = message(path, text);
            let report = guard.check_frame(Direction::ServerToClient, frame.as_bytes());
            let rules: Vec<Rule> = report.findings.iter().map(|it| it.rule).collect();
            assert!(rules.contains(&rule), "{line}: {rules:?}");
            let sent =
                report.frame.map(|it| String::from_utf8(it.into_inner().into_owned()).unwrap());
            match reader {
                "person" => {
                    assert_eq!(report.action, Action::Sanitize, "{line}");
                    assert_eq!(sent.unwrap(), message(path, harmless), "{line}");
                }
                "both" => assert_eq!((report.action, sent), (Action::Block, None), "{line}"),
                "machine" => {
                    assert_eq!((report.action, sent), (Action::Log, Some(frame)), "{line}");
                }
                _ => panic!("{line}"),
            }
            count += 1;
        }
    }
    assert!(count > 1300, "{count}");
}

/// Member names for machines mean nothing where tools choose the names.
#[test]
fn no_name_makes_text_opaque_where_tools_choose_the_names() {
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    let (text, _, harmless) = PLANTS[0];
    for path in [
        "/result/structuredContent/_meta/text",
        "/result/structuredContent/nextCursor",
        "/result/structuredContent/items/-/id",
        "/result/structuredContent/inputSchema/enum/-",
        "/result/content/-/input/id",
        "/error/data/_meta/x",
        "/error/data/cursor",
        "/params/data/requestState",
        "/result/text/data",
        "/result/x/blob",
        "/result/tools/-/inputSchema/properties/enum/description",
        "/result/tools/-/inputSchema/properties/_meta/title",
        "/result/tools/-/inputSchema/$defs/const/allOf/-/description",
        "/result/tools/-/inputSchema/examples/-",
        "/result/tools/-/inputSchema/x-hint",
        "/result/tools/-/outputSchema/properties/a/items/description",
    ] {
        let frame = message(path, text);
        let report = guard.check_frame(Direction::ServerToClient, frame.as_bytes());
        assert_eq!(report.action, Action::Sanitize, "{path}: {report:?}");
        let sent = report.frame.unwrap().into_inner().into_owned();
        assert_eq!(String::from_utf8(sent).unwrap(), message(path, harmless), "{path}");
    }
}

#[test]
fn values_that_machines_compare_are_never_edited() {
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    let (text, ..) = PLANTS[0];
    for path in [
        "/result/tools/-/inputSchema/properties/a/enum/-",
        "/result/tools/-/inputSchema/properties/a/default/description",
        "/result/tools/-/inputSchema/properties/a/const/title",
        "/result/tools/-/inputSchema/properties/a/pattern",
        "/result/tools/-/inputSchema/properties/description/type",
        "/result/tools/-/inputSchema/properties/{key}",
        "/result/tools/-/inputSchema/dependentRequired/a/-",
        "/result/tools/-/inputSchema/$ref",
        "/result/tools/-/inputSchema",
        "/result/content/-/data",
        "/result/content/-/id",
        "/result/content/-/requestState",
        "/result/structuredContent/pages/{key}",
    ] {
        let frame = message(path, text);
        let report = guard.check_frame(Direction::ServerToClient, frame.as_bytes());
        assert_eq!((report.action, report.frame), (Action::Block, None), "{path}");
    }
}
