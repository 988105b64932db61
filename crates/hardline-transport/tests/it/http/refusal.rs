//! Error statuses, redirects, and unreachable servers.

use std::time::Duration;

use hardline_testkit::http::Server;
use hardline_transport::client::{Transport as _, TransportError};
use hardline_transport::http::{Headers, HttpSettings, Streamable};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;

use super::{
    call, connect, connect_with, http_error, in_time, notification, result, settings, text,
};

#[tokio::test]
async fn says_what_to_do_about_a_status() {
    const CASES: [(u16, &str); 10] = [
        (400, "it does not accept the request"),
        (401, "it requires authentication: send"),
        (403, "it does not allow this"),
        (404, "there is nothing at this URL; MCP endpoints often end in /mcp"),
        (405, "it does not take messages at this URL"),
        (406, "it offers neither JSON nor an event stream"),
        (415, "it does not take JSON at this URL"),
        (429, "it received too many requests"),
        (500, "it failed internally"),
        (503, "it failed internally"),
    ];
    let server = Server::start(async |it| {
        it.respond(CASES[it.index].0, &[], "because \x1b[31m").await;
    });
    let (transport, _events) = connect(&server);
    for (status, expected) in CASES {
        let error = http_error(&transport, 1).await;
        assert_eq!(error.status, status);
        assert!(error.reason.starts_with(expected), "{error}");
        assert_eq!(error.excerpt, r"because \u{1b}[31m");
        let shown = error.to_string();
        assert!(shown.starts_with(&format!("the server answered with HTTP status {status}: ")));
    }
}

#[tokio::test]
async fn gives_hints_and_messages_of_an_error() {
    let server = Server::start(async |it| {
        let headers = [
            "Content-Type: application/json",
            "WWW-Authenticate: Bearer resource_metadata=\"https://a.example/x\"",
            "Mcp-Auth-Server: https://a.example",
            "Retry-After: 70",
        ];
        let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"who?"}}"#;
        it.respond(401, &headers, body).await;
    });
    let (transport, _events) = connect(&server);
    let error = http_error(&transport, 1).await;
    let hint = "Bearer resource_metadata=\"https://a.example/x\"";
    assert_eq!(error.auth.www_authenticate.as_deref(), Some(hint));
    assert_eq!(error.auth.auth_server.as_deref(), Some("https://a.example"));
    assert_eq!(error.retry_after, Some(Duration::from_secs(70)));
    assert!(error.message.unwrap().contains("-32000"));
}

#[tokio::test]
async fn an_error_with_the_id_of_the_request_is_its_answer() {
    let server = Server::start(async |it| {
        let id = it.id();
        let error =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32020,"message":"no"}}}}"#);
        it.respond(400, &["Content-Type: application/json"], error).await;
    });
    let (transport, _events) = connect(&server);
    assert!(text(&transport, 1, "ping").await.contains("-32020"));
    let error = in_time(transport.notify(notification("a"))).await.unwrap_err();
    assert!(matches!(&error, TransportError::Http(it) if it.status == 400), "{error}");
}

