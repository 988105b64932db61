//! Rules for single lines: accepted, refused, answered or dropped.

use hardline_transport::{EndpointSettings, Role, Unfit};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;

use crate::peer::{answer, pair, receive, receive_all, request};

/// Feeds `lines` to a server, and compares the accepted messages and the replies.
#[track_caller]
fn check(lines: &[&str], handed_on: &[&str], answered: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (received, replies) = runtime.block_on(async {
        let settings = EndpointSettings::default().with_grace(std::time::Duration::ZERO);
        let (mut connection, mut peer, _) = pair(Role::Server, settings);
        peer.send(lines).await;
        peer.finish().await;
        let received = receive_all(&mut connection).await;
        connection.close().await.unwrap();
        (received, peer.lines().await)
    });
    let received: Vec<_> = received.iter().filter(|it| !it.starts_with("abandoned")).collect();
    let replies: Vec<_> = replies
        .iter()
        .filter(|it| !it.contains("transport.closed"))
        .map(|it| shorten(it))
        .collect();
    assert_eq!(received, handed_on, "handed on");
    assert_eq!(replies, answered, "answered");
}

/// Returns the id and the code of an error.
fn shorten(line: &str) -> String {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    match line.get("id") {
        None => format!("no id {}", line["error"]["code"]),
        Some(id) => format!("{id} {}", line["error"]["code"]),
    }
}

