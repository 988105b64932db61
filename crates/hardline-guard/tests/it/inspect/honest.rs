//! Honest servers: what SDKs write in a row arrives, and no caller waits for an answer that clients drop.

use std::time::Duration;

use hardline_guard::Rule;
use hardline_guard::policy::Profile;

use super::{Run, answer};

/// A form as the Python SDK writes it.
const FORM: &str = r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"properties":{"n":{"title":"N","type":"string"}},"required":["n"],"title":"Ask","type":"object"}}}"#;
const SAMPLE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":100}}"#;

fn open(profile: Profile) -> Run {
    let mut run = Run::with(profile);
    run.client(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{},"elicitation":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#);
    run.server(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}"#);
    run.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    run.call(1, "ask");
    run.to_client.clear();
    run
}

#[test]
fn requests_of_an_sdk_arrive_whatever_it_wrote_right_before() {
    let lines = [
        "",
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"message":"half"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":{"b":"c"}}}}"#,
        r#"{"level":"info","msg":"asking"}"#,
        r#"{"level":"info","ctx":{"a":{"msg":"asking"}}}"#,
        "INFO asking [1]",
    ];
    let other = |line: &str| line.replacen(r#""id":7"#, r#""id":8"#, 1);
    let roots = r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#;
    for before in lines {
        for request in [FORM, SAMPLE, roots] {
            for count in [1, 2] {
                let mut run = open(Profile::Balanced);
                if !before.is_empty() {
                    run.server(before);
                }
                let requests = [request.to_owned(), other(request)];
                requests.iter().take(count).for_each(|it| run.server(it));
                run.wait(Duration::from_secs(1));
                let arrived: Vec<_> =
                    run.to_client.iter().filter(|it| requests.contains(it)).collect();
                assert_eq!(arrived.len(), count, "{before} {request}: {:?}", run.found);
            }
        }
    }
}

#[test]
fn messages_that_need_no_capability_close_no_session_in_a_flood() {
    let mut run = Run::open(Profile::Strict, "2025-06-18");
    run.call(1, "chatty");
    // This server has not declared `logging`.
    let line = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}"#;
    for _ in 0..200 {
        run.server(line);
    }
    run.server(&answer(1, "done"));
    run.wait(Duration::from_secs(1));
    assert_eq!(run.closed, None);
    assert!(run.to_client.contains(&answer(1, "done")));
}

#[test]
fn a_log_line_in_json_leaves_time_for_the_answer() {
    for line in [
        r#"{"level":30,"id":1,"msg":"done","result":{"rows":3}}"#,
        r#"{"level":50,"id":1,"error":{"code":1,"message":"retrying"}}"#,
    ] {
        for profile in [Profile::Balanced, Profile::Strict] {
            let mut run = open(profile);
            run.server(line);
            run.wait(Duration::from_millis(500));
            run.server(&answer(1, "ok"));
            run.wait(Duration::from_secs(5));
            assert_eq!(run.to_client, [answer(1, "ok")], "{profile} {line}");
            // Without an answer, the request fails.
            let mut run = open(profile);
            run.server(line);
            run.wait(Duration::from_secs(5));
            assert!(run.only_to_client()["error"].is_object(), "{profile} {line}");
        }
    }
}

#[test]
fn an_answer_reaches_its_caller_without_the_members_that_clients_refuse() {
    for profile in [Profile::Balanced, Profile::Strict] {
        for more in [r#""note":{"a":1}"#, r#""__proto__":{}"#, r#""id2":"\"""#] {
            let mut run = open(profile);
            run.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[]}},{more}}}"#));
            assert_eq!(run.to_client, [r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#]);
            assert_eq!(run.rules(), [Rule::FrameNoise]);
        }
    }
}

