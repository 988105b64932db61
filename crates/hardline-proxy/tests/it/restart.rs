//! Tests of server restarts as a client sees them.

use std::time::Duration;

use hardline_guard::Rule;
use hardline_guard::policy::{Policy, Profile};
use hardline_proxy::pins::PinFile;
use hardline_proxy::relay::{After, DriverAction, Ended, StartRefusal};
use serde_json::Value;

use super::relay::{INITIALIZE, INITIALIZED, Run, agreed, answer, call};

const CAPABILITIES: &str =
    r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}"#;

fn sampling(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{}}}}"#)
}

#[test]
fn what_was_in_flight_fails_at_once_and_the_session_goes_on() {
    let mut run = Run::open();
    run.client(&call(1));
    run.client(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    run.sent_to_server();
    assert!(matches!(run.end("exited with code 3; its last stderr lines: oops"), After::Start(_)));
    let mut failed = run.sent_to_client();
    failed.sort_by_key(|it| it["id"].as_i64());
    let reasons: Vec<_> =
        failed.iter().map(|it| it["error"]["message"].as_str().unwrap()).collect();
    assert_eq!(
        reasons,
        [
            "the server exited with code 3; its last stderr lines: oops; the call may have been executed",
            "the server exited with code 3; its last stderr lines: oops"
        ]
    );
    // Messages that arrive meanwhile wait in their order. A cancelled request gets no answer.
    run.client(&call(3));
    run.client(&call(4));
    run.client(&call(5));
    run.client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#);
    assert!(!run.relay.is_idle());
    run.relay.handle_server_start(run.now, &mut run.out);
    assert_eq!(run.sent_to_server(), [INITIALIZE]);
    run.server(&agreed(CAPABILITIES));
    assert_eq!(run.sent_to_server(), [INITIALIZED.to_owned(), call(3), call(5)]);
    assert_eq!(run.sent_to_client(), [Value::Null; 0], "its answer is not the client's");
    run.server(&answer(3));
    run.server(&answer(5));
    assert_eq!(run.sent_to_client().len(), 2);
    assert!(run.relay.is_idle());
}

#[test]
fn level_and_subscriptions_are_set_again() {
    let mut run = Run::open();
    let level = |id: &str, level: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"logging/setLevel","params":{{"level":"{level}"}}}}"#
        )
    };
    let subscribe = |id: &str, verb: &str, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{verb}","params":{{"uri":"{uri}"}}}}"#
        )
    };
    for (id, line) in [
        (1, level("1", "info")),
        (2, level("2", "debug")),
        (3, subscribe("3", "subscribe", "a:1")),
        (4, subscribe("4", "subscribe", "a:2")),
        (5, subscribe("5", "unsubscribe", "a:1")),
    ] {
        run.client(&line);
        run.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
    // A log level that the server refused is not set again.
    run.client(&level("6", "nonsense"));
    run.server(r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"no"}}"#);
    run.sent_to_client();
    run.sent_to_server();
    run.restart();
    run.server(&agreed(CAPABILITIES));
    assert_eq!(
        run.sent_to_server(),
        [
            INITIALIZE.to_owned(),
            INITIALIZED.to_owned(),
            level("\"hardline:1\"", "debug"),
            subscribe("\"hardline:2\"", "subscribe", "a:2"),
        ]
    );
    run.server(r#"{"jsonrpc":"2.0","id":"hardline:1","result":{}}"#);
    run.server(r#"{"jsonrpc":"2.0","id":"hardline:2","error":{"code":1,"message":"gone"}}"#);
    assert_eq!(run.sent_to_client(), [Value::Null; 0]);
    assert!(run.relay.is_idle());
}

#[test]
fn other_tools_are_told_and_the_same_are_not() {
    let list = |id: &str, tools: &str, cursor: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tools}]{cursor}}}}}"#)
    };
    let (one, two) = (r#"{"name":"a"}"#, r#"{"name":"b"}"#);
    for (second, is_told) in [(two, false), (r#"{"name":"c"}"#, true)] {
        let mut run = Run::open();
        run.client(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        run.server(&list("1", one, r#","nextCursor":"p2""#));
        run.client(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"p2"}}"#);
        run.server(&list("2", two, ""));
        run.sent_to_client();
        run.restart();
        run.server(&agreed(CAPABILITIES));
        run.server(&list("\"hardline:1\"", one, r#","nextCursor":"x""#));
        let sent = run.sent_to_server();
        assert!(sent.last().unwrap().contains(r#""params":{"cursor":"x"}"#), "{sent:?}");
        run.server(&list("\"hardline:2\"", second, ""));
        let told = run.sent_to_client();
        assert_eq!(told.len(), usize::from(is_told));
        if is_told {
            assert_eq!(told[0]["method"], "notifications/tools/list_changed");
        }
    }
}

#[test]
fn nothing_is_called_before_the_tools_of_the_new_server_are_known() {
    let list = |id: &str, text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"t","description":"{text}"}}]}}}}"#
        )
    };
    for (text, is_changed) in [("Echoes.", false), ("Echoes, and more.", true)] {
        let state = tempfile::tempdir().unwrap();
        let mut run = Run::with(|settings| {
            settings.policy = Policy::profile(Profile::Strict);
            let pins = PinFile::open(state.path().join("hardline.lock"), None).unwrap();
            settings.pins = Some(Box::new(pins));
        });
        run.initialize();
        run.client(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        run.server(&list("1", "Echoes."));
        run.restart();
        run.sent_to_server();
        run.sent_to_client();
        run.server(&agreed(CAPABILITIES));
        run.client(&call(2));
        let before = run.sent_to_server();
        assert!(!before.contains(&call(2)), "{before:?}");
        run.server(&list("\"hardline:1\"", text));
        let after = run.sent_to_server();
        assert_eq!(after.contains(&call(2)), !is_changed, "{after:?}");
        let told = run.sent_to_client();
        let refused = told.iter().find(|it| it["id"] == 2);
        let rule = refused.map(|it| it["error"]["data"]["hardline"]["rule"].clone());
        assert_eq!(rule, is_changed.then(|| "tool.changed".into()));
    }
}