#[test]
fn a_broken_line_is_answered_and_the_next_one_is_read() {
    let good = request(8);
    check(&[r#"{"jsonrpc":"2.0","id":7,"method":"#, &good], &[&good], &["7 -32700"]);
    check(&[r#"{"id":"a","method":"ping"}"#, &good], &[&good], &["\"a\" -32600"]);
}

#[test]
fn what_looks_like_an_answer_is_never_answered() {
    check(&[r#"{"jsonrpc":"2.0","id":7,"result":{"#], &[], &[]);
    check(&[r#"{"jsonrpc":"2.0","id":7,"error":"#], &[], &[]);
    check(&[r#"{"jsonrpc":"2.0","id":7,"result":1,"error":{}}"#], &[], &[]);
    check(&[r#"{"jsonrpc":"2.0","id":7,"result":{}}"#], &[], &[]);
}

#[test]
fn lines_without_an_id_are_answered_a_few_times() {
    check(&["noise"; 100], &[], &["null -32700"; 8]);
}

#[test]
fn a_duplicate_id_is_refused_and_the_first_is_not_harmed() {
    let (first, second) = (request(7), r#"{"jsonrpc":"2.0","id":7,"method":"other"}"#);
    check(&[&first, second], &[&first], &["7 -32600"]);
    // A string is a different id than a number, even if it is escaped differently.
    let text = r#"{"jsonrpc":"2.0","id":"7","method":"ping"}"#;
    let escaped = r#"{"jsonrpc":"2.0","id":"\u0037","method":"ping"}"#;
    check(&[&first, text, escaped], &[&first, text], &["\"7\" -32600"]);
}

#[tokio::test]
async fn an_id_may_be_used_again_once_it_is_answered_or_cancelled() {
    let (mut connection, mut peer, events) = pair(Role::Server, EndpointSettings::default());
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    peer.send(&[&request(7)]).await;
    assert_eq!(receive(&mut connection).await.unwrap(), request(7));
    answer(&mut connection, 7).await;
    peer.send(&[&request(7), cancel, &request(7)]).await;
    assert_eq!(receive(&mut connection).await.unwrap(), request(7));
    assert_eq!(receive(&mut connection).await.unwrap(), cancel);
    assert_eq!(receive(&mut connection).await.unwrap(), request(7));
    answer(&mut connection, 7).await;
    // Too late: the request was just answered.
    answer(&mut connection, 7).await;
    connection.close().await.unwrap();
    assert_eq!(peer.lines().await.len(), 2);
    let late = "dropped an answer of ours to a request that was cancelled or is answered already";
    assert_eq!(*events.lock().unwrap(), [late]);
}

#[tokio::test]
async fn requests_over_the_limit_are_refused_and_others_go_on() {
    let limits = Limits::default().with_max_in_flight(2).unwrap();
    let (mut connection, mut peer, _) =
        pair(Role::Server, EndpointSettings::default().with_limits(limits));
    peer.send(&[&request(1), &request(2), &request(3)]).await;
    assert!(receive(&mut connection).await.is_some());
    assert!(receive(&mut connection).await.is_some());
    let waiting =
        tokio::time::timeout(std::time::Duration::from_millis(20), receive(&mut connection));
    assert!(waiting.await.is_err());
    let refusal: serde_json::Value = serde_json::from_str(&peer.line().await.unwrap()).unwrap();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&3.into(), &(-32603).into()));
    assert_eq!(refusal["error"]["data"]["hardline"]["rule"], "transport.in-flight");
    answer(&mut connection, 1).await;
    peer.send(&[&request(4)]).await;
    assert_eq!(receive(&mut connection).await.unwrap(), request(4));
}

#[tokio::test]
async fn what_the_service_cannot_take_is_answered_or_dropped() {
    let (mut connection, mut peer, events) = pair(Role::Server, EndpointSettings::default());
    peer.send(&[&request(7), r#"{"jsonrpc":"2.0","method":"notifications/x"}"#]).await;
    peer.finish().await;
    let received = connection.receive_with(|_, _| Err::<(), _>(Unfit::params("not so"))).await;
    assert!(received.is_none());
    connection.close().await.unwrap();
    assert_eq!(
        peer.lines().await,
        [r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"not so"}}"#]
    );
    assert_eq!(events.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_fails_its_request() {
    let (mut connection, mut peer, _) = pair(Role::Client, EndpointSettings::default());
    for id in 1..=4 {
        let sending = connection.send_request(Id::from_integer(id), "m", b"{}".to_vec());
        sending.room().await.unwrap();
    }
    // Cut short; quoted in a log line (fails no request); noise; a proper answer; a second answer.
    peer.send(&[
        r#"{"jsonrpc":"2.0","id":1,"result":{"text":"abc"#,
        r#"DEBUG sent {"jsonrpc":"2.0","id":2,"result":{}} to the client"#,
        "a server may print what it likes",
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"forged":1}}"#,
    ])
    .await;
    assert!(
        receive(&mut connection).await.unwrap().starts_with("failed 1: the answer cannot be used")
    );
    assert_eq!(receive(&mut connection).await.unwrap(), r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    peer.finish().await;
    let mut failed = receive_all(&mut connection).await;
    failed.sort();
    let closed = "the connection is closed";
    assert_eq!(failed, [format!("failed 3: {closed}"), format!("failed 4: {closed}")]);
    // A client never answers noise.
    connection.close().await.unwrap();
    assert_eq!(peer.lines().await, ["{}"; 4]);
}

#[tokio::test]
async fn an_oversized_answer_fails_its_request() {
    let limits = Limits::default().with_max_frame_bytes(1000).unwrap();
    let (mut connection, mut peer, _) =
        pair(Role::Client, EndpointSettings::default().with_limits(limits));
    connection.send_request(Id::from_integer(1), "m", b"{}".to_vec()).room().await.unwrap();
    let large = format!(r#"{{"jsonrpc":"2.0","result":{{"a":"{}"}},"id":1}}"#, "x".repeat(5000));
    peer.send(&[&large]).await;
    assert!(receive(&mut connection).await.unwrap().contains("too large"));
}

#[tokio::test]
async fn events_never_carry_what_could_command_a_terminal() {
    let (mut connection, mut peer, events) = pair(Role::Server, EndpointSettings::default());
    peer.send(&["\u{1b}]0;title\u{7}\u{202e}{\"id\":\"\u{1b}[31m"]).await;
    peer.finish().await;
    assert_eq!(receive(&mut connection).await, None);
    for event in events.lock().unwrap().iter() {
        assert!(!event.chars().any(|char| char.is_control() || char == '\u{202e}'), "{event:?}");
    }
}

#[test]
fn parameters_that_are_null_are_none() {
    let null = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x","params":null}"#;
    check(&[null, note], &[null, note], &[]);
}

#[tokio::test]
async fn a_client_does_not_answer_what_a_server_logs() {
    let (mut connection, mut peer, _) = pair(Role::Client, EndpointSettings::default());
    peer.send(&[
        r#"{"level":"info","id":0,"msg":"started"}"#,
        r#"[{"id":4,"msg":"x"}]"#,
        r#"{"id":"job-7"}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":7}"#,
    ])
    .await;
    peer.finish().await;
    assert_eq!(receive(&mut connection).await, None);
    connection.close().await.unwrap();
    let replies = peer.lines().await;
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert!(replies[0].contains("\"id\":5"));
}

#[tokio::test]
async fn requests_in_flight_are_limited_in_bytes_too() {
    let limits = Limits::default().with_max_in_flight_bytes(1000).unwrap();
    let (mut connection, mut peer, _) =
        pair(Role::Server, EndpointSettings::default().with_limits(limits));
    let large = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"a":"{}"}}}}"#,
            "x".repeat(2000)
        )
    };
    // A single request is accepted at any size.
    peer.send(&[&large(1), &large(2)]).await;
    assert_eq!(receive(&mut connection).await.unwrap(), large(1));
    let waiting =
        tokio::time::timeout(std::time::Duration::from_millis(20), receive(&mut connection));
    assert!(waiting.await.is_err());
    let refusal = peer.line().await.unwrap();
    assert!(refusal.contains("\"id\":2") && refusal.contains("transport.in-flight"), "{refusal}");
    answer(&mut connection, 1).await;
    peer.send(&[&large(3)]).await;
    assert_eq!(receive(&mut connection).await.unwrap(), large(3));
}
