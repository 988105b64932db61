//! Streams with unusable events.

use hardline_testkit::http::Server;
use hardline_transport::client::{MAX_REFUSED_BYTES, TransportError, TransportEvent};
use hardline_wire::limits::Limits;

use super::{call, connect, connect_with, in_time, next, result, settings, text};

#[tokio::test]
async fn a_bad_event_costs_that_event() {
    let bad = [
        "data: nonsense\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}\n\n",
        "data: {\"id\":1,\"result\":{}}\n\n",
        "event: surprise\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n",
        "event: endpoint\ndata: /elsewhere\n\n",
        "data: [{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"\"}}\n\n",
    ];
    // These events are valid.
    let fine = "\u{feff}: comment\n\ndata\n\ndata: \n\nid: 7\n\nretry: 1\n\n\r\n\r\n";
    let server = Server::start(async move |it| {
        let answer = it.result("{\"really\":true}");
        it.stream(&format!("{fine}{}data: {answer}\n\n", bad.concat())).await;
    });
    let (transport, mut events) = connect(&server);
    assert_eq!(text(&transport, 1, "ping").await, result(1, "{\"really\":true}"));
    let expected = [
        "not a valid message (",
        "not a valid message (",
        "not a valid message (no member \"jsonrpc\"): {",
        "an event of the unknown type surprise: {",
        "an event of the unexpected type endpoint: /elsewhere",
        "the version has no batches: [",
        "an answer to no pending request, with the id 2: {",
        "an answer to no pending request, with the id \"1\": {",
        "an answer without an id: {",
    ];
    for expected in expected {
        let event = next(&mut events).await;
        assert!(event.starts_with(&format!("error {expected}")), "{event}");
    }
}

#[tokio::test]
async fn what_could_not_be_used_is_told_as_far_as_a_limit() {
    let server = Server::start(async |it| {
        let long = format!("data: {}\n\n", "x".repeat(3 * MAX_REFUSED_BYTES));
        let answer = it.result("{}");
        it.stream(&format!("{long}data: {answer}\n\n")).await;
    });
    let (transport, mut events) = connect(&server);
    text(&transport, 1, "ping").await;
    match in_time(events.recv()).await {
        Some(TransportEvent::Error { reason, raw }) => {
            assert!(reason.len() < 400, "{reason}");
            assert_eq!(raw.len(), MAX_REFUSED_BYTES);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_overlong_event_costs_that_event_or_the_request_it_answers() {
    let server = Server::start(async |it| {
        it.open_stream().await;
        it.chunk(format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}", "x".repeat(3000)))
            .await;
        it.chunk("\"}\n\n").await;
        it.event(&it.result("{}")).await;
        it.end_stream().await;
    });
    let limits = Limits::default().with_max_event_bytes(1000).unwrap();
    let (transport, mut events) = connect_with(settings(&server).with_limits(limits));
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(
        matches!(&error, TransportError::Answer(reason) if reason.contains("longer than 1000")),
        "{error}"
    );
    assert_eq!(text(&transport, 2, "ping").await, result(2, "{}"));
    let event = next(&mut events).await;
    assert!(event.contains("longer than 1000"), "{event}");
}

#[tokio::test]
async fn requests_and_notifications_come_before_the_answer_that_followed_them() {
    let server = Server::start(async |it| {
        it.open_stream().await;
        it.event(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#).await;
        it.event(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#).await;
        it.event(&it.result("{}")).await;
        it.end_stream().await;
    });
    let (transport, mut events) = connect(&server);
    text(&transport, 1, "ping").await;
    assert!(matches!(events.try_recv(), Ok(TransportEvent::Notification { .. })));
    match events.try_recv() {
        Ok(TransportEvent::Request { text, .. }) => {
            assert_eq!(&*text, r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#);
        }
        other => panic!("{other:?}"),
    }
}
