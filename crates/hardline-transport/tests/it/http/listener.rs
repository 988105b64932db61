//! The listening stream: messages that the server sends on its own.

use std::time::Duration;

use hardline_testkit::http::{Exchange, Server};
use hardline_transport::client::Transport as _;
use hardline_wire::version::Version;
use tokio::time::Instant;

use super::{connect, in_time, next, open, text};

const VERSION: Version = Version::V2025_11_25;

/// Answers POST with a result, and calls `listened` for other requests.
async fn serve(it: &mut Exchange, listened: impl AsyncFnOnce(&mut Exchange)) {
    match &*it.request.method {
        "GET" => listened(it).await,
        _ => it.answer("{}").await,
    }
}

#[tokio::test]
async fn hears_what_the_server_sends_of_its_own_accord() {
    let server = Server::start(async |it| {
        serve(it, async |it| {
            it.open_stream().await;
            it.event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
            it.event(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
            it.event(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
            it.wait_for_close().await;
        })
        .await;
    });
    let (transport, mut events) = connect(&server);
    open(&transport, VERSION).await;
    assert_eq!(next(&mut events).await, "notification notifications/tools/list_changed");
    assert_eq!(next(&mut events).await, "request \"p\" ping");
    assert!(next(&mut events).await.starts_with("error an answer to no pending request"));
    text(&transport, 1, "ping").await;
    drop(transport);
    assert_eq!(next(&mut events).await, "none");
    in_time(server.wait_for_silence()).await;
}

#[tokio::test]
async fn a_refusal_turns_it_off_quietly() {
    let server = Server::start(async |it| {
        let index = it.index;
        serve(it, async |it| match index / 2 {
            0 => it.status(405).await,
            1 => it.status(404).await,
            2 => it.status(500).await,
            3 => it.respond(200, &["Content-Type: text/html"], "<html>").await,
            4 => it.respond(302, &["Location: http://evil.example/"], "").await,
            _ => it.reset(),
        })
        .await;
    });
    for _ in 0..6 {
        let (transport, mut events) = connect(&server);
        open(&transport, VERSION).await;
        assert!(transport.is_connected());
        assert!(events.try_recv().is_err());
    }
    assert_eq!(server.requests_with("GET").len(), 6);
}

#[tokio::test]
async fn a_server_that_does_not_say_holds_up_nobody_for_long() {
    let server = Server::start(async |it| serve(it, async |it| it.wait_for_close().await).await);
    let (transport, _events) = connect(&server);
    text(&transport, 0, "initialize").await;
    let begun = Instant::now();
    in_time(transport.agree(VERSION)).await;
    let waited = begun.elapsed();
    assert!((900..1500).contains(&waited.as_millis()), "{waited:?}");
    text(&transport, 1, "ping").await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_every_stream_is_not_stormed() {
    let server = Server::start(async |it| {
        serve(it, async |it| it.stream("id: 1\nretry: 0\n\n").await).await;
    });
    let (transport, _events) = connect(&server);
    transport.request(super::request(0, "initialize")).await.unwrap();
    let begun = Instant::now();
    transport.agree(VERSION).await;
    // The first attempt, and ten more.
    server.wait_for_requests(1 + 11).await;
    assert!(Duration::from_secs(90) < begun.elapsed(), "{:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(server.requests_with("GET").len(), 11);
    assert!(transport.is_connected());
}

#[tokio::test]
async fn takes_up_where_a_stream_ended() {
    let server = Server::start(async |it| {
        let index = it.index;
        serve(it, async |it| match index {
            1 => {
                let event = "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}";
                it.stream(&format!("id: x\nretry: 300\ndata: {event}\n\n")).await;
            }
            2 => it.respond(503, &[], "").await,
            3 => {
                it.open_stream().await;
                it.event(r#"{"jsonrpc":"2.0","method":"b"}"#).await;
                it.wait_for_close().await;
            }
            _ => it.status(400).await,
        })
        .await;
    });
    let (transport, mut events) = connect(&server);
    open(&transport, VERSION).await;
    assert_eq!(next(&mut events).await, "notification a");
    let begun = Instant::now();
    assert_eq!(next(&mut events).await, "notification b");
    assert!(Duration::from_millis(700) < begun.elapsed(), "{:?}", begun.elapsed());
    let ids: Vec<_> = server
        .requests_with("GET")
        .iter()
        .map(|it| it.header("last-event-id").map(str::to_owned))
        .collect();
    assert_eq!(ids, [None, Some("x".to_owned()), Some("x".to_owned())]);
}

#[tokio::test]
async fn is_led_on_by_the_origin() {
    let server = Server::start(async |it| {
        serve(it, async |it| match &*it.request.path {
            "/mcp" => it.respond(302, &["Location: /stream"], "").await,
            _ => {
                it.open_stream().await;
                it.event(r#"{"jsonrpc":"2.0","method":"a"}"#).await;
                it.wait_for_close().await;
            }
        })
        .await;
    });
    let (transport, mut events) = connect(&server);
    open(&transport, VERSION).await;
    assert_eq!(next(&mut events).await, "notification a");
    assert_eq!(server.requests_with("GET")[1].path, "/stream");
}

#[tokio::test]
async fn a_forgotten_session_is_not_listened_to() {
    let server = Server::start(async |it| {
        serve(it, async |it| {
            it.open_stream().await;
            it.wait_for_close().await;
        })
        .await;
    });
    let (transport, _events) = connect(&server);
    open(&transport, VERSION).await;
    transport.forget_session();
    open(&transport, VERSION).await;
    assert_eq!(server.requests_with("GET").len(), 2);
    transport.forget_session();
    drop(transport);
    in_time(server.wait_for_silence()).await;
}