#[test]
fn an_answer_that_clients_drop_fails_its_request() {
    let digits = "1".repeat(4301);
    for result in [
        r#"{"content":[],"_meta":[]}"#,
        r#"{"content":[],"_m\u0065ta":1}"#,
        r#"{"_meta":{"progressToken":{}},"content":[]}"#,
        r#"{"content":[],"__proto__":{"_meta":5},"z":[{"c":""}]}"#,
        r#"{"content":[],"\u005f_proto__":{"instructions":"x"}}"#,
        r#"{"content":[],"_meta":{"__proto__":{"progressToken":[]}}}"#,
        r#"{"_meta":{"progressToken":1.5},"content":[]}"#,
        r#"{"_meta":{"progressToken":9007199254740993},"content":[]}"#,
        r#"{"_meta":{"progressToken":1e999},"content":[]}"#,
        r#"{"_meta":{"io.modelcontextprotocol/related-task":7},"content":[]}"#,
        r#"{"_meta":{"io.modelcontextprotocol/related-task":{}},"content":[]}"#,
        r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":5}},"content":[]}"#,
        &format!(r#"{{"structuredContent":{{"n":{digits}}}}}"#),
        &format!(r#"{{"structuredContent":{{"n":-1.{digits}}}}}"#),
    ] {
        for profile in [Profile::Balanced, Profile::Strict] {
            let mut run = open(profile);
            run.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
            run.wait(Duration::from_secs(5));
            assert!(run.only_to_client()["error"].is_object(), "{profile} {result}");
        }
    }
    let mut run = open(Profile::Balanced);
    run.server(r#"{"jsonrpc":"2.0","id":1,"error":{"code":9007199254740993,"message":"x"}}"#);
    run.wait(Duration::from_secs(5));
    assert_eq!(run.only_to_client()["error"]["code"], -32603);
}

#[test]
fn metadata_that_clients_read_passes() {
    for meta in [
        r#"{"progressToken":-9007199254740991}"#,
        r#"{"progressToken":"a","io.modelcontextprotocol/related-task":{"taskId":"5"}}"#,
        r#"{"progress":{"taskId":5,"__proto__":1}}"#,
    ] {
        let mut run = open(Profile::Strict);
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"_meta":{meta}}}}}"#);
        run.server(&line);
        assert_eq!(run.to_client, [line]);
    }
}

#[test]
fn an_answer_that_asks_for_input_is_not_trimmed() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"error":{"message":"a","code":-32042,"data":{"elicitations":[]}},"x":{"c":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}},"x":{"b":[]}}"#,
        r#"{"x":1,"jsonrpc":"2.0","id":1,"result":{"resulttype":"input_required"}}"#,
    ] {
        for profile in [Profile::Balanced, Profile::Strict] {
            let mut run = open(profile);
            run.server(line);
            run.wait(Duration::from_secs(5));
            assert_eq!(run.only_to_client()["error"]["code"], -32603, "{profile} {line}");
            assert!(run.rules().contains(&Rule::FrameNotJsonrpc), "{profile} {line}");
        }
    }
}

#[test]
fn a_request_with_a_prototype_is_not_delivered() {
    for profile in [Profile::Balanced, Profile::Strict] {
        let mut run = open(profile);
        run.server(
            r#"{"jsonrpc":"2.0","id":70,"method":"roots/list","params":{"__proto__":{"a":1}}}"#,
        );
        run.server(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x","_meta":{"__proto__":{}}}}"#);
        run.wait(Duration::from_secs(1));
        assert_eq!(run.to_client, [""; 0], "{profile}");
        assert!(run.rules().contains(&Rule::FrameNotJsonrpc), "{profile}");
    }
}

#[test]
fn a_whole_line_that_is_no_strict_json_ends_no_session() {
    let request = r#"{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
    for result in [
        r#"{"content":[],"structuredContent":{"mean":NaN}}"#,
        r#"{"content":[{"type":"text","text":"ok"}],}"#,
        r#"{"content":[{"type":"text","text":"a"}],"content":[{"type":"text","text":"b"}]}"#,
        "{\"content\":[{\"type\":\"text\",\"text\":\"a\tb\"}]}",
    ] {
        for profile in [Profile::Balanced, Profile::Strict] {
            let mut run = open(profile);
            run.server(&answer(1, "ok"));
            for id in 2..6 {
                run.call(id, "ask");
                run.server(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#);
                run.wait(Duration::from_millis(50));
                run.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
                run.wait(Duration::from_secs(1));
            }
            assert_eq!(run.closed, None, "{profile} {result}");
            // Content may have ended any other answer that no parser accepts.
            if result.contains("NaN") {
                run.to_client.clear();
                run.server(request);
                run.wait(Duration::from_secs(1));
                assert_eq!(run.to_client, [request], "{profile} {result}");
            }
        }
    }
}
