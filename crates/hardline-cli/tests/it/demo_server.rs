//! `hardline demo-server`, over pipes.
#![expect(clippy::indexing_slicing, reason = "a test may panic")]

use std::time::{Duration, Instant};

use hardline_wire::limits::DEFAULT_FRAME_BYTES;
use serde_json::{Value, json};

use super::hardline;
use super::session::Session;

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Time that rmcp gives running calls after the end of standard input.
const DRAIN: Duration = Duration::from_secs(5);

/// Returns a session after `initialize`. Request ids from 1 on are free.
fn legacy(version: &str) -> Session {
    let mut session = Session::start(&["demo-server"], &[("HARDLINE_DEMO_TEST", "grün")]);
    let answer = session.request(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}));
    assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
    assert_eq!(answer["result"]["serverInfo"]["name"], "hardline-demo");
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    session
}

fn request(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: u32, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Returns a request of 2026-07-28, which carries what older versions negotiate once per session.
fn modern(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    request(id, method, params)
}

#[track_caller]
fn end(session: Session) {
    assert_eq!(session.end().code(), Some(0));
}

#[track_caller]
fn check(tool: &str, arguments: Value, is_error: bool, expected: &str) {
    let mut session = legacy("2025-11-25");
    let result = session.request(&call(1, tool, arguments))["result"].take();
    let content = json!([{"type": "text", "text": expected}]);
    assert_eq!(result, json!({"content": content, "isError": is_error}));
    end(session);
}

#[test]
fn offers_six_tools_with_schemas_and_annotations() {
    let mut session = legacy("2025-11-25");
    let mut result = session.request(&request(1, "tools/list", json!({})))["result"].take();
    let tools = result["tools"].as_array_mut().unwrap();
    let arguments = json!({
        "big": {"bytes": {"type": "integer", "minimum": 0, "maximum": 15 << 20}},
        "echo": {"text": {"type": "string"}},
        "env": {},
        "fail": {"message": {"type": "string"}},
        "progress": {"steps": {"type": "integer", "minimum": 0, "maximum": 100_000},
            "ms": {"type": "integer", "minimum": 0, "maximum": 60_000, "default": 0}},
        "sleep": {"ms": {"type": "integer", "minimum": 0, "maximum": 3_600_000}},
    });
    assert_eq!(tools.len(), arguments.as_object().unwrap().len());
    for tool in tools {
        let name = tool["name"].as_str().unwrap().to_owned();
        let schema = tool["inputSchema"].as_object_mut().unwrap();
        for property in schema["properties"].as_object_mut().unwrap().values_mut() {
            let description = property.as_object_mut().unwrap().remove("description");
            assert!(description.is_some_and(|it| it.is_string()), "{name}");
        }
        assert_eq!(schema["properties"], arguments[&name], "{name}");
        assert_eq!(schema["additionalProperties"], false, "{name}");
        let required = schema.get("required").and_then(Value::as_array);
        assert_eq!(required.map(Vec::len), (name != "env").then_some(1), "{name}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{name}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{name}");
        assert!(tool["description"].is_string(), "{name}");
    }
    end(session);
}

#[test]
fn echoes_a_text() {
    let text = "Grüße\n\"\u{2028}\u{0}\u{1f600}";
    check("echo", json!({"text": text}), false, text);
}

#[test]
fn fails_when_asked_to() {
    check("fail", json!({"message": "as asked"}), true, "as asked");
}

#[test]
fn answers_after_a_sleep() {
    check("sleep", json!({"ms": 1}), false, "slept 1 ms");
}

#[test]
fn says_what_is_wrong_with_arguments() {
    let read = "failed to deserialize parameters: ";
    check("echo", json!({}), true, &format!("{read}missing field `text`"));
    check("echo", json!({"txt": ""}), true, &format!("{read}unknown field `txt`, expected `text`"));
    check("env", json!({"a": 1}), true, &format!("{read}unknown field `a`, there are no fields"));
    check(
        "big",
        json!({"bytes": 15_728_641}),
        true,
        "bytes must be at most 15728640, not 15728641",
    );
    check("sleep", json!({"ms": 3_600_001}), true, "ms must be at most 3600000, not 3600001");
    let steps = json!({"steps": 100_001});
    check("progress", steps, true, "steps must be at most 100000, not 100001");
    let slow = json!({"steps": 1, "ms": 60_001});
    check("progress", slow, true, "ms must be at most 60000, not 60001");
}

#[test]
fn big_texts_have_the_size_asked_for_and_fit_a_frame() {
    let mut session = legacy("2025-11-25");
    for bytes in [0, 1, 63, 64, 65, 1_000_000, DEFAULT_FRAME_BYTES - (1 << 20)] {
        session.send(&call(1, "big", json!({"bytes": bytes})));
        let line = session.line();
        assert!(line.len() < DEFAULT_FRAME_BYTES);
        let answer: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(bytes));
    }
    end(session);
}

