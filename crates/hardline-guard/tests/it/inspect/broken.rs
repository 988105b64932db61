//! Answers that are broken, that match no request, or that share their line: no caller waits
//! forever.

use std::time::Duration;

use hardline_guard::policy::Profile;

use super::{Run, answer};

fn calling() -> Run {
    let mut run = Run::open(Profile::Balanced, "2025-06-18");
    run.call(3, "fetch");
    run.call(4, "slow");
    run
}

/// Returns the answers to the calls 3 and 4: `result`, `error`, or none.
fn outcomes(run: &Run) -> [String; 2] {
    [3, 4].map(|id| {
        let mut kinds = run.to_client.iter().filter_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let kind = if message.get("error").is_some() { "error" } else { "result" };
            (message["id"] == id).then_some(kind)
        });
        let kind = kinds.next().unwrap_or("none");
        assert_eq!(kinds.next(), None, "{id} was answered twice");
        kind.to_owned()
    })
}

#[track_caller]
fn check(lines: &[&str], within: Duration, expected: [&str; 2]) {
    let mut run = calling();
    for line in lines {
        run.server(line);
    }
    run.wait(within);
    assert_eq!(outcomes(&run), expected, "{lines:?}");
}

#[test]
fn a_broken_answer_fails_the_request_that_it_seems_to_be_for() {
    let soon = Duration::from_secs(3);
    for line in [
        r#"{"jsonrpc":"2.0","id":3,"id":99,"result":{}}"#,
        r#"{'jsonrpc': '2.0', 'id': 3, 'result': {}}"#,
        r#"{ jsonrpc: '2.0', id: 3, result: [Object] }"#,
        r#""{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}""#,
        r#"JSONRPCResponse(jsonrpc='2.0', id=3, result={'content': []})"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"a":}}"#,
        r#"{"error":"bad request","id":3}"#,
        r#"{"id":3,"result":"x"}"#,
        r#"{"id":3,"status":"error","error":"x"}"#,
    ] {
        check(&[line], soon, ["error", "none"]);
    }
    let utf16: Vec<u8> = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut run = calling();
    run.show(super::SERVER, &utf16);
    run.wait(soon);
    assert_eq!(outcomes(&run), ["error", "none"]);
}

#[test]
fn a_proper_answer_in_time_ends_the_doubt() {
    let soon = Duration::from_secs(60);
    let broken = r#"{'jsonrpc': '2.0', 'id': 3, 'result': {}}"#;
    check(&[broken, &answer(3, "fine")], soon, ["result", "none"]);
}

#[test]
fn an_answer_that_cannot_be_assigned_fails_all_in_the_end() {
    for line in [
        r#"{"jsonrpc":"2.0","result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"#,
        r#"ent":[{"type":"text","text":"ok"}]}}"#,
    ] {
        check(&[line], Duration::from_secs(29), ["none", "none"]);
        check(&[line], Duration::from_secs(31), ["error", "error"]);
        let is_held = line.ends_with(':');
        let expected = if is_held { "error" } else { "result" };
        check(&[line, &answer(3, "fine")], Duration::from_secs(31), [expected, "error"]);
    }
}

