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

/// The server lost the line end of a notification, and content broke the notification.
#[test]
fn an_answer_behind_a_broken_notification_fails_all_in_the_end() {
    let line = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"a"}{"jsonrpc":"2.0","id":99,"method":"tools/call"}"},{"text":"x"}}{"jsonrpc":"2.0","result":{"content":[]}}"#;
    check(&[line], Duration::from_secs(31), ["error", "error"]);
    // Alone, the notification answers nothing.
    let line = line.strip_suffix(r#"{"jsonrpc":"2.0","result":{"content":[]}}"#).unwrap();
    check(&[line], Duration::from_secs(31), ["none", "none"]);
}

/// The server says something about a request, or answers without the message around it.
#[test]
fn a_reaction_that_is_no_answer_fails_its_request_in_the_end() {
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"fetch"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/response","params":{"id":3,"result":{}}}"#,
    ] {
        check(&[line], Duration::from_secs(31), ["error", "none"]);
        check(&[line, &answer(3, "fine")], Duration::from_secs(31), ["result", "none"]);
    }
    for lines in [
        &[r#"{"type":"text","text":"hello"}"#][..],
        &[r#"{"error":"boom"}"#],
        &[r#"{"isError":true,"content":"x"}"#],
        &["{", r#""content": [{"type":"text","text":"x"}]"#, "}"],
    ] {
        check(lines, Duration::from_secs(31), ["error", "error"]);
    }
    for line in [
        r#"{"level":"error","error":"boom"}"#,
        r#"{"type":"text","text":"hello","level":"info"}"#,
        "[]",
        "{}",
    ] {
        check(&[line], Duration::from_secs(31), ["none", "none"]);
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

/// A server dies while it prints its answer over several lines, and another thread goes on.
#[test]
fn an_opening_bracket_that_never_closes_fails_its_caller_whatever_follows() {
    let ticks = [
        "INFO tick",
        r#"{"level":"info"}"#,
        r#""a":1,"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"t"}}"#,
    ];
    for (head, tick) in ["{", "["].into_iter().flat_map(|head| ticks.map(|tick| (head, tick))) {
        let mut run = calling();
        run.server(head);
        for _ in 0..70 {
            run.wait(Duration::from_secs(1));
            run.server(tick);
        }
        assert_eq!(outcomes(&run), ["error", "error"], "{head} {tick}");
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

/// A server with a timer for progress must not keep the caller of a request waiting that it has answered
/// badly.
#[test]
fn progress_delays_the_failure_of_a_named_request_once() {
    for line in [
        r#"{"jsonrpc":"2.0","id":"3","result":{"content":[]}}"#,
        r#"{'jsonrpc': '2.0', 'id': 3, 'result': {}}"#,
        r#"INFO sent {"jsonrpc":"2.0","id":3,"result":{}}"#,
    ] {
        let mut run = Run::open(Profile::Balanced, "2025-06-18");
        run.client(
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":"t"}}}"#,
        );
        run.call(4, "slow");
        run.server(line);
        for _ in 0..31 {
            run.wait(Duration::from_secs(1));
            run.server(
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
            );
        }
        assert_eq!(outcomes(&run)[0], "error", "{line}");
    }
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

/// Loggers color their lines, or the values on them.
#[test]
fn colored_log_lines_make_no_request_doubtful() {
    for line in [
        "\x1b[32m{\"level\":\"info\"}\x1b[0m",
        "\x1b[32m{\"level\":\"info\",\"data\":[1,{\"a\":2}]}\x1b[39m",
        "{\x1b[36m\"level\"\x1b[0m:\x1b[32m\"info\"\x1b[0m}",
        "\x1b[90m12:00\x1b[0m INFO {\"id\":3,\"error\":\"none\"}\x1b[0m",
        "\x1b[1;32m[\x1b[0m{\"id\":3}\x1b[1;32m]\x1b[0m",
    ] {
        check(&[line, line], Duration::from_secs(120), ["none", "none"]);
        let mut run = calling();
        run.server(line);
        run.server(super::SAMPLING);
        run.wait(Duration::from_secs(1));
        assert_eq!(run.to_client, [super::SAMPLING], "{line:?}");
    }
    // An answer between colors is an answer: its request gets it, or an error.
    let line = format!("\x1b[32m{}\x1b[0m", answer(3, "a"));
    check(&[&line], Duration::ZERO, ["result", "none"]);
    check(&[&line, &answer(3, "a")], Duration::from_secs(60), ["result", "none"]);
}

#[test]
fn an_answer_behind_padding_is_delivered() {
    for prefix in ["\0\0", "\x1b[0m", "\x1b[2K\r", "\r", "\u{feff}\u{feff}"] {
        check(&[&format!("{prefix}{}", answer(3, "a"))], Duration::ZERO, ["result", "none"]);
    }
}

/// Values that servers print over several lines: no message is in them.
const DUMPS: [&str; 8] = [
    "{\n  \"level\": \"info\",\n  \"data\": {\n    \"a\": \"b\"\n  },\n  \"list\": [\n    1\n  ]\n}",
    "{\n  \"id\": 3,\n  \"name\": \"x\",\n  \"tags\": [\n    {\n      \"id\": 4\n    }\n  ]\n}",
    "[\n  {\n    \"id\": 3,\n    \"name\": \"x\"\n  },\n  {\n    \"name\": \"y\"\n  }\n]",
    "[\n  {\n    \"name\": \"y\"\n  },\n  {\n    \"id\": 3\n  }\n]",
    "{\"level\":\"info\",\n\"data\":{\"a\":[\n{\"b\":\"c\"}]}}",
    "{\"_meta\": {\"a\": 1,\n  \"b\": \"c\"}}",
    "loaded config: {\n  \"a\": {\n    \"error\": {\n      \"b\": null\n    }\n  }\n}",
    "{\n  level: 'info',\n  data: { a: [ 'it', \"it's\" ] },\n  next: [\n    'x' ] }",
];

#[test]
fn a_value_that_is_printed_on_several_lines_is_noise() {
    for dump in DUMPS {
        for pause in [0, 1000] {
            let mut run = calling();
            run.server(&answer(4, "a"));
            for _ in 0..2 {
                dump.lines().for_each(|line| run.server(line));
                run.wait(Duration::from_millis(pause));
            }
            run.server(super::SAMPLING);
            run.wait(Duration::from_millis(20));
            let expected = [answer(4, "a"), super::SAMPLING.to_owned()];
            assert_eq!(run.to_client, expected, "{dump}");
            assert!(!run.rules().contains(&hardline_guard::Rule::FrameSplit), "{dump}");
            run.wait(Duration::from_secs(120));
            assert_eq!(outcomes(&run), ["none", "result"], "{dump}");
        }
    }
}

/// A message interrupts the value, so the lines before it may have been another one.
#[test]
fn a_message_inside_a_printed_value_is_not_delivered() {
    for head in ["{\"level\":\"info\",\"title\":\"a\",", "{\"_meta\": {\"a\": \"b\","] {
        let mut run = calling();
        run.server(head);
        run.server(super::SAMPLING);
        run.server(r#""b":1}}"#);
        run.wait(Duration::from_secs(60));
        assert!(!run.to_client.iter().any(|it| it.contains("sampling/")), "{head}");
        assert_eq!(outcomes(&run), ["error", "error"], "{head}");
    }
}

/// The way in which Node prints an object, and Python's `pprint`.
#[test]
fn an_answer_that_is_printed_as_a_literal_fails_its_request() {
    for literal in [
        "{\n  jsonrpc: '2.0',\n  id: 3,\n  result: { content: [ [Object] ] }\n}",
        "{\n  jsonrpc: '2.0',\n  id: 3,\n  result: {\n    content: [\n      { type: 'text', text: \"it's\" }\n    ]\n  }\n}",
        "sending {\n  result: { content: [] },\n  jsonrpc: '2.0',\n  id: 3\n}",
        "{'id': 3,\n 'jsonrpc': '2.0',\n 'result': {'content': [{'text': 'a',\n                          'type': 'text'}]}}",
        "{\n  jsonrpc: `2.0`,\n  id: 3,\n  error: { code: 1, message: 'no' },",
    ] {
        let lines: Vec<_> = literal.lines().collect();
        let within = if literal.ends_with(',') { 8 } else { 3 };
        check(&lines, Duration::from_secs(within), ["error", "none"]);
        let proper = answer(3, "the proper one");
        let with_proper: Vec<_> = lines.iter().copied().chain([&*proper]).collect();
        check(&with_proper, Duration::from_secs(60), ["result", "none"]);
        let after_proper: Vec<_> = [&*proper].into_iter().chain(lines).collect();
        check(&after_proper, Duration::from_secs(60), ["result", "none"]);
    }
}

/// A server prints each answer once more, as it is or for people.
#[test]
fn a_copy_of_an_answer_is_dropped_and_harms_nobody() {
    let pretty = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": #,\n  \"result\": {\n    \"content\": [\n      {\n        \"type\": \"text\",\n        \"text\": \"a\"\n      }\n    ]\n  }\n}";
    let plain = answer(0, "a").replacen('0', "#", 1).replacen("2.#", "2.0", 1);
    let plain = plain.replacen("\"id\":0", "\"id\":#", 1);
    for (first, second) in [
        (plain.clone(), plain.clone()),
        (plain.clone(), format!("DEBUG sent {plain}")),
        (format!("DEBUG sending {plain}"), plain.clone()),
        (plain.clone(), pretty.to_owned()),
        (pretty.to_owned(), plain.clone()),
    ] {
        for profile in [Profile::Balanced, Profile::Strict] {
            let mut run = Run::open(profile, "2025-06-18");
            run.call(9, "slow");
            for id in 1..=3 {
                run.call(id, "fetch");
                for text in [&first, &second] {
                    let text = text.replace('#', &id.to_string());
                    text.lines().for_each(|line| run.server(line));
                }
                run.wait(Duration::from_secs(1));
            }
            run.server(super::SAMPLING);
            run.wait(Duration::from_secs(60));
            let kinds: Vec<_> = run.to_client.iter().map(|it| it.contains("error")).collect();
            assert_eq!(kinds, [false; 4], "{profile} {first} {second} {:?}", run.to_client);
            assert!(run.closed.is_none());
        }
    }
}

/// After a torn line answers wait, and a copy contradicts nothing.
#[test]
fn a_copy_of_an_answer_does_not_contradict_it() {
    let mut run = calling();
    run.server(r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"a"#);
    run.wait(Duration::from_millis(400));
    run.server(&answer(4, "fine"));
    run.server(&answer(4, "fine"));
    run.wait(Duration::from_secs(1));
    assert_eq!(outcomes(&run), ["error", "result"]);
}

/// Answers that share their line with something else, or are written in another way.
#[test]
fn an_odd_line_with_an_answer_is_delivered_or_fails_its_request() {
    let plain = answer(3, "a");
    let utf16 = |text: &str| -> Vec<u8> {
        format!("{text}\n").encode_utf16().flat_map(u16::to_le_bytes).collect()
    };
    let soon = Duration::from_secs(3);
    check(&[&format!("  \t{plain}")], soon, ["result", "none"]);
    check(&[&format!("{{\"level\":\"info\"}} {plain}")], soon, ["error", "none"]);
    check(&[&format!("{{\"level\":\"info\"}}{plain}")], soon, ["error", "none"]);
    check(&[&format!("{plain}{{\"level\":\"info\"}}")], soon, ["error", "none"]);
    for bytes in [utf16(&plain), utf16(&format!("  {plain}"))] {
        let mut run = calling();
        run.show(super::SERVER, &bytes);
        run.wait(soon);
        assert_eq!(outcomes(&run), ["error", "none"]);
    }
    // A planted answer between two of these is not delivered.
    let mut run = calling();
    run.show(super::SERVER, &utf16("a log line"));
    run.show(super::SERVER, &utf16(&answer(3, "planted")));
    run.server(super::SAMPLING);
    run.wait(Duration::from_secs(60));
    assert!(run.to_client.iter().all(|it| !it.contains("planted") && !it.contains("sampling/")));
    assert_eq!(outcomes(&run)[0], "error");
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