#[test]
fn shows_its_environment() {
    let mut session = legacy("2025-11-25");
    let answer = session.request(&call(1, "env", json!({})));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let variables: Value = serde_json::from_str(text).unwrap();
    assert_eq!(variables["HARDLINE_DEMO_TEST"], "grün");
    end(session);
}

#[test]
fn reports_every_step_before_the_result() {
    let mut session = legacy("2025-11-25");
    for token in [json!("a"), json!(7)] {
        session.send(&request(
            1,
            "tools/call",
            json!({"name": "progress",
            "arguments": {"steps": 100}, "_meta": {"progressToken": token}}),
        ));
        for step in 1..=100 {
            let params =
                json!({"progressToken": token, "progress": f64::from(step), "total": 100.0});
            let expected =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            assert_eq!(session.receive(), expected);
        }
        let answer = session.receive();
        assert_eq!(answer["result"]["content"][0]["text"], "took 100 steps", "{answer}");
    }
    end(session);
}

#[test]
fn reports_no_progress_to_who_does_not_ask_for_it() {
    check("progress", json!({"steps": 3, "ms": 1}), false, "took 3 steps");
}

/// A cancelled call gets no answer, and does not keep the server alive.
#[track_caller]
fn check_cancellation(tool: &str, arguments: Value) {
    let mut session = legacy("2025-11-25");
    session.send(&call(1, tool, arguments));
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1, "reason": "changed my mind"}}));
    let answer = session.request(&call(2, "echo", json!({"text": "still there"})));
    assert_eq!(answer["result"]["content"][0]["text"], "still there");
    let closed = Instant::now();
    end(session);
    assert!(closed.elapsed() < DRAIN, "the call went on after it was cancelled");
}

#[test]
fn a_sleep_ends_when_it_is_cancelled() {
    check_cancellation("sleep", json!({"ms": 3_600_000}));
}

#[test]
fn progress_ends_when_it_is_cancelled() {
    check_cancellation("progress", json!({"steps": 100_000, "ms": 60_000}));
}

#[test]
fn other_calls_are_answered_during_a_sleep() {
    let mut session = legacy("2025-11-25");
    session.send(&call(1, "sleep", json!({"ms": 3_600_000})));
    session.request(&call(2, "echo", json!({"text": ""})));
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}}));
    end(session);
}

