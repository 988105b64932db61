//! Recordings: lines with their direction and time.

use serde_json::{Value, json as object};

use super::{MESSAGE, found, json};

const CLIENT: &str = "client-to-server";
const SERVER: &str = "server-to-client";

/// Returns a line of a recording with the given time.
fn line(milliseconds: u32, direction: &str, raw: &str) -> String {
    let time = format!("2026-11-15T22:22:{:02}.{:03}Z", milliseconds / 1000, milliseconds % 1000);
    // The scan must ignore the verdict that the guard recorded.
    let verdict =
        object!({"action": "block", "findings": [{"excerpt": format!("a\n{MESSAGE}\u{202e}")}]});
    format!("{}\n", object!({"time": time, "direction": direction, "raw": raw, "verdict": verdict}))
}

fn call(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x"}}}}"#)
}

/// Checks the findings: rule, line, direction, and the text that they point to.
#[track_caller]
fn check(recording: &str, expected: &[(&str, u64, &str, &str)]) {
    let (report, _) = json(&[], recording.as_bytes());
    assert_eq!(report["scanned"]["recordings"], 1);
    let directions: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["direction"].as_str().unwrap().to_owned())
        .collect();
    let found = found(&[], recording.as_bytes());
    let actual: Vec<_> = found
        .iter()
        .zip(&directions)
        .map(|(it, direction)| (&*it.0, it.1, &**direction, str::from_utf8(&it.3).unwrap()))
        .collect();
    assert_eq!(actual, expected);
}

#[test]
fn each_line_is_judged_in_its_direction() {
    let recording =
        [line(0, CLIENT, "hello"), line(1, SERVER, "hello"), line(2, SERVER, &call(1))].concat();
    check(&recording, &[("frame.not-json", 1, CLIENT, "h"), ("frame.noise", 2, SERVER, "hello")]);
}

#[test]
fn a_place_is_that_in_the_file_escapes_and_all() {
    let text = serde_json::to_string(&format!("é😀\n{MESSAGE}\n\u{202e}")).unwrap();
    let raw = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":{text}}}}}"#);
    let recording = [line(0, CLIENT, &call(1)), line(1, SERVER, &raw)].concat();
    let written = MESSAGE.replace('"', r#"\\\""#);
    check(
        &recording,
        &[("content.frame", 2, SERVER, &written), ("content.hidden", 2, SERVER, "\u{202e}")],
    );
    // The style of escaping does not matter.
    let recording = recording.replace('\u{202e}', "\\u202e").replace("params", "\\u0070arams");
    let written = written.replace("params", "\\u0070arams");
    check(
        &recording,
        &[("content.frame", 2, SERVER, &written), ("content.hidden", 2, SERVER, "\\u202e")],
    );
}

#[test]
fn what_is_no_text_is_found_in_its_value() {
    // An answer with the byte ff in a string.
    let recording = format!(
        "{}{}\n",
        line(0, CLIENT, &call(1)),
        object!({"time": "2026-11-15T22:22:01Z", "direction": SERVER, "raw_base64": "eyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsInJlc3VsdCI6eyJhIjoi/yJ9fQ=="}),
    );
    let (report, _) = json(&[], recording.as_bytes());
    assert_eq!(report["findings"][0]["rule"], "frame.invalid-utf8");
    let found = found(&[], recording.as_bytes());
    assert_eq!(found[0].3, b"\"eyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsInJlc3VsdCI6eyJhIjoi/yJ9fQ==\"");
}

const HEAD: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"text":"page"#;
const TAIL: &str = "end \u{202e}\"}}";

#[test]
fn puts_a_torn_message_together_whatever_the_client_wrote_between() {
    let lines = [
        line(0, CLIENT, &call(2)),
        line(10, SERVER, HEAD),
        line(10, CLIENT, &call(3)),
        line(10, SERVER, MESSAGE),
        line(11, SERVER, TAIL),
        line(12, SERVER, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#),
    ];
    let recording = lines.concat();
    let written = MESSAGE.replace('"', "\\\"");
    let start = recording.find("page").unwrap() + 4;
    let end = start + recording[start..].find(r#"end "#).unwrap() + TAIL.len() + 1;
    let torn = &recording[start..end];
    check(
        &recording,
        &[
            ("frame.split", 2, SERVER, torn),
            ("frame.split", 4, SERVER, &written),
            ("content.frame", 4, SERVER, &written),
            ("content.hidden", 5, SERVER, "\u{202e}"),
        ],
    );
}

#[test]
fn a_torn_message_that_nobody_waits_for_is_one_all_the_same() {
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    let lines = [
        line(0, CLIENT, &call(2)),
        line(5, SERVER, answer),
        line(10, SERVER, HEAD),
        line(11, SERVER, TAIL),
        line(
            12,
            SERVER,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"\u202e"}}"#,
        ),
    ];
    let (report, _) = json(&[], lines.concat().as_bytes());
    let findings = report["findings"].as_array().unwrap();
    let rules: Vec<_> = findings.iter().map(|it| (&it["rule"], &it["line"])).collect();
    assert_eq!(
        rules,
        [(&"frame.split".into(), &3.into()), (&"content.hidden".into(), &5.into())]
            as [(&Value, &Value); 2]
    );
    assert!(findings[0]["detail"].as_str().unwrap().contains("nobody waits for"));
}

#[test]
fn lines_belong_together_only_if_they_came_together() {
    let lines = [
        line(0, CLIENT, &call(2)),
        line(10, SERVER, HEAD),
        line(20, SERVER, MESSAGE),
        line(900, SERVER, r#"{"jsonrpc":"2.0","id":2,"result":{"text":"\u202e"}}"#),
        line(901, SERVER, r#"{"jsonrpc":"2.0","id":3,"result":{"text":"cut"#),
    ];
    let recording = lines.concat();
    let (report, _) = json(&[], recording.as_bytes());
    let findings = report["findings"].as_array().unwrap();
    let rules: Vec<_> = findings
        .iter()
        .map(|it| (it["rule"].as_str().unwrap(), it["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        rules,
        [("frame.split", 2), ("frame.split", 3), ("content.hidden", 4), ("frame.not-json", 5)]
    );
    assert!(findings[0]["detail"].as_str().unwrap().contains("its rest was not found"));
}

#[test]
fn a_recording_that_was_cut_is_read_to_its_end() {
    let whole = line(0, SERVER, r#"{"jsonrpc":"2.0","id":1,"result":{"text":"\u202e"}}"#);
    let recording = format!("{whole}{}", &whole[..40]);
    let found = found(&[], recording.as_bytes());
    let rules: Vec<_> = found.iter().map(|it| (&*it.0, it.1)).collect();
    assert_eq!(rules, [("content.hidden", 1), ("frame.noise", 2)]);
}

#[test]
fn several_lines_in_one_are_several_lines() {
    let raw = "log line\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"\u{202e}\"}}\n";
    check(
        &line(0, SERVER, raw),
        &[("frame.noise", 1, SERVER, "log line"), ("content.hidden", 1, SERVER, "\u{202e}")],
    );
}
