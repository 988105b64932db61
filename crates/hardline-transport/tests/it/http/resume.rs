//! Streams that end before the answer arrives.

use std::borrow::Cow;
use std::time::Duration;

use hardline_testkit::http::{Request, Server};
use hardline_transport::client::{Transport as _, TransportError};
use hardline_wire::version::Version;
use tokio::time::Instant;

use super::{call, connect, connect_with, in_time, next, open, request, result, settings, text};

/// The requests that resume a stream; the listener's has no event id to resume from.
fn resumptions(server: &Server) -> Vec<Request> {
    let gets = server.requests_with("GET");
    gets.into_iter().filter(|it| it.header("last-event-id").is_some()).collect()
}

#[tokio::test]
async fn takes_up_a_stream_that_was_primed_after_as_long_as_was_asked_for() {
    let server = Server::start(async |it| match it.index {
        0 => it.stream("id: a1\nretry: 500\ndata: \n\n").await,
        _ => {
            assert_eq!(it.request.header("last-event-id"), Some("a1"));
            it.stream(&format!("id: a2\ndata: {}\n\n", result(1, "{}"))).await;
        }
    });
    let (transport, _events) = connect(&server);
    let begun = Instant::now();
    assert_eq!(text(&transport, 1, "ping").await, result(1, "{}"));
    let waited = begun.elapsed();
    assert!((500..700).contains(&waited.as_millis()), "{waited:?}");
    let again = resumptions(&server).remove(0);
    assert_eq!(again.header("accept"), Some("text/event-stream"));
    assert_eq!(again.header("content-type"), None);
    assert_eq!(server.requests_with("POST").len(), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_with_what_it_brought_last() {
    let server = Server::start(async |it| match it.index {
        0 => {
            it.open_stream().await;
            it.chunk("id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\nid: 2\ndata: {\"js")
                .await;
            it.reset();
        }
        1 => it.respond(503, &[], "").await,
        2 => it.stream("id: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n\n").await,
        _ => it.stream(&format!("data: {}\n\n", result(1, "{}"))).await,
    });
    let (transport, mut events) = connect(&server);
    text(&transport, 1, "ping").await;
    assert_eq!(next(&mut events).await, "notification a");
    assert_eq!(next(&mut events).await, "notification b");
    let ids: Vec<_> = resumptions(&server)
        .iter()
        .map(|it| it.header("last-event-id").unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["1", "1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn gives_up_after_as_many_streams_as_the_budget_has() {
    let server = Server::start(async |it| it.stream("id: 1\nretry: 0\ndata: \n\n").await);
    let (transport, _events) = connect(&server);
    let begun = Instant::now();
    let error = transport.request(request(1, "ping")).await.unwrap_err();
    assert!(matches!(error, TransportError::Interrupted(_)), "{error}");
    assert!(!error.is_refused());
    assert_eq!(resumptions(&server).len(), 5);
    let least = Duration::from_millis(250 + 500 + 1000 + 2000 + 4000);
    assert!(least <= begun.elapsed(), "{:?}", begun.elapsed());
    assert!(transport.is_connected());
}

#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_costs_its_request_alone() {
    let server = Server::start(async |it| match (&*it.request.method, &*it.rpc_method()) {
        ("POST", "nameless") => it.stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n").await,
        ("POST", "named") => it.stream("id: 1\ndata: \n\n").await,
        ("POST", _) => it.answer("{}").await,
        _ => it.status(404).await,
    });
    let (transport, mut events) = connect(&server);
    let error = call(&transport, 1, "nameless").await.unwrap_err();
    assert_eq!(error.to_string(), "the event stream ended without the answer");
    assert!(server.requests_with("GET").is_empty());
    assert_eq!(next(&mut events).await, "notification a");
    match call(&transport, 2, "named").await {
        Err(TransportError::Interrupted(reason)) => assert!(reason.contains("404"), "{reason}"),
        other => panic!("{other:?}"),
    }
    text(&transport, 3, "ping").await;
}

#[tokio::test]
async fn an_id_that_cannot_be_sent_is_none() {
    let server = Server::start(async |it| it.stream("id: a\u{1}b\ndata: \n\n").await);
    let (transport, _events) = connect(&server);
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(matches!(error, TransportError::Interrupted(_)), "{error}");
    assert!(server.requests_with("GET").is_empty());
}

#[tokio::test]
async fn the_newest_version_takes_up_nothing() {
    let server = Server::start(async |it| it.stream("id: 1\ndata: \n\n").await);
    let (transport, _events) = connect(&server);
    let headers = vec![(Cow::Borrowed("MCP-Protocol-Version"), "2026-07-28".to_owned())];
    let before = request(1, "ping").with_headers(headers);
    let error = in_time(transport.request(before)).await.unwrap_err();
    assert!(matches!(error, TransportError::Interrupted(_)), "{error}");
    in_time(transport.agree(Version::V2026_07_28)).await;
    let error = call(&transport, 2, "ping").await.unwrap_err();
    assert!(matches!(error, TransportError::Interrupted(_)), "{error}");
    assert!(server.requests_with("GET").is_empty());
}

#[tokio::test]
async fn the_stream_of_the_opening_is_taken_up_in_its_session() {
    let server = Server::start(async |it| match it.index {
        0 => {
            it.open_stream_with(&["Mcp-Session-Id: s"]).await;
            it.chunk("id: 1\nretry: 1\ndata: \n\n").await;
            it.end_stream().await;
        }
        1 => it.stream(&format!("data: {}\n\n", result(0, "{}"))).await,
        _ => it.status(405).await,
    });
    let settings = settings(&server).with_max_reconnects(1);
    let (transport, _events) = connect_with(settings);
    open(&transport, Version::V2025_11_25).await;
    assert_eq!(resumptions(&server)[0].header("mcp-session-id"), Some("s"));
}
