//! Recovery under every single-byte accident: the message's own id, or none.

use std::ops::Range;

use hardline_wire::limits::Limits;
use hardline_wire::recover::{Ending, recover};

/// Notifications, which have no id of their own: any recovered id is wrong.
const NOTIFICATIONS: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"n","params":{"id":99,"a":{"id":98}}}"#,
    r#"{"jsonrpc":"2.0","method":"n","params":{"a":1,"id":99}}"#,
    r#"{"jsonrpc":"2.0","method":"n","params":{"a":{"b":1,"c":2},"id":99}}"#,
    r#"{"params":[{"id":99},{"a":"b","id":98}],"method":"n","jsonrpc":"2.0"}"#,
    r#"[{"jsonrpc":"2.0","method":"n","params":{"a":{"b":1},"id":99}},{"jsonrpc":"2.0","method":"n"}]"#,
];

/// Lines with ids in many places. The message's own is 7 or "7"; all others are wrong.
const LINES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":99,"a":[{"id":98},[1,{"id":97}]],"t":"\"id\":96"}}"#,
    r#"{"jsonrpc":"2.0","method":"tools/call","params":{"id":99,"a":[{"id":98},[1,{"id":97}]],"t":"x, \\"},"id":7}"#,
    r#"{"params":{"jsonrpc":"2.0","id":99,"method":"y"},"id":"7","method":"x","jsonrpc":"2.0"}"#,
    r#"{"id":7,"jsonrpc":"2.0","method":"x","params":[{"jsonrpc":"2.0","id":99},{"id":98}]}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"m","data":{"id":99,"error":{"id":98}}}}"#,
    r#"{ "jsonrpc" : "2.0" , "id" : "7" , "method" : "x" , "params" : { "x" : { "id" : 99 } } }"#,
    r#"[{"jsonrpc":"2.0","id":7,"method":"x","params":{"id":99}},{"jsonrpc":"2.0","method":"y","params":[{"id":98}]}]"#,
];

/// Returns the range of the id, so that accidents to the id itself can be skipped.
fn own_id(line: &str) -> Range<usize> {
    let values = ["\"id\":7", "\"id\":\"7\"", "\"id\" : \"7\""];
    let found = values.iter().find_map(|value| line.find(value).map(|at| at..at + value.len()));
    found.unwrap_or(usize::MAX..usize::MAX)
}

#[track_caller]
fn check(line: &[u8], ending: Ending, what: &str, hits: &mut [u32; 2]) {
    for message in recover(line, ending, &Limits::default()) {
        let Some(id) = message.id else {
            hits[0] += 1;
            continue;
        };
        hits[1] += 1;
        let text = String::from_utf8_lossy(line);
        assert!(matches!(&*id.to_string(), "7" | "\"7\""), "{id} after {what}: {text}");
    }
}

#[test]
fn no_accident_to_one_byte_brings_up_a_wrong_id() {
    let mut hits = [0; 2];
    for line in LINES.iter().chain(NOTIFICATIONS) {
        let bytes = line.as_bytes();
        let own = own_id(line);
        for at in (0..=bytes.len()).filter(|at| !own.contains(at) && *at != own.end) {
            let (before, after) = bytes.split_at(at);
            check(before, Ending::Cut, "cutting its end off", &mut hits);
            // The rest of an array of messages may look like a batch.
            if !line.contains("},{\"") {
                check(after, Ending::Whole, "cutting its beginning off", &mut hits);
            }
            for byte in 0..=u8::MAX {
                check(&[before, &[byte], after].concat(), Ending::Whole, "inserting", &mut hits);
                if let [_, after @ ..] = after {
                    check(
                        &[before, &[byte], after].concat(),
                        Ending::Whole,
                        "replacing",
                        &mut hits,
                    );
                }
            }
            if let [_, after @ ..] = after {
                check(&[before, after].concat(), Ending::Whole, "removing", &mut hits);
            }
        }
    }
    // Most accidents must leave the id beyond doubt, or the test would prove nothing.
    assert!(hits[0] < hits[1], "{hits:?}");
}

#[test]
fn no_accident_to_one_byte_makes_a_response_look_like_a_request() {
    let lines =
        LINES.iter().filter(|line| line.contains("\"result\"") || line.contains("\"error\""));
    let mut count = 0;
    for line in lines {
        let bytes = line.as_bytes();
        let key = line.find("\"result\"").or_else(|| line.find("\"error\"")).unwrap();
        for at in key + 9..bytes.len() {
            let (before, after) = bytes.split_at(at);
            for byte in 0..=u8::MAX {
                let damaged = [before, &[byte], &after[1..]].concat();
                let first = recover(&damaged, Ending::Whole, &Limits::default()).next();
                assert!(first.unwrap().is_response, "{}", String::from_utf8_lossy(&damaged));
                count += 1;
            }
        }
    }
    assert!(10_000 < count);
}