#[test]
fn has_one_resource() {
    let mut session = legacy("2025-11-25");
    let listed = session.request(&request(1, "resources/list", json!({})));
    assert_eq!(listed["result"]["resources"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["result"]["resources"][0]["uri"], "demo://greeting");
    let read = session.request(&request(2, "resources/read", json!({"uri": "demo://greeting"})));
    let text = "Hello from Hardline's demo server.";
    let contents = json!([{"uri": "demo://greeting", "mimeType": "text/plain", "text": text}]);
    assert_eq!(read["result"], json!({ "contents": contents }));
    let missing = session.request(&request(3, "resources/read", json!({"uri": "demo://other"})));
    assert_eq!(missing["error"]["code"], -32002);
    end(session);
}

#[test]
fn has_one_prompt() {
    let mut session = legacy("2025-11-25");
    let listed = session.request(&request(1, "prompts/list", json!({})));
    assert_eq!(listed["result"]["prompts"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["result"]["prompts"][0]["arguments"][0]["name"], "name");
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let prompt = session.request(&request(2, "prompts/get", params));
    let content = json!({"type": "text", "text": "Write a short greeting for Ada."});
    assert_eq!(prompt["result"]["messages"], json!([{"role": "user", "content": content}]));
    for params in [json!({"name": "greet"}), json!({"name": "other"})] {
        let refused = session.request(&request(3, "prompts/get", params));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    end(session);
}

#[test]
fn speaks_every_version_with_initialize() {
    for version in LEGACY {
        let mut session = legacy(version);
        let answer = session.request(&call(1, "echo", json!({"text": version})));
        let content = json!([{"type": "text", "text": version}]);
        assert_eq!(answer["result"], json!({"content": content, "isError": false}), "{version}");
        session.request(&request(2, "ping", json!({})));
        end(session);
    }
}

#[test]
fn offers_its_newest_version_to_who_asks_for_an_unknown_one() {
    for asked in ["1999-01-01", "2026-07-28"] {
        let mut session = Session::start(&["demo-server"], &[]);
        let answer = session.request(&request(
            0,
            "initialize",
            json!({"protocolVersion": asked, "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}),
        ));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        end(session);
    }
}

#[test]
fn speaks_2026_07_28_without_initialize() {
    let mut session = Session::start(&["demo-server"], &[]);
    let found = session.request(&modern(1, "server/discover", json!({})))["result"].take();
    let versions = json!([LEGACY[0], LEGACY[1], LEGACY[2], LEGACY[3], "2026-07-28"]);
    assert_eq!(found["supportedVersions"], versions);
    assert!(found["capabilities"]["tools"].is_object(), "{found}");

    let listed = session.request(&modern(2, "tools/list", json!({})))["result"].take();
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(6));
    assert_eq!(listed["resultType"], "complete");
    assert!(listed["ttlMs"].is_u64() && listed["cacheScope"].is_string(), "{listed}");

    let params = json!({"name": "echo", "arguments": {"text": "stateless"}});
    let called = session.request(&modern(3, "tools/call", params))["result"].take();
    assert_eq!(called["content"][0]["text"], "stateless");
    assert_eq!(called["resultType"], "complete");

    let params = json!({"name": "progress", "arguments": {"steps": 2},
        "_meta": {"progressToken": "p"}});
    session.send(&modern(4, "tools/call", params));
    for step in [1.0, 2.0] {
        let said = session.receive();
        assert_eq!(said["params"]["progress"], step, "{said}");
    }
    assert_eq!(session.receive()["id"], 4);

    let missing = session.request(&modern(5, "resources/read", json!({"uri": "demo://other"})));
    assert_eq!(missing["error"]["code"], -32602);
    let bare = session.request(&call(6, "echo", json!({"text": ""})));
    assert_eq!(bare["error"]["code"], -32602, "{bare}");
    end(session);
}

#[test]
fn refuses_tools_and_methods_that_it_does_not_have() {
    let mut session = legacy("2025-11-25");
    let tool = session.request(&call(1, "other", json!({})));
    assert_eq!(tool["error"]["code"], -32602, "{tool}");
    let method = session.request(&request(2, "tools/other", json!({})));
    assert_eq!(method["error"]["code"], -32601, "{method}");
    end(session);
}

#[test]
fn ends_well_when_nobody_asks_anything() {
    end(Session::start(&["demo-server"], &[]));
}

#[test]
fn answers_what_was_asked_before_the_end_of_input() {
    let mut session = Session::start(&["demo-server"], &[]);
    session.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    session.close_input();
    assert_eq!(session.receive(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    end(session);
}

#[test]
fn help_says_what_it_is() {
    let output = hardline(&["demo-server", "--help"], b"");
    let help = String::from_utf8(output.stdout).unwrap();
    for part in ["built-in MCP server", "Examples:", "| hardline demo-server", "2026-07-28"] {
        assert!(help.contains(part), "{part} is missing from:\n{help}");
    }
}
