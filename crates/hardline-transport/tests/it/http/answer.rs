//! Answers as bodies and as streams.

use std::time::Duration;

use hardline_testkit::http::Server;
use hardline_transport::client::{Transport as _, TransportError};
use hardline_wire::limits::Limits;
use hardline_wire::version::Version;
use tokio::time::Instant;

use super::{
    call, connect, connect_with, http_error, in_time, next, open, request, result, settings, text,
};

#[tokio::test]
async fn takes_a_body_and_reuses_the_connection() {
    let server = Server::start(async |it| it.answer("{}").await);
    let (transport, _events) = connect(&server);
    for id in 1..=20 {
        assert_eq!(text(&transport, id, "ping").await, result(id, "{}"));
    }
    assert_eq!(server.connections(), 1);
    let seen = &server.requests()[0];
    assert_eq!((&*seen.method, &*seen.path), ("POST", "/mcp"));
    assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("mcp-session-id"), None);
    assert_eq!(seen.header("mcp-protocol-version"), None);
    assert_eq!(seen.body, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
}

#[tokio::test]
async fn takes_a_stream_and_reuses_the_connection() {
    let server = Server::start(async |it| {
        it.open_stream().await;
        it.chunk(": hello\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"a\"}\r\n\r\n")
            .await;
        let answer = it.result("{}");
        it.chunk(format!("event: message\nid: 1\ndata: {answer}\n\n")).await;
        it.end_stream().await;
    });
    let (transport, mut events) = connect(&server);
    for id in 1..=20 {
        assert_eq!(text(&transport, id, "ping").await, result(id, "{}"));
        assert_eq!(next(&mut events).await, "notification a");
    }
    // The end of a stream may be read after the next request was sent.
    assert!(server.connections() <= 3, "{}", server.connections());
}