#[tokio::test]
async fn notifications_are_taken_with_any_success() {
    let server = Server::start(async |it| match it.index {
        0 => it.status(202).await,
        1 => it.status(204).await,
        2 => it.json("{}").await,
        3 => it.respond(202, &[], "Accepted").await,
        _ => it.stream(": nothing\n\n").await,
    });
    let (transport, _events) = connect(&server);
    for _ in 0..5 {
        in_time(transport.notify(notification("a"))).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn an_endless_error_page_is_read_no_further_than_needed() {
    let server = Server::start(async |it| {
        it.write("HTTP/1.1 500 No\r\nContent-Type: text/html\r\n\r\n<html>").await;
        match it.index {
            0 => while it.write(vec![b'x'; 1 << 16]).await {},
            _ => it.wait_for_close().await,
        }
        it.close();
    });
    let (transport, _events) = connect(&server);
    for _ in 0..2 {
        let begun = Instant::now();
        let error = http_error(&transport, 1).await;
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(error.reason.contains("this looks like a web page"), "{error}");
        assert!(error.excerpt.len() < 400);
    }
}

#[tokio::test]
async fn waits_and_sends_again_when_asked_to_and_no_more_than_twice() {
    let server = Server::start(async |it| match it.index {
        0 => it.respond(429, &["Retry-After: 0"], "").await,
        1 => it.respond(429, &["Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"], "").await,
        2 => it.answer("{}").await,
        3..6 => it.respond(429, &["Retry-After: 0"], "").await,
        6 => it.respond(429, &["Retry-After: 11"], "").await,
        // A proxy may send 503 after the server received the message.
        _ => it.respond(503, &["Retry-After: 0"], "").await,
    });
    let (transport, _events) = connect(&server);
    assert_eq!(text(&transport, 1, "ping").await, result(1, "{}"));
    assert_eq!(http_error(&transport, 2).await.status, 429);
    assert_eq!(server.requests().len(), 6);
    assert_eq!(http_error(&transport, 3).await.retry_after, Some(Duration::from_secs(11)));
    assert_eq!(http_error(&transport, 4).await.status, 503);
    assert_eq!(server.requests().len(), 8);
}

#[tokio::test]
async fn follows_redirects_on_its_origin_alone() {
    let other = Server::start(async |it| it.answer("{}").await);
    let elsewhere = format!("Location: {}", other.url("/mcp?key=secret"));
    let server = Server::start(async move |it| match (&*it.request.path, &*it.rpc_method()) {
        ("/mcp", "moved") => it.respond(308, &["Location: /new?a=1"], "").await,
        ("/mcp", "lost") => it.respond(302, &["Location: /new?key=secret"], "").await,
        ("/mcp", "away") => it.respond(307, &[&elsewhere], "").await,
        ("/mcp", "nowhere") => it.respond(307, &["Location: data:text/plain,hi"], "").await,
        ("/mcp", "blank") => it.respond(307, &[], "").await,
        (_, "round") => it.respond(307, &["Location: /round"], "").await,
        _ => it.answer("{}").await,
    });
    let headers = Headers::new().with("Authorization", "Bearer secret").unwrap();
    let (transport, _events) = connect_with(settings(&server).with_headers(headers));
    assert_eq!(text(&transport, 1, "moved").await, result(1, "{}"));
    let last = server.requests().pop().unwrap();
    assert_eq!((&*last.method, &*last.path), ("POST", "/new?a=1"));
    assert_eq!(last.header("authorization"), Some("Bearer secret"));
    assert!(last.body.contains("moved"));

    for (method, expected) in [
        ("lost", "this kind of redirect loses the message: use that URL"),
        ("away", &*format!("another origin, {}", other.url(","))),
        ("nowhere", "another origin, null"),
        ("blank", "it redirects without naming a target"),
        ("round", "it redirects more than 5 times"),
    ] {
        let error = call(&transport, 2, method).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    assert!(other.requests().is_empty());
    assert_eq!(server.requests_with("POST").iter().filter(|it| it.path == "/round").count(), 5);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_in_words_and_without_secrets() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}/mcp?key=secret");
    let transport = Streamable::new(HttpSettings::new(&url).unwrap()).unwrap();
    match call(&transport, 1, "ping").await {
        Err(TransportError::Unreachable(reason)) => {
            assert!(
                reason.starts_with(&format!("cannot reach http://127.0.0.1:{port}: ")),
                "{reason}"
            );
            assert!(
                reason.contains("refused") && reason.ends_with("is the server running?"),
                "{reason}"
            );
            assert!(!reason.contains("secret"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let settings = HttpSettings::new("http://no-such-host.invalid/mcp").unwrap();
    let error = call(&Streamable::new(settings).unwrap(), 1, "ping").await.unwrap_err();
    assert!(matches!(error, TransportError::Unreachable(_)), "{error}");
    assert!(transport.is_connected());
}

#[tokio::test]
async fn a_server_without_tls_is_told_in_words() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let _ = stream.read(&mut [0; 1000]).await;
    });
    let Ok(transport) = Streamable::new(HttpSettings::new(&url).unwrap()) else {
        // Some systems have no certificates.
        return;
    };
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(matches!(error, TransportError::Unreachable(_)), "{error:?}");
    assert!(error.to_string().contains("corrupt message"), "{error}");
}
