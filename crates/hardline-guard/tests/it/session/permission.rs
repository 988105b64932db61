//! Methods that each side may send, and the phases in which it may.

use hardline_guard::Rule;
use hardline_guard::session::FloodLimit;
use hardline_wire::version::Version;

use super::Run;

#[test]
fn each_side_sends_its_own_methods() {
    let mut run = Run::opened("2025-11-25", r#"{"sampling":{}}"#, r#"{"tools":{}}"#);
    run.check(&[
        (r#"< {"id":1,"method":"tools/call"}"#, "session.wrong-direction answer 1 -32603"),
        (r#"< {"id":2,"method":"initialize"}"#, "session.wrong-direction answer 2 -32603"),
        (r#"< {"method":"notifications/initialized"}"#, "session.wrong-direction drop"),
        (
            r#"> {"id":3,"method":"sampling/createMessage"}"#,
            "session.wrong-direction answer 3 -32603",
        ),
        (r#"> {"method":"notifications/message"}"#, "session.wrong-direction drop"),
        (r#"< {"id":4,"method":"ping"}"#, "pass"),
        (r#"< {"id":5,"method":"sampling/createMessage"}"#, "pass"),
        (r#"< {"id":6,"method":"acme/ask"}"#, "pass"),
        (r#"> {"id":6,"method":"acme/ask"}"#, "pass"),
        (r#"< {"method":"acme/tell"}"#, "pass"),
    ]);
    let mut run = Run::new(FloodLimit::STRICT, Rule::strict);
    run.open("2025-11-25", "{}", "{}");
    run.check(&[(r#"< {"id":6,"method":"acme/ask"}"#, "session.unknown-method pass")]);
}

#[test]
fn methods_need_their_capability() {
    let blocked = |id| format!("session.capability answer {id} -32603");
    let mut run = Run::opened(
        "2025-06-18",
        r#"{"roots":{},"elicitation":false}"#,
        r#"{"tools":{"listChanged":true},"prompts":{}}"#,
    );
    run.check(&[
        (r#"< {"id":1,"method":"sampling/createMessage"}"#, &blocked(1)),
        (r#"< {"id":2,"method":"elicitation/create"}"#, &blocked(2)),
        (r#"< {"id":3,"method":"roots/list"}"#, "pass"),
        (r#"< {"method":"notifications/tools/list_changed"}"#, "pass"),
        (r#"< {"method":"notifications/prompts/list_changed"}"#, "session.capability(low) pass"),
        (r#"< {"method":"notifications/message"}"#, "session.capability(low) pass"),
        (r#"> {"id":4,"method":"resources/list"}"#, "session.capability(low) pass"),
    ]);
    // Features of a later version still need their capability.
    let mut run = Run::opened("2024-11-05", "{}", "{}");
    run.check(&[(r#"< {"id":2,"method":"elicitation/create"}"#, &blocked(2))]);
    let mut run = Run::opened("2024-11-05", r#"{"elicitation":{}}"#, "{}");
    run.check(&[(r#"< {"id":2,"method":"elicitation/create"}"#, "pass")]);
    // Tasks belong to the receiver.
    let mut run = Run::opened("2025-11-25", r#"{"tasks":{"list":{}}}"#, "{}");
    run.check(&[
        (r#"< {"id":1,"method":"tasks/list"}"#, "pass"),
        (r#"< {"id":2,"method":"tasks/cancel"}"#, &blocked(2)),
        (r#"> {"id":1,"method":"tasks/list"}"#, "session.capability(low) pass"),
    ]);
}

#[test]
fn a_server_waits_until_the_client_is_ready() {
    let early = |id| format!("session.lifecycle answer {id} -32603");
    let mut run = Run::balanced();
    run.check(&[
        (r#"< {"id":1,"method":"roots/list"}"#, &early(1)),
        (r#"< {"id":2,"method":"ping"}"#, "pass"),
        (r#"< {"method":"notifications/message"}"#, "pass"),
        (r#"< {"method":"notifications/tools/list_changed"}"#, "session.lifecycle(low) pass"),
        (r#"> {"id":1,"method":"tools/list"}"#, "session.lifecycle(low) pass"),
        (r#"> {"id":2,"method":"initialize","params":{"capabilities":{"roots":{}}}}"#, "pass"),
        (r#"< {"id":3,"method":"roots/list"}"#, &early(3)),
        // A client that does not wait.
        (r#"> {"method":"notifications/initialized"}"#, "pass"),
        (r#"> {"id":3,"method":"tools/list"}"#, "pass"),
        (r#"< {"id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#, "pass"),
        (r#"< {"id":4,"method":"roots/list"}"#, "pass"),
        (r#"> {"id":4,"method":"initialize"}"#, "session.lifecycle(low) pass"),
        (r#"< {"id":4,"error":{"code":1,"message":""}}"#, "pass"),
        (r#"< {"id":5,"method":"roots/list"}"#, &early(5)),
    ]);
    let mut run = Run::balanced();
    run.check(&[
        (r#"> {"id":2,"method":"initialize","params":{"capabilities":{"roots":{}}}}"#, "pass"),
        (r#"< {"id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#, "pass"),
        (r#"< {"id":3,"method":"roots/list"}"#, &early(3)),
        (r#"> {"method":"notifications/initialized"}"#, "pass"),
        (r#"< {"id":3,"method":"roots/list"}"#, "pass"),
    ]);
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":CAPS}"#;

fn stateless(id: u64, method: &str, capabilities: &str) -> String {
    let meta = META.replace("CAPS", capabilities);
    format!(r#"> {{"id":{id},"method":"{method}","params":{{{meta}}}}}"#)
}

#[test]
fn a_result_that_asks_for_input_absorbs_nothing_of_another_one() {
    let mut run = Run::balanced();
    run.check(&[(&stateless(1, "server/discover", "{}"), "pass")]);
    let request = r#"{"method":"elicitation/create","params":{"mode":"form"}}"#;
    for (id, members, expected) in [
        // What a template writes behind the content would be inside of these.
        (
            2,
            format!(r#""inputRequests":{{"a":{request}}},"requestState":[{{"z":""}}]"#),
            "frame.ambiguous-key fail 2",
        ),
        (
            3,
            format!(r#""inputRequests":[{request},{{"method":"roots/list","z":""}}]"#),
            "session.capability fail 3",
        ),
        (4, format!(r#""inputRequests":[{request}]"#), "frame.ambiguous-key fail 4"),
        (
            5,
            format!(r#""inputRequests":{{"a":{request}}},"cacheScope":{{}}"#),
            "frame.ambiguous-key fail 5",
        ),
        (6, format!(r#""inputRequests":{{"a":{request}}},"requestState":"s","ttlMs":1"#), "pass"),
    ] {
        run.check(&[
            (&stateless(id, "tools/call", r#"{"elicitation":{}}"#), "pass"),
            (
                &format!(r#"< {{"id":{id},"result":{{"resultType":"input_required",{members}}}}}"#),
                expected,
            ),
        ]);
    }
}

#[test]
fn without_a_handshake_each_request_speaks_for_itself() {
    let mut run = Run::balanced();
    run.check(&[(&stateless(1, "server/discover", "{}"), "pass")]);
    assert_eq!(run.session.version(), Some(Version::V2026_07_28));
    let input = |id, method| {
        format!(
            r#"< {{"id":{id},"result":{{"resultType":"input_required","inputRequests":{{"a":{{"method":"{method}"}}}}}}}}"#
        )
    };
    run.check(&[
        (
            r#"< {"id":1,"result":{"capabilities":{"tools":{},"prompts":{},"resources":{}}}}"#,
            "pass",
        ),
        (r#"< {"id":1,"method":"ping"}"#, "session.lifecycle answer 1 -32603"),
        (r#"< {"id":1,"method":"acme/ask"}"#, "session.lifecycle answer 1 -32603"),
        (r#"< {"id":2,"method":"sampling/createMessage"}"#, "session.lifecycle answer 2 -32603"),
        (r#"< {"method":"notifications/tools/list_changed"}"#, "session.capability(low) pass"),
        (r#"> {"method":"notifications/progress"}"#, "session.wrong-direction drop"),
        // The capabilities in a request apply to its own answer.
        (&stateless(2, "tools/call", r#"{"sampling":{}}"#), "pass"),
        (&stateless(3, "tools/call", "{}"), "pass"),
        (&stateless(4, "prompts/get", "{}"), "pass"),
        (&stateless(5, "resources/read", "{}"), "pass"),
        (&input(2, "sampling/createMessage"), "pass"),
        (&input(3, "sampling/createMessage"), "session.capability fail 3"),
        (&input(4, "tools/call"), "session.wrong-direction fail 4"),
        (&input(5, "acme/ask"), "pass"),
        // The most severe of several counts.
        (&stateless(7, "tools/call", "{}"), "pass"),
        (
            r#"< {"id":7,"result":{"inputRequests":{"a":{"method":"acme/ask"},"b":{"method":"roots/list"}}}}"#,
            "session.capability fail 7",
        ),
        // Some readers ignore the case of keys, and some take an array.
        (&stateless(8, "tools/call", "{}"), "pass"),
        (
            r#"< {"id":8,"result":{"InputRequests":{"a":{"method":"roots/list"}}}}"#,
            "session.capability fail 8",
        ),
        (&stateless(9, "tools/call", "{}"), "pass"),
        (
            r#"< {"id":9,"result":{"inputRequests":[{"Method":"sampling/createMessage"}]}}"#,
            "session.capability fail 9",
        ),
        // Content can close the result that it is part of, and add the members of this one.
        (&stateless(10, "tools/call", r#"{"elicitation":{}}"#), "pass"),
        (
            r#"< {"id":10,"result":{"content":[{"type":"text","text":"x"}],"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form"}}},"_":[{"z":""}]}}"#,
            "frame.ambiguous-key fail 10",
        ),
        (&stateless(11, "tools/call", r#"{"elicitation":{}}"#), "pass"),
        (
            r#"< {"id":11,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form"}}},"_meta":{}}}"#,
            "pass",
        ),
        // A notification about a task may have requests as well.
        (
            r#"< {"method":"notifications/tasks","params":{"inputRequests":{"a":{"method":"roots/list"}}}}"#,
            "session.capability drop",
        ),
        (r#"< {"id":3,"result":{}}"#, "session.duplicate-response drop"),
        // The server ends a subscription.
        (&stateless(6, "subscriptions/listen", "{}"), "pass"),
        (r#"< {"method":"notifications/subscriptions/acknowledged"}"#, "pass"),
        (r#"< {"method":"notifications/cancelled","params":{"requestId":6}}"#, "pass"),
        (r#"< {"id":6,"result":{}}"#, "drop"),
    ]);
    // The same where a handshake led to this version.
    let mut run = Run::opened("2026-07-28", r#"{"sampling":{}}"#, r#"{"tools":{}}"#);
    run.check(&[
        (r#"< {"id":1,"method":"sampling/createMessage"}"#, "session.lifecycle answer 1 -32603"),
        (r#"> {"id":1,"method":"tools/call"}"#, "pass"),
        (r#"> {"id":2,"method":"tools/call"}"#, "pass"),
        (&input(1, "sampling/createMessage"), "pass"),
        (&input(2, "roots/list"), "session.capability fail 2"),
    ]);
    // In older versions a result may have a member of that name, but does not say that it asks for input.
    let mut run = Run::opened("2025-11-25", "{}", r#"{"tools":{}}"#);
    run.check(&[
        (r#"> {"id":2,"method":"tools/call"}"#, "pass"),
        (r#"< {"id":2,"result":{"inputRequests":{"a":{"method":"roots/list"}}}}"#, "pass"),
        (r#"> {"id":3,"method":"tools/call"}"#, "pass"),
        (&input(3, "roots/list"), "session.capability fail 3"),
    ]);
    // An entry that is no request has no meaning that the guard could judge.
    for entry in [r#"{"params":{}}"#, r#"{"method":["roots/list"]}"#, r#""roots/list""#, "[{}]"] {
        let mut run = Run::opened("2026-07-28", r#"{"roots":{}}"#, r#"{"tools":{}}"#);
        run.check(&[
            (r#"> {"id":1,"method":"tools/call"}"#, "pass"),
            (
                &format!(r#"< {{"id":1,"result":{{"inputRequests":{{"a":{entry}}}}}}}"#),
                "session.capability fail 1",
            ),
        ]);
    }
    let mut run = Run::opened("2025-11-25", r#"{"elicitation":{}}"#, r#"{"tools":{}}"#);
    run.check(&[(
        r#"< {"id":1,"method":"elicitation/create","params":[{"mode":"url"}]}"#,
        "session.capability answer 1 -32603",
    )]);
    // An open session stays open, no matter what single requests declare.
    let mut run = Run::opened("2025-11-25", r#"{"sampling":{}}"#, r#"{"tools":{}}"#);
    run.check(&[
        (&stateless(1, "tools/call", "{}"), "pass"),
        (r#"< {"id":1,"method":"sampling/createMessage"}"#, "pass"),
        (&input(1, "sampling/createMessage"), "session.capability fail 1"),
    ]);
    // A version with a handshake is not agreed on without one.
    let mut run = Run::balanced();
    let request = stateless(1, "tools/list", "{}").replace("2026-07-28", "2025-11-25");
    run.check(&[(&request, "session.lifecycle(low) pass")]);
    assert_eq!(run.session.version(), None);
    // The probe failed, and the client falls back.
    let mut run = Run::balanced();
    run.check(&[
        (&stateless(1, "server/discover", "{}"), "pass"),
        (r#"< {"id":1,"error":{"code":-32601,"message":""}}"#, "pass"),
    ]);
    run.open("2025-11-25", r#"{"sampling":{}}"#, "{}");
    run.check(&[(r#"< {"id":2,"method":"sampling/createMessage"}"#, "pass")]);
}

#[test]
fn parts_of_a_request_need_a_capability_of_their_own() {
    let elicit =
        |params: &str| format!(r#"< {{"id":5,"method":"elicitation/create","params":{params}}}"#);
    let sample = |params: &str| {
        format!(r#"< {{"id":5,"method":"sampling/createMessage","params":{params}}}"#)
    };
    let url = r#"{"mode":"url","url":"https://example.com/"}"#;
    let script = r#"{"mode":"url","url":"javascript:alert(1)"}"#;
    let refused = "session.capability answer 5 -32603";
    for (client, line, expected) in [
        (r#"{"elicitation":{}}"#, elicit(url), refused),
        (r#"{"elicitation":{}}"#, elicit(r#"{"url":"https://example.com/"}"#), refused),
        (r#"{"elicitation":{"url":{}}}"#, elicit(url), "pass"),
        (r#"{"elicitation":{"url":{}}}"#, elicit(script), refused),
        (r#"{"elicitation":{"url":{}}}"#, elicit(r#"{"message":"name?"}"#), refused),
        (r#"{"elicitation":{}}"#, elicit(r#"{"message":"name?"}"#), "pass"),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, elicit(r#"{"mode":"form"}"#), "pass"),
        (r#"{"elicitation":{}}"#, elicit(r#"{"task":{"ttl":1}}"#), refused),
        (
            r#"{"elicitation":{},"tasks":{"requests":{"elicitation":{"create":{}}}}}"#,
            elicit(r#"{"task":{"ttl":1}}"#),
            "pass",
        ),
        (r#"{"sampling":{}}"#, sample(r#"{"messages":[]}"#), "pass"),
        (r#"{"sampling":{}}"#, sample(r#"{"tools":[]}"#), refused),
        (r#"{"sampling":{}}"#, sample(r#"{"toolChoice":{}}"#), refused),
        (r#"{"sampling":{"tools":{}}}"#, sample(r#"{"tools":[]}"#), "pass"),
        (r#"{"sampling":{}}"#, sample(r#"{"includeContext":"allServers"}"#), refused),
        (r#"{"sampling":{}}"#, sample(r#"{"includeContext":["allServers"]}"#), refused),
        (r#"{"sampling":{}}"#, sample(r#"{"includeContext":null}"#), "pass"),
        (r#"{"sampling":{}}"#, sample(r#"{"includeContext":"none"}"#), "pass"),
        (r#"{"sampling":{"context":{}}}"#, sample(r#"{"includeContext":"thisServer"}"#), "pass"),
        (r#"{"sampling":{}}"#, sample(r#"{"task":{}}"#), refused),
        (
            r#"{"sampling":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}}"#,
            sample(r#"{"task":{}}"#),
            "pass",
        ),
    ] {
        let mut run = Run::opened("2025-11-25", client, "{}");
        assert_eq!(run.step(&line), expected, "{client} {line}");
    }
    // Context existed before its capability.
    let mut run = Run::opened("2025-06-18", r#"{"sampling":{}}"#, "{}");
    assert_eq!(run.step(&sample(r#"{"includeContext":"thisServer"}"#)), "pass");
}

#[test]
fn input_requests_are_found_under_each_key_that_some_reader_takes_for_theirs() {
    for (client, members, expected) in [
        ("{}", r#""inputReque\u017fts":{"a":{"method":"roots/list"}}"#, "session.capability"),
        ("{}", "\"inputReque\u{17f}ts\":{\"a\":{\"method\":\"roots/list\"}}", "session.capability"),
        ("{}", r#""INPUTREQUESTS":[{"method":"roots/list"}]"#, "session.capability"),
        ("{}", "\"\u{ff49}nputRequests\":[{\"METHOD\":\"Roots/list\"}]", "session.capability"),
        ("{}", r#""inputRequests":[{"method":"roots/\u006cist"}]"#, "session.capability"),
        (
            r#"{"elicitation":{}}"#,
            r#""inputRequests":[{"method":"elicitation/create","Params":{"MODE":"Url"}}]"#,
            "session.capability",
        ),
        // Even where the client may get such requests, it must be clear which ones it gets.
        (r#"{"roots":{}}"#, r#""inputReque\u017fts":{}"#, "frame.ambiguous-key"),
        (
            r#"{"roots":{}}"#,
            r#""inputRequests":{"a":{"method":"acme/ask","Method":"roots/list"}}"#,
            "frame.ambiguous-key",
        ),
        (
            r#"{"elicitation":{}}"#,
            r#""inputRequests":{"a":{"method":"elicitation/create","params":{"Mode":"form"}}}"#,
            "frame.ambiguous-key",
        ),
    ] {
        let mut run = Run::balanced();
        run.check(&[(&stateless(1, "tools/call", client), "pass")]);
        let line = format!(r#"< {{"id":1,"result":{{{members}}}}}"#);
        assert_eq!(run.step(&line), format!("{expected} fail 1"), "{client} {line}");
    }
    let mut run = Run::balanced();
    run.check(&[
        (&stateless(1, "tools/call", r#"{"roots":{}}"#), "pass"),
        (r#"< {"id":1,"result":{"inputRequests":{"a":{"method":"roots/list"}}}}"#, "pass"),
        (
            r#"< {"method":"notifications/tasks","params":{"inputReque\u017fts":{}}}"#,
            "frame.ambiguous-key drop",
        ),
    ]);
}

#[test]
fn parts_of_a_request_are_found_however_they_are_spelled() {
    let refused = "session.capability answer 5 -32603";
    let ambiguous = "frame.ambiguous-key answer 5 -32603";
    let both = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}}}"#;
    for (client, method, params, expected) in [
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"Mode":"url"}"#, refused),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"mode":"URL"}"#, refused),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"mode":"\uff55rl"}"#, refused),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"URL":"https://a.b/"}"#, refused),
        (r#"{"elicitation":{}}"#, "Elicitation/Create", r#"{"mode":"url"}"#, refused),
        (r#"{"elicitation":{}}"#, "elicitation/create", r#"{"Ta\u017fk":{}}"#, refused),
        ("{}", "Sampling/createMessage", "{}", refused),
        (r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"Tools":[]}"#, refused),
        (r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"toolchoice":{}}"#, refused),
        (r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"IncludeContext":"all"}"#, refused),
        (
            both,
            "elicitation/create",
            r#"{"mode":"form","Mode":"url","url":"https://a.b/"}"#,
            ambiguous,
        ),
        (both, "elicitation/create", r#"{"url":"https://a.b/","Url":"file:///a"}"#, refused),
        (both, "sampling/createMessage", r#"{"Tools":[]}"#, ambiguous),
        (both, "sampling/createMessage", r#"{"tools":[],"Other":[]}"#, "pass"),
    ] {
        let mut run = Run::opened("2025-11-25", client, "{}");
        let line = format!(r#"< {{"id":5,"method":"{method}","params":{params}}}"#);
        assert_eq!(run.step(&line), expected, "{client} {line}");
    }
}

#[test]
fn tool_content_modes_and_addresses_are_checked() {
    let refused = "session.capability answer 5 -32603";
    let sample = |content: &str| {
        format!(
            r#"< {{"id":5,"method":"sampling/createMessage","params":{{"messages":[{{"role":"user","content":{content}}}]}}}}"#
        )
    };
    let elicit =
        |params: &str| format!(r#"< {{"id":5,"method":"elicitation/create","params":{params}}}"#);
    let both = r#"{"elicitation":{"form":{},"url":{}}}"#;
    for (client, line, expected) in [
        (r#"{"sampling":{}}"#, sample(r#"{"type":"text","text":"tool_use"}"#), "pass"),
        (r#"{"sampling":{}}"#, sample(r#"{"type":"tool_use","name":"a"}"#), refused),
        (r#"{"sampling":{}}"#, sample(r#"[{"type":"text"},{"type":"tool_result"}]"#), refused),
        (r#"{"sampling":{}}"#, sample(r#"[{"Type":"Tool_Result"}]"#), refused),
        (r#"{"sampling":{"tools":{}}}"#, sample(r#"[{"type":"tool_result"}]"#), "pass"),
        (both, elicit(r#"{"mode":"form"}"#), "pass"),
        (both, elicit(r#"{"mode":null}"#), "pass"),
        (both, elicit(r#"{"mode":"voice"}"#), refused),
        (both, elicit(r#"{"mode":["url"]}"#), refused),
        (both, elicit(r#"{"mode":"url"}"#), refused),
        (both, elicit(r#"{"mode":"url","url":"https://example.com/"}"#), "pass"),
        (both, elicit(r#"{"mode":"url","url":"file:///etc/passwd"}"#), refused),
        (both, elicit(r#"{"mode":"form","url":"vscode://a"}"#), refused),
        (both, elicit(r#"{"mode":"url","url":["https://example.com/"]}"#), refused),
        // Content inside the question of a form can add an address.
        (both, elicit(r#"{"mode":"url","url":"https://a.b/","requestedSchema":{}}"#), refused),
        (both, elicit(r#"{"url":"https://a.b/","RequestedSchema":{}}"#), refused),
        (both, elicit(r#"{"mode":"form","requestedSchema":{}}"#), "pass"),
    ] {
        let mut run = Run::opened("2025-11-25", client, "{}");
        assert_eq!(run.step(&line), expected, "{client} {line}");
    }
}

#[test]
fn an_opening_has_one_version_and_one_set_of_capabilities() {
    for member in [r#""ProtocolVersion":"2026-07-28""#, r#""capabilitie\u017f":{}"#] {
        let mut run = Run::balanced();
        run.check(&[
            (r#"> {"id":0,"method":"initialize","params":{"capabilities":{"roots":{}}}}"#, "pass"),
            (
                &format!(
                    r#"< {{"id":0,"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},{member}}}}}"#
                ),
                "frame.ambiguous-key fail 0",
            ),
            (r#"> {"method":"notifications/initialized"}"#, "pass"),
            (r#"< {"id":1,"method":"roots/list"}"#, "session.lifecycle answer 1 -32603"),
        ]);
    }
}

#[test]
fn an_error_asks_for_no_page_that_was_not_agreed_on() {
    let error = |url: &str| {
        format!(
            r#"< {{"id":1,"error":{{"code":-32042,"message":"","data":{{"elicitations":[{{"mode":"url","url":"{url}"}}]}}}}}}"#
        )
    };
    for (client, url, expected) in [
        ("{}", "https://example.com/", "session.capability fail 1"),
        (r#"{"elicitation":{"url":{}}}"#, "https://example.com/", "pass"),
        (r#"{"elicitation":{"url":{}}}"#, "javascript:alert(1)", "session.capability fail 1"),
    ] {
        for (name, alike) in [("elicitations", "Elicitation\u{17f}"), ("\"url\":", "\"URL\":")] {
            let mut run = Run::opened("2025-11-25", client, r#"{"tools":{}}"#);
            run.check(&[(r#"> {"id":1,"method":"tools/call"}"#, "pass")]);
            assert_eq!(run.step(&error(url)), expected, "{client} {url}");
            run.check(&[(r#"> {"id":1,"method":"tools/call"}"#, "pass")]);
            assert_eq!(run.step(&error(url).replace(name, alike)), expected, "{client} {alike}");
        }
    }
}

#[test]
fn a_request_without_an_id_does_not_pass_as_a_notification() {
    let mut run = Run::opened("2025-11-25", r#"{"sampling":{},"elicitation":{},"roots":{}}"#, "{}");
    for method in ["sampling/createMessage", "elicitation/create", "roots/list", "ping"] {
        let line = format!(r#"< {{"method":"{method}","params":{{}}}}"#);
        assert_eq!(run.step(&line), "session.wrong-direction drop", "{method}");
    }
}