#[test]
fn requests_of_the_old_server_are_cancelled_and_their_ids_are_not_used_again() {
    let mut run = Run::open();
    run.server(&sampling("7"));
    run.sent_to_client();
    run.sent_to_server();
    run.restart();
    let told = run.sent_to_client();
    assert_eq!(
        (&told[0]["method"], &told[0]["params"]["requestId"]),
        (&"notifications/cancelled".into(), &7.into())
    );
    run.server(&agreed(CAPABILITIES));
    run.sent_to_server();
    // The new server asks with the same id.
    run.server(&sampling("7"));
    let asked = run.sent_to_client();
    let id = asked[0]["id"].clone();
    assert_ne!(id, 7);
    // A late answer to the old request reaches no server; the answer to the new one has its id.
    run.client(r#"{"jsonrpc":"2.0","id":7,"result":{"late":true}}"#);
    assert_eq!(run.sent_to_server(), [""; 0]);
    run.client(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"ok":true}}}}"#));
    assert_eq!(run.sent_to_server(), [r#"{"jsonrpc":"2.0","id":7,"result":{"ok":true}}"#]);
    // From here on the id is free.
    run.server(&sampling("7"));
    assert_eq!(run.sent_to_client()[0]["id"], 7);
    assert!(
        run.out.notices.iter().all(|notice| !notice.contains("session.")),
        "{:?}",
        run.out.notices
    );
}

#[test]
fn another_version_ends_the_session() {
    let mut run = Run::open();
    run.restart();
    run.client(&call(1));
    run.server(&agreed("{}").replace("2025-06-18", "2025-03-26"));
    assert_eq!(run.relay.take_action(), Some(DriverAction::EndSession));
    run.relay.fail_all("the session was closed", &mut run.out);
    assert_eq!(run.sent_to_client()[0]["id"], 1);
}

#[test]
fn a_server_that_refuses_to_begin_again_is_killed() {
    let mut run = Run::open();
    run.restart();
    run.server(r#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"no"}}"#);
    assert_eq!(run.relay.take_action(), Some(DriverAction::KillServer));
    assert_eq!(run.sent_to_client(), [Value::Null; 0]);
    // A server that never answers is ended as well.
    let mut run = Run::open();
    run.restart();
    run.wait_until(run.now + Duration::from_secs(31));
    assert_eq!(run.relay.take_action(), Some(DriverAction::KillServer));
}

#[test]
fn nobody_waits_for_a_server_longer_than_five_seconds() {
    let mut run = Run::open();
    let After::Start(_) = run.end("exited with code 3") else { panic!() };
    run.client(&call(1));
    run.wait_until(Duration::from_millis(4999));
    assert_eq!(run.sent_to_client(), [Value::Null; 0]);
    run.wait_until(Duration::from_secs(5));
    let failed = run.sent_to_client();
    assert_eq!((failed.len(), &failed[0]["id"]), (1, &1.into()));
    assert_eq!(failed[0]["error"]["data"]["hardline"]["rule"], "server.away");
    assert!(run.relay.is_idle());
    // A notification is dropped; a line that is no message is answered.
    run.client("nonsense");
    assert_eq!(run.sent_to_client()[0]["error"]["code"], -32700);
}

#[test]
fn a_server_that_ends_too_often_fails_requests_at_once() {
    let mut run = Run::open();
    for _ in 0..4 {
        run.restart();
        run.server(&agreed(CAPABILITIES));
    }
    run.client(&call(1));
    let After::Start(at) = run.end("exited with code 3") else { panic!() };
    assert_eq!(at - run.now, Duration::from_secs(30));
    run.client(&call(2));
    let failed = run.sent_to_client();
    assert_eq!(failed.len(), 2);
    assert_eq!(failed[1]["error"]["data"]["hardline"]["rule"], "server.broken");
    run.wait_until(at);
    run.relay.handle_server_start(run.now, &mut run.out);
    run.server(&agreed(CAPABILITIES));
    run.client(&call(3));
    assert_eq!(run.sent_to_server().last(), Some(&call(3)));
}

#[test]
fn a_server_that_dies_before_it_began_has_nothing_to_be_told() {
    let mut run = Run::new();
    run.client(INITIALIZE);
    run.sent_to_server();
    assert!(matches!(run.end("exited with code 3"), After::Start(_)));
    assert_eq!(run.sent_to_client()[0]["id"], 0);
    run.client(INITIALIZE);
    run.relay.handle_server_start(run.now, &mut run.out);
    assert_eq!(run.sent_to_server(), [INITIALIZE]);
    run.server(&agreed("{}"));
    assert_eq!(run.sent_to_client()[0]["id"], 0);
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const ACKNOWLEDGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{}}}"#;

fn listen() -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{{META},"notifications":{{"toolsListChanged":true}}}}}}"#
    )
}