/// The rest of a torn answer and the start of another one share a line, and the brackets on it match.
#[test]
fn any_part_of_an_answer_after_a_torn_line_fails_later_requests_in_the_end() {
    for line in [
        r#"b","type":"text"}],"isError":false}}{"result":{"content":[{"type":"text","text":"a"#,
        r#"{"params":{"a":1},"id":"r1","method":"roots/list"} "}]},"id":2,"jsonrpc":"2.0"}"#,
        r#"text"}]},"id":"#,
    ] {
        let mut run = Run::open(Profile::Balanced, "2025-06-18");
        run.call(1, "torn");
        run.server(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""#);
        run.wait(Duration::from_millis(400));
        run.call(3, "fetch");
        run.call(4, "slow");
        run.server(line);
        run.wait(Duration::from_secs(31));
        assert_eq!(outcomes(&run), ["error", "error"], "{line}");
    }
}

/// A log line says nothing about requests, even after a torn line.
#[test]
fn a_plain_log_line_after_a_torn_one_makes_no_request_doubtful() {
    let mut run = Run::open(Profile::Balanced, "2025-06-18");
    run.call(1, "torn");
    run.server(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""#);
    run.wait(Duration::from_millis(400));
    run.call(3, "fetch");
    run.call(4, "slow");
    for line in ["Server running on stdio", r#"[INFO] read "a.txt""#, r#"{"level":"info"}"#] {
        run.server(line);
    }
    run.wait(Duration::from_secs(60));
    assert_eq!(outcomes(&run), ["none", "none"]);
}

/// Content has broken the answer and written the second one.
#[test]
fn a_second_answer_after_a_torn_one_fails_the_request() {
    let torn = r#""b"}]},"id":3,"jsonrpc":"2.0","error":1}"#;
    check(&[torn, &answer(3, "planted")], Duration::from_secs(1), ["error", "none"]);
    check(&[torn, &answer(4, "fine")], Duration::from_secs(1), ["none", "result"]);
}

/// A torn answer is put together, and lines of other answers may be text in it.
#[test]
fn lines_that_became_text_fail_others_in_the_end() {
    let mut run = calling();
    run.server(r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"a"#);
    run.server(r#"b"}]},"id":"#);
    run.server(r#"c"}]}}"#);
    run.wait(Duration::from_secs(1));
    assert_eq!(outcomes(&run), ["result", "none"]);
    run.wait(Duration::from_secs(31));
    assert_eq!(outcomes(&run), ["result", "error"]);
}

/// A server that changes the type of ids means 2 and writes "2".
#[test]
fn the_failure_of_a_request_makes_its_twin_doubtful() {
    for id in ["2", "\"2\""] {
        let mut run = Run::open(Profile::Balanced, "2025-06-18");
        for id in ["2", "\"2\""] {
            run.client(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#
            ));
        }
        run.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"result":{{}}}}"#));
        run.wait(Duration::from_secs(31));
        let ids: Vec<serde_json::Value> =
            run.to_client.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(ids.len(), 2, "{ids:?}");
        assert!(ids.iter().all(|it| it["error"].is_object()), "{ids:?}");
    }
}

/// Content gives the answer to 3 the id of a request that has its answer.
#[test]
fn an_answer_to_a_finished_request_fails_others_in_the_end() {
    let mut run = calling();
    run.call(5, "quick");
    run.server(&answer(5, "done"));
    run.server(&answer(5, "the answer to 3"));
    run.wait(Duration::from_secs(31));
    assert_eq!(outcomes(&run), ["error", "error"]);
}

#[test]
fn progress_shows_that_a_request_is_alive() {
    let mut run = Run::open(Profile::Balanced, "2025-06-18");
    run.client(
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":"t"}}}"#,
    );
    run.call(4, "slow");
    run.server(r#"{"jsonrpc":"2.0","result":{"content":[]}}"#);
    for _ in 0..5 {
        run.wait(Duration::from_secs(25));
        run.server(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
        );
    }
    assert_eq!(outcomes(&run), ["none", "error"]);
    // Without further progress it fails as well.
    run.wait(Duration::from_secs(31));
    assert_eq!(outcomes(&run), ["error", "error"]);
}

#[test]
fn log_lines_make_no_request_doubtful() {
    for line in [
        r#"{"level":"info","msg":"handling request","id":3}"#,
        r#"{"time":1,"id":3,"error":"file not found"}"#,
        r#"[INFO] received {"jsonrpc":"2.0","id":3,"method":"tools/call"}"#,
        "Server running on stdio",
        r#"{"jsonrpc":"2.0","id":3,"method":"ping","method":"pong"}"#,
    ] {
        check(&[line], Duration::from_secs(120), ["none", "none"]);
    }
}

#[test]
fn an_answer_behind_padding_is_delivered() {
    for prefix in ["\0\0", "\x1b[0m", "\x1b[2K\r", "\r", "\u{feff}\u{feff}"] {
        check(&[&format!("{prefix}{}", answer(3, "a"))], Duration::ZERO, ["result", "none"]);
    }
}

/// A log line that quotes a document has the same bytes, and the document may name any request.
#[test]
fn an_answer_behind_other_text_fails_its_request_in_the_end() {
    for prefix in [
        "Loading... ",
        "[INFO] ",
        "INFO fetched title=",
        "> ",
        "- ",
        "// ",
        "<!-- ",
        "50%|## | ",
        "50%\r",
        "Downloading x\r",
        "\u{a0}",
        "\x1b]0;a\x07",
    ] {
        let line = format!("{prefix}{}", answer(3, "a"));
        check(&[&line], Duration::from_secs(1), ["none", "none"]);
        check(&[&line], Duration::from_secs(3), ["error", "none"]);
        let mut run = calling();
        run.server(&line);
        run.server(&answer(3, "the proper one"));
        run.wait(Duration::from_secs(3));
        assert_eq!(run.to_client, [answer(3, "the proper one")]);
    }
}

/// A server prints a page with an answer in it, formatted for people.
#[test]
fn a_pretty_printed_answer_between_log_lines_is_not_delivered() {
    let pretty = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 3,\n  \"result\": {}\n}";
    for (before, after, expected) in [
        (Some("```json"), Some("```"), "error"),
        (Some("# Example"), None, "error"),
        (None, Some("as above"), "error"),
        (None, None, "result"),
    ] {
        let mut run = calling();
        before.into_iter().for_each(|line| run.server(line));
        pretty.lines().for_each(|line| run.server(line));
        after.into_iter().for_each(|line| run.server(line));
        run.wait(Duration::from_secs(6));
        assert_eq!(outcomes(&run), [expected, "none"], "{before:?} {after:?}");
    }
}

#[test]
fn what_is_no_answer_is_not_delivered_from_behind_other_text() {
    for message in [
        super::SAMPLING,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
    ] {
        let mut run = calling();
        run.server(&format!("Loading... {message}"));
        run.wait(Duration::from_secs(1));
        assert_eq!(run.to_client, [""; 0]);
    }
}

/// Official clients take no result but an object, and their callers would wait.
#[test]
fn a_result_that_is_no_object_fails_its_request() {
    for result in ["null", "5", "\"x\"", "[]", "true"] {
        let mut run = Run::open(Profile::Balanced, "2025-06-18");
        run.call(1, "a");
        run.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        let error = run.only_to_client();
        assert!(error["error"].is_object(), "{result}: {error}");
    }
}