#[test]
fn an_accident_to_the_id_itself_never_brings_up_a_part_of_it() {
    for (line, reason) in [
        (r#"{"jsonrpc":"2.0","id":"abc,"method":"x","params":{}}"#, "a quote lost behind"),
        (r#"{"jsonrpc":"2.0","id":","method":"x"}"#, "an empty one with a quote lost"),
        (r#"{"jsonrpc":"2.0","id":"a"b","method":"x"}"#, "a quote inside"),
        (r#"{"jsonrpc":"2.0","id":"he said "hi"","method":"x"}"#, "two quotes inside"),
        (r#"{"jsonrpc":"2.0","id":""abc","method":"x"}"#, "a quote too many"),
        (r#"{"jsonrpc":"2.0","id":"ab\","method":"x"}"#, "an escaped end"),
        (r#"{"jsonrpc":"2.0","id":7 8,"method":"x"}"#, "two numbers"),
        (r#"{"jsonrpc":"2.0","id":7:8,"method":"x"}"#, "a colon"),
        (r#"{"jsonrpc":"2.0","id":7[1],"method":"x"}"#, "an array behind"),
        (r#"{"jsonrpc":"2.0","id":7{},"method":"x"}"#, "an object behind"),
        (r#"{"jsonrpc":"2.0","id":7"x","method":"x"}"#, "a string behind"),
        (r#"{"jsonrpc":"2.0","id":"a":"b","method":"x"}"#, "a colon and a string"),
        (r#"{"jsonrpc":"2.0","id":7],"method":"x"}"#, "a bracket behind"),
        (r#"{"jsonrpc":"2.0","id":7,"ID":8,"method":"x",}"#, "a twin"),
        (r#"{"jsonrpc":"2.0","id":7,"id":}"#, "a second one without a value"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","id":"8"#, "a second one cut off"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","ID":"8"#, "a twin cut off"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","id":"#, "a second one not begun"),
    ] {
        let found: Vec<_> = recover(line.as_bytes(), Ending::Whole, &Limits::default()).collect();
        assert!(found.iter().all(|message| message.id.is_none()), "{reason}: {found:?}");
    }
}

#[test]
fn lost_nesting_brings_up_no_nested_id() {
    for (line, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":}{"jsonrpc":"2.0","id":99,"method":"y"}}"#,
            &["7"][..],
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","params"}{"id":99}}"#, &["7"]),
        (r#"[{"jsonrpc":"2.0","params":}[{"id":98}],"id":7}]"#, &[]),
        (
            r#""jsonrpc":"2.0","id":1,"method":"x","params":{"jsonrpc":"2.0","id":55,"method":"y"}}"#,
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"t","params":{"id":99,"a":[}"id":98},[1,{"id":97}]],"t":"x"},"id":7}"#,
            &[],
        ),
        (r#"{"id":99,"a":[1]}}"#, &[]),
        (r#"{"jsonrpc":"2.0","method":"n","params":{"a":1},"id":99}}"#, &[]),
        (r#"{"jsonrpc":"2.0","method":"n","params":,"a":1,"id":99}}"#, &[]),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{}}}"#, &["7"]),
        (r#"[pool, {"id": 5}, {"id": 6}] started"#, &[]),
        (r#"[1] {"id":5}"#, &[]),
        (r#"[1] {"jsonrpc":"2.0","id":5,"method":"x"}"#, &["5"]),
        (r#"{"jsonrpc":"2.0","method":"x","params":{"a":[},"id":98} x"#, &[]),
        (r#"{"jsonrpc":"2.0","method":"x","params":{"a":[1]},"id":7} x"#, &["7"]),
        (r#"{"jsonrpc":"2.0","method":"x","params":{"b":1],"id":5}"#, &[]),
        (r#"{"jsonrpc":"2.0","id":7,"result";{}}"#, &["7"]),
        (r#"[{"jsonrpc":"2.0","params":[]"id":98}],"id":7}]"#, &[]),
    ] {
        let found: Vec<_> = recover(line.as_bytes(), Ending::Whole, &Limits::default())
            .filter_map(|message| message.id.map(|id| id.to_string()))
            .collect();
        assert_eq!(found, expected, "{line}");
    }
    let deep = format!(
        "{{\"a\":{}1{}{},\"id\":5{}",
        "{\"b\":".repeat(1100),
        "]".repeat(77),
        "}".repeat(1023),
        "}".repeat(78)
    );
    assert!(recover(deep.as_bytes(), Ending::Whole, &Limits::default()).all(|it| it.id.is_none()));
}