#[tokio::test]
async fn reads_what_follows_an_answer_without_holding_it_back() {
    let (go, gone) = tokio::sync::watch::channel(false);
    let server = Server::start(async move |it| {
        it.open_stream().await;
        let answer = it.result("{}");
        it.event(&answer).await;
        let mut gone = gone.clone();
        gone.wait_for(|it| *it).await.unwrap();
        it.event(r#"{"jsonrpc":"2.0","method":"late"}"#).await;
        it.event(&answer).await;
        it.end_stream().await;
    });
    let (transport, mut events) = connect(&server);
    text(&transport, 1, "ping").await;
    go.send(true).unwrap();
    assert_eq!(next(&mut events).await, "notification late");
    let twice = next(&mut events).await;
    assert!(twice.starts_with("error an answer to no pending request, with the id 1: "), "{twice}");
    text(&transport, 2, "ping").await;
}

#[tokio::test]
async fn reads_no_more_than_a_bounded_rest_after_an_answer() {
    let server = Server::start(async |it| {
        it.open_stream().await;
        it.event(&it.result("{}")).await;
        let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n".repeat(100);
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        while it.write(&chunk).await {}
        it.close();
    });
    let (transport, mut events) = connect(&server);
    text(&transport, 1, "ping").await;
    let taking = async { while events.recv().await.is_some() {} };
    in_time(async {
        tokio::select! {
            () = taking => panic!("the transport is open"),
            () = server.wait_for_silence() => {}
        }
    })
    .await;
}

#[tokio::test]
async fn takes_a_gzipped_body_and_bounds_what_it_becomes() {
    // The second body has a megabyte of spaces before the answer.
    let (small, bomb) = (include_bytes!("answer.json.gz"), include_bytes!("bomb.json.gz"));
    let server = Server::start(async |it| {
        let body: &[u8] = if it.id() == "1" { small } else { bomb };
        let headers = ["Content-Type: application/json", "Content-Encoding: gzip"];
        it.respond(200, &headers, body).await;
    });
    let limits = Limits::default().with_max_frame_bytes(100_000).unwrap();
    let (transport, _events) = connect_with(settings(&server).with_limits(limits));
    assert_eq!(text(&transport, 1, "ping").await, result(1, "{}"));
    let error = call(&transport, 2, "ping").await.unwrap_err();
    assert_eq!(error.to_string(), "the answer cannot be used: it is longer than 100000 bytes");
    assert!(server.requests()[0].header("accept-encoding").unwrap().contains("gzip"));
    assert_eq!(text(&transport, 1, "ping").await, result(1, "{}"));
}

#[tokio::test]
async fn an_endless_body_costs_its_request_alone() {
    let server = Server::start(async |it| {
        if it.id() != "1" {
            return it.answer("{}").await;
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\":\"";
        it.write(head).await;
        while it.write(vec![b'x'; 1 << 16]).await {}
        it.close();
    });
    let limits = Limits::default().with_max_frame_bytes(1 << 20).unwrap();
    let (transport, _events) = connect_with(settings(&server).with_limits(limits));
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert_eq!(error.to_string(), "the answer cannot be used: it is longer than 1048576 bytes");
    text(&transport, 2, "ping").await;
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_not_read() {
    let server = Server::start(async |it| {
        it.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n").await;
        it.wait_for_close().await;
    });
    let (transport, _events) = connect(&server);
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(matches!(error, TransportError::Answer(_)), "{error}");
    in_time(server.wait_for_silence()).await;
}

#[tokio::test]
async fn refuses_bodies_that_are_no_answer_to_the_request() {
    let bodies = [
        (r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, "it is no answer to the request with the id 1"),
        (
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            "it is no answer to the request with the id 1",
        ),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#, "it is no answer"),
        (r#"{"jsonrpc":"2.0","method":"a"}"#, "it is no answer"),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"result":{}}"#, "not a valid message (duplicate key"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}"#, "not a valid message"),
        (r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#, "it is no answer"),
    ];
    let server = Server::start(async move |it| it.json(bodies[it.index].0).await);
    let (transport, _events) = connect(&server);
    for (body, expected) in bodies {
        match call(&transport, 1, "ping").await {
            Err(TransportError::Answer(reason)) => {
                assert!(reason.starts_with(expected), "{reason}");
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn takes_each_element_of_a_batch_where_the_version_has_them() {
    let server = Server::start(async |it| match &*it.rpc_method() {
        "initialize" => it.answer("{}").await,
        "" => it.status(405).await,
        method => {
            let parts = [
                r#"{"jsonrpc":"2.0","method":"a"}"#,
                "nonsense",
                &it.result("{}"),
                r#"{"jsonrpc":"2.0","id":"s","method":"b"}"#,
            ];
            let batch = format!("[{}]", parts.join(","));
            match method {
                "body" => it.json(&batch).await,
                _ => it.stream(&format!("data: {batch}\n\n")).await,
            }
        }
    });
    let (transport, mut events) = connect(&server);
    open(&transport, Version::V2025_03_26).await;
    for method in ["body", "stream"] {
        assert_eq!(text(&transport, 7, method).await, result(7, "{}"));
        assert_eq!(next(&mut events).await, "notification a");
        assert!(next(&mut events).await.starts_with("error not a valid message"));
        assert_eq!(next(&mut events).await, "request \"s\" b");
    }
}

#[tokio::test]
async fn a_request_without_an_answer_fails_at_once() {
    let server = Server::start(async |it| match it.index {
        0 => it.status(202).await,
        1 => it.status(204).await,
        2 => it.json("").await,
        3 => it.respond(200, &[], "").await,
        4 => it.respond(200, &["Content-Type: text/plain"], "pong").await,
        5 => it.respond(200, &["Content-Type: text/html"], "<!DOCTYPE html><p>hi\x1b[2J").await,
        _ => it.respond(202, &["Content-Type: application/json"], "{}").await,
    });
    let (transport, _events) = connect(&server);
    for status in [202, 204, 200, 200] {
        let error = http_error(&transport, 1).await;
        assert_eq!(error.status, status);
        assert_eq!(error.reason, "it accepted the request but sent no answer to it");
    }
    let error = http_error(&transport, 1).await;
    assert!(error.reason.starts_with("the answer is neither application/json nor"), "{error}");
    assert_eq!(error.excerpt, "pong");
    let error = http_error(&transport, 1).await;
    assert!(error.reason.starts_with("this looks like a web page, is the URL right?"), "{error}");
    assert_eq!(error.excerpt, r"<!DOCTYPE html><p>hi\u{1b}[2J");
    assert_eq!(http_error(&transport, 1).await.status, 202);
}

#[tokio::test]
async fn a_body_that_breaks_off_costs_its_request_alone() {
    let server = Server::start(async |it| match it.index {
        0 => {
            it.write(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
            )
            .await;
            it.close();
        }
        1 => {
            it.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n50\r\ndata: {").await;
            it.reset();
        }
        2 => it.close(),
        3 => {
            it.write("HTTP/1.1 nonsense\r\n\r\n").await;
            it.close();
        }
        _ => it.answer("{}").await,
    });
    let (transport, _events) = connect(&server);
    for id in 1..=4 {
        let error = call(&transport, id, "ping").await.unwrap_err();
        assert!(matches!(error, TransportError::Interrupted(_)), "{error}");
    }
    text(&transport, 5, "ping").await;
    assert_eq!(server.requests().len(), 5, "nothing is sent twice");
}

#[tokio::test]
async fn a_request_that_is_given_up_lets_go_of_its_stream_at_once() {
    let server = Server::start(async |it| {
        it.open_stream().await;
        for _ in 0..3 {
            it.chunk("data: {").await;
        }
        it.wait_for_close().await;
    });
    let (transport, _events) = connect(&server);
    let waiting = transport.request(request(1, "ping"));
    assert!(tokio::time::timeout(Duration::from_millis(50), waiting).await.is_err());
    let given_up = Instant::now();
    in_time(server.wait_for_silence()).await;
    assert!(given_up.elapsed() < Duration::from_secs(2));
    assert!(transport.is_connected());
}

#[tokio::test]
async fn a_stuck_stream_holds_up_nobody_else() {
    let server = Server::start(async |it| {
        if it.rpc_method() != "flood" {
            return it.answer("{}").await;
        }
        it.open_stream().await;
        let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n".repeat(100);
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        while it.write(&chunk).await {}
        it.close();
    });
    let (transport, mut events) = connect(&server);
    let flood = transport.request(request(1, "flood"));
    tokio::pin!(flood);
    for id in 2..30 {
        tokio::select! {
            _ = &mut flood => panic!("it has no end"),
            _ = text(&transport, id, "ping") => {}
        }
    }
    drop(events.recv().await);
}

#[tokio::test]
async fn a_message_over_the_limit_is_not_sent() {
    let server = Server::start(async |it| it.answer("{}").await);
    let limits = Limits::default().with_max_frame_bytes(10).unwrap();
    let (transport, _events) = connect_with(settings(&server).with_limits(limits));
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(matches!(error, TransportError::TooLarge { limit: 10 }), "{error}");
    assert!(server.requests().is_empty());
}
