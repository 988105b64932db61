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
    // In older versions a result may have a member of that name.
    let mut run = Run::opened("2025-11-25", "{}", r#"{"tools":{}}"#);
    run.check(&[
        (r#"> {"id":2,"method":"tools/call"}"#, "pass"),
        (&input(2, "roots/list"), "pass"),
    ]);
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
        let mut run = Run::opened("2025-11-25", client, r#"{"tools":{}}"#);
        run.check(&[(r#"> {"id":1,"method":"tools/call"}"#, "pass")]);
        assert_eq!(run.step(&error(url)), expected, "{client} {url}");
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