#[test]
fn a_subscription_that_was_asked_for_again_is_answered_when_the_server_ends() {
    let mut run = Run::new();
    run.client(&listen());
    run.server(ACKNOWLEDGED);
    run.restart();
    run.sent_to_client();
    // The new server ends before it has acknowledged the subscription.
    assert_eq!(run.end("exited with code 0"), After::End);
    let failed = run.sent_to_client();
    assert_eq!((failed.len(), &failed[0]["id"]), (1, &1.into()));
    let mut run = Run::new();
    run.client(&listen());
    run.restart();
    run.sent_to_client();
    run.relay.fail_all("the session has ended", &mut run.out);
    assert_eq!(run.sent_to_client()[0]["id"], 1);
}

#[test]
fn a_subscription_without_a_server_is_answered_when_the_session_ends() {
    let open = || {
        let mut run = Run::new();
        run.client(&listen());
        run.server(ACKNOWLEDGED);
        run.sent_to_client();
        assert!(matches!(run.end("exited with code 3"), After::Start(_)));
        assert_eq!(run.sent_to_client(), [Value::Null; 0], "it waits for the next server");
        run
    };
    let mut run = open();
    run.relay.fail_all("the session has ended", &mut run.out);
    run.relay.fail_all("the session has ended", &mut run.out);
    let failed = run.sent_to_client();
    assert_eq!((failed.len(), &failed[0]["id"]), (1, &1.into()));
    // The server ends before the subscription was repeated, and must not be restarted.
    let mut run = open();
    let ended = Ended::new("exited with code 3", false);
    assert_eq!(run.relay.handle_server_end(&ended, false, run.now, &mut run.out), After::End);
    let failed = run.sent_to_client();
    assert_eq!((failed.len(), &failed[0]["id"]), (1, &1.into()));
}

#[test]
fn an_element_of_a_batch_that_is_no_message_is_answered_without_a_server_too() {
    let mut run = Run::open();
    assert!(matches!(run.end("exited with code 3"), After::Start(_)));
    run.client(r#"[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":7}]"#);
    run.relay.fail_all("the session has ended", &mut run.out);
    let ids: Vec<Value> = run.sent_to_client().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, [5, 6]);
}

