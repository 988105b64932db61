//! Recovery, over every chunking.

use super::*;

/// Recovers from `line` in chunks of every size and expects ids as JSON, `-` for none, and `=`
/// before one of a response.
#[track_caller]
fn check(line: &str, expected: &[&str]) {
    check_ending(line, Ending::Whole, expected);
}

#[track_caller]
fn check_ending(line: &str, ending: Ending, expected: &[&str]) {
    let limits = Limits::default();
    let show = |it: Recovered| {
        let id = it.id.map_or("-".to_owned(), |id| id.to_string());
        if it.is_response { format!("={id}") } else { id }
    };
    let whole: Vec<_> = recover(line.as_bytes(), ending, &limits).map(show).collect();
    assert_eq!(whole, expected, "{line}");
    for size in 1..=line.len() {
        let mut recovery = Recovery::new(&limits);
        let mut actual = Vec::new();
        for mut chunk in line.as_bytes().chunks(size) {
            while let Some(message) = recovery.next_message(&mut chunk) {
                actual.push(show(message));
            }
        }
        actual.extend(recovery.finish(ending).map(show));
        assert_eq!(actual, expected, "{line} in chunks of {size}");
    }
}

#[test]
fn finds_the_id_before_the_damage() {
    check(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":}}"#, &["7"]);
    check(r#"{"jsonrpc":"2.0","id":"a\"b","method":x"#, &[r#""a\"b""#]);
    check(r#"{"id":7 "method":"tools/ca"#, &["7"]);
    check(r#"{"id":7,"params":{"text":"cut off he"#, &["7"]);
}

#[test]
fn finds_the_id_after_the_damage() {
    check(r#"{"jsonrpc":"2.0","method":"x","params":{"a":[1,2},"id":9}"#, &["9"]);
    check(r#"{"method":"x","params":{"a":NaN,"b":-Infinity,"c":undefined},"id":9}"#, &["9"]);
    check(r#"{"method" "x", "params":[1,,2], "id" : 9 }"#, &["9"]);
    check("{\"params\":\"a\u{1}\u{2}\\x\\ud800\",\"id\":9}", &["9"]);
    check(r#"{,,"id":9}"#, &["9"]);
    check(r#"{"params":"say "hi" now","id":9}"#, &["9"]);
    check(r#"{"jsonrpc":"2.0","method":"ping","id":9"#, &["9"]);
}

#[test]
fn keeps_type_and_text() {
    check(r#"{"id":"7",}"#, &[r#""7""#]);
    check(r#"{"id":"\u00e9\/",}"#, &[r#""\u00e9\/""#]);
    check(r#"{"id":0,}"#, &["0"]);
    check(r#"{"id":"",}"#, &[r#""""#]);
    check(r#"{"id":-5,}"#, &["-5"]);
    check(r#"{"id":123456789012345678901234567890,}"#, &["123456789012345678901234567890"]);
    check(r#"{"\u0069d":3,}"#, &["3"]);
}

#[test]
fn refuses_nested_ids() {
    check(r#"{"method":"x","params":{"id":5}"#, &["-"]);
    check(r#"{"method":"x","params":{"id":5},}"#, &["-"]);
    check(r#"{"params":[{"id":5}],}"#, &["-"]);
    check(r#"{"params":["id",5],}"#, &["-"]);
    check(r#"{"a":{"b":1],"id":5}}"#, &["-"]);
    check(r#"{"p":{"q":[1]],"id":5}}"#, &["-"]);
    check(r#"{"p":[{"q":1],"id":5}]}"#, &["-"]);
    check(r#"{"text":"\"id\":5",}"#, &["-"]);
    check(r#"{"text":"a\\","id":6,}"#, &["6"]);
}

#[test]
fn refuses_contradictions() {
    check(r#"{"id":1,"id":2}"#, &["-"]);
    check(r#"{"id":1,"id":"1"}"#, &["-"]);
    check(r#"{"id":1,"id":1}"#, &["1"]);
    check(r#"{"id":"a","\u0069d":"\u0061"}"#, &[r#""a""#]);
    check(r#"{"id":1,"id":null}"#, &["-"]);
    check(r#"{"id":,"id":1}"#, &["-"]);
    check(r#"{"params":{"a":{"b":1}},"id":5},"id":9}"#, &["-"]);
    check(r#"{"params":{"a":1}},"id":5}"#, &["-"]);
}

#[test]
fn refuses_what_is_no_id() {
    for id in ["null", "true", "1.5", "1e3", "-0", "01", "NaN", "[1]", "{}", "'a'", "\"\\ud800\""] {
        check(&format!("{{\"id\":{id},}}"), &["-"]);
    }
    check(r#"{"ID":1,}"#, &["-"]);
    check(r#"{id:1,}"#, &["-"]);
    check(r#"{"a":"id":1}"#, &["-"]);
    check(r#"{"id" 1}"#, &["-"]);
}

#[test]
fn refuses_an_id_that_may_be_cut_short() {
    check_ending(r#"{"id":12"#, Ending::Cut, &["-"]);
    check_ending(r#"{"id":12"#, Ending::Whole, &["12"]);
    check_ending(r#"{"id":12 "#, Ending::Cut, &["12"]);
    check_ending(r#"{"id":"ab"#, Ending::Whole, &["-"]);
    check_ending(r#"{"id":"ab""#, Ending::Cut, &[r#""ab""#]);
}

#[test]
fn refuses_an_id_over_the_limit() {
    let id = "9".repeat(256);
    check_ending(&format!("{{\"id\":{id},}}"), Ending::Cut, &[&id]);
    check_ending(&format!("{{\"id\":{id}9,}}"), Ending::Cut, &["-"]);
    let id = format!("\"{}\"", "x".repeat(254));
    check_ending(&format!("{{\"id\":{id},}}"), Ending::Cut, &[&id]);
    check_ending(&format!("{{\"id\":\"x{}\",}}", "x".repeat(254)), Ending::Cut, &["-"]);
}

#[test]
fn finds_each_of_several_messages() {
    check(r#"{"id":1}{"id":2} {"id":3}"#, &["1", "2", "3"]);
    check(r#"{"id":1}{"id":2"#, &["1", "2"]);
    check(r#"[{"id":1},{"id":2},3,"id":4,{"id":5}"#, &["1", "-"]);
    check(r#"[{"id":1},{"id":2},3,{"id":5}"#, &["1", "2", "5"]);
    check(r#"[{"id":1,"a":[},{"id":2}]"#, &["1", "2"]);
    check(r#"[[{"id":1}]"#, &[]);
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a"} trailing"#, &["1"]);
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a"}}"#, &["1"]);
}

#[test]
fn takes_nothing_from_a_log_line_that_is_no_message() {
    check("starting up", &[]);
    check(r#"[2026-01-01 10:00:00] INFO {"id": 5, "user": "x"}"#, &["-"]);
    check(r#"INFO: got {"jsonrpc":"2.0","id":5,"method":"x"}"#, &["5"]);
    check(r#"request "id": 5"#, &[]);
    check(r#""id":5}"#, &[]);
    check("", &[]);
}

#[test]
fn knows_what_looks_like_a_response() {
    check(r#"{"id":1,"result":{"#, &["=1"]);
    check(r#"{"error":{},"id":1,}"#, &["=1"]);
    check(r#"{"id":1,"result":{},"method":"x",}"#, &["1"]);
    check(r#"{"id":1,"params":{"result":1},}"#, &["1"]);
    check(r#"{"id":1,"a":"result",}"#, &["1"]);
}

#[test]
fn follows_nesting_deeper_than_it_remembers() {
    let deep = format!("{{\"a\":{}{},\"id\":4,}}", "[".repeat(5000), "]".repeat(5000));
    check_deep(&deep, "4");
    let deep = format!("{{\"a\":{}{},\"id\":4,}}", "[".repeat(5000), "]".repeat(4999));
    check_deep(&deep, "-");
    let deep = format!("{{\"a\":{}{},\"id\":4,}}", "[{\"b\":".repeat(900), "}]".repeat(900));
    check_deep(&deep, "4");
    let deep = format!("{{\"a\":{}{},\"id\":4,}}", "[{\"b\":".repeat(900), "}]".repeat(899));
    check_deep(&deep, "-");
    let (open, close) = ("[".repeat(70), "]".repeat(70));
    check_deep(&format!("{{\"a\":{open}{{\"b\":{open}}}{close},\"id\":4,}}"), "4");
    let deep = format!("{{\"a\":{}}},\"id\":4,}}", "[".repeat(900));
    check_deep(&deep, "-");
    let deep = format!("{{\"a\":{{\"b\":{}}},\"id\":4,}}", "[".repeat(900));
    check_deep(&deep, "4");
}

#[track_caller]
fn check_deep(line: &str, expected: &str) {
    let mut found = recover(line.as_bytes(), Ending::Whole, &Limits::default());
    let id = found.next().unwrap().id.map_or("-".to_owned(), |id| id.to_string());
    assert_eq!(id, expected);
    assert_eq!(found.next(), None);
}