#[test]
fn a_subscription_cancelled_meanwhile_is_not_asked_for_again() {
    let mut run = Run::new();
    run.client(&listen());
    run.server(ACKNOWLEDGED);
    assert!(matches!(run.end("exited with code 3"), After::Start(_)));
    run.client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    run.sent_to_client();
    run.sent_to_server();
    run.relay.handle_server_start(run.now, &mut run.out);
    assert_eq!(run.sent_to_server(), [""; 0]);
}

#[test]
fn a_client_that_becomes_ready_meanwhile_is_ready_for_the_next_server() {
    let mut run = Run::new();
    run.client(INITIALIZE);
    run.server(&agreed(CAPABILITIES));
    run.sent_to_client();
    run.sent_to_server();
    let After::Start(_) = run.end("exited with code 3") else { panic!() };
    run.client(INITIALIZED);
    run.wait_until(Duration::from_secs(20));
    run.relay.handle_server_start(run.now, &mut run.out);
    run.server(&agreed(CAPABILITIES));
    assert_eq!(run.sent_to_server(), [INITIALIZE, INITIALIZED]);
}

#[test]
fn a_new_server_may_ask_before_it_answers() {
    let mut run = Run::open();
    run.restart();
    run.sent_to_server();
    run.server(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    assert_eq!(run.sent_to_client()[0]["id"], "p");
    run.client(r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    assert_eq!(run.sent_to_server(), [r#"{"jsonrpc":"2.0","id":"p","result":{}}"#]);
}

#[test]
fn late_answers_are_late_in_a_batch_too() {
    let mut run = Run::new();
    run.client(&INITIALIZE.replace("2025-06-18", "2025-03-26"));
    let agreed = agreed(CAPABILITIES).replace("2025-06-18", "2025-03-26");
    run.server(&agreed);
    run.client(INITIALIZED);
    run.server(&sampling("7"));
    run.restart();
    run.server(&agreed);
    run.server(&sampling("8"));
    run.sent_to_server();
    run.client(r#"[{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc":"2.0","id":8,"result":{}}]"#);
    assert_eq!(run.sent_to_server(), [r#"{"jsonrpc":"2.0","id":8,"result":{}}"#]);
}

#[test]
fn subscriptions_of_the_stateless_version_stay_open() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{{meta},"notifications":{{"toolsListChanged":true}}}}}}"#
    );
    let acknowledged = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{}}}"#;
    let mut run = Run::new();
    run.client(&listen);
    run.server(acknowledged);
    run.client(&format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{{meta},"name":"t"}}}}"#
    ));
    assert_eq!(run.sent_to_client().len(), 1);
    run.sent_to_server();
    run.restart();
    let failed = run.sent_to_client();
    assert_eq!((failed.len(), &failed[0]["id"]), (1, &2.into()));
    assert_eq!(run.sent_to_server(), [listen]);
    run.server(acknowledged);
    assert_eq!(run.sent_to_client(), [Value::Null; 0], "acknowledged before");
    assert!(run.relay.is_idle());
    run.server(acknowledged);
    assert_eq!(run.sent_to_client().len(), 1);
    run.server(r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#);
    assert_eq!(run.sent_to_client()[0]["id"], 1);
    run.restart();
    assert_eq!(run.sent_to_server(), [""; 0]);
}

#[test]
fn a_server_that_may_not_be_started_again_fails_requests_until_it_may() {
    let mut run = Run::open();
    run.end("exited with code 3");
    run.client(&call(1));
    run.sent_to_server();
    for _ in 0..3 {
        let refused = StartRefusal::new(Rule::LaunchChanged, "it is another; approve it");
        let after = run.relay.handle_server_refused(refused, run.now, &mut run.out);
        let After::Start(at) = after else { panic!() };
        assert_eq!(at, run.now + Duration::from_secs(30), "no storm");
        run.client(&call(2));
        run.now = at;
    }
    let failed = run.sent_to_client();
    assert_eq!(
        failed.iter().map(|it| it["id"].as_i64().unwrap()).collect::<Vec<_>>(),
        [1, 2, 2, 2]
    );
    for error in &failed {
        assert_eq!(error["error"]["data"]["hardline"]["rule"], "launch.changed");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("it is not started again: it is another; approve it"),
            "{message}"
        );
    }
    assert_eq!(run.sent_to_server(), [""; 0]);
    run.relay.handle_server_start(run.now, &mut run.out);
    run.server(&agreed(CAPABILITIES));
    run.client(&call(3));
    assert_eq!(run.sent_to_server(), [INITIALIZE.to_owned(), INITIALIZED.to_owned(), call(3)]);
}
