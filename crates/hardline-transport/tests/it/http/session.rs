//! Sessions: their ids, their versions, and their end.

use std::borrow::Cow;

use hardline_testkit::http::{Exchange, Server};
use hardline_transport::client::{OutgoingRequest, Transport as _, TransportError};
use hardline_transport::http::Headers;
use hardline_wire::version::Version;

use super::{call, connect, connect_with, in_time, notification, open, request, settings, text};

/// A server that opens a session with this id on `initialize`, refuses listening, and answers all
/// other requests.
async fn serve(it: &mut Exchange, id: &str) {
    match (&*it.request.method, &*it.rpc_method()) {
        ("GET", _) => it.status(405).await,
        ("DELETE", _) => it.status(200).await,
        (_, "initialize") => {
            let body = it.result("{}");
            let headers = ["Content-Type: application/json", &format!("Mcp-Session-Id: {id}")];
            it.respond(200, &headers, body).await;
        }
        (_, method) if method.starts_with("notifications/") => it.status(202).await,
        _ => it.answer("{}").await,
    }
}

#[tokio::test]
async fn carries_the_session_and_the_version_from_the_agreement_on() {
    let server = Server::start(async |it| serve(it, "abc~!1").await);
    let (transport, _events) = connect(&server);
    open(&transport, Version::V2025_11_25).await;
    in_time(transport.notify(notification("notifications/initialized"))).await.unwrap();
    text(&transport, 1, "ping").await;
    in_time(transport.close()).await;
    let seen = server.requests();
    let methods: Vec<_> = seen.iter().map(|it| &*it.method).collect();
    assert_eq!(methods, ["POST", "GET", "POST", "POST", "DELETE"]);
    assert_eq!(seen[0].header("mcp-session-id"), None);
    assert_eq!(seen[0].header("mcp-protocol-version"), None);
    for request in &seen[1..] {
        assert_eq!(request.header("mcp-session-id"), Some("abc~!1"), "{request:?}");
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"), "{request:?}");
    }
    assert_eq!(seen[1].header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn the_newest_version_has_neither_session_nor_listener() {
    let server = Server::start(async |it| serve(it, "abc").await);
    let (transport, _events) = connect(&server);
    let version = Version::V2026_07_28;
    let headers = vec![
        (Cow::Borrowed("MCP-Protocol-Version"), version.to_string()),
        (Cow::Borrowed("Mcp-Method"), "initialize".to_owned()),
        (Cow::Borrowed("Mcp-Param-Region"), "=?base64?w6k=?=".to_owned()),
    ];
    let discover = request(0, "initialize").with_headers(headers.clone());
    in_time(transport.request(discover)).await.unwrap();
    in_time(transport.agree(version)).await;
    in_time(transport.request(request(1, "tools/list").with_headers(headers))).await.unwrap();
    in_time(transport.close()).await;
    let seen = server.requests();
    assert_eq!(seen.len(), 2, "{seen:?}");
    for request in &seen {
        assert_eq!(request.header("mcp-session-id"), None);
        assert_eq!(request.header("mcp-method"), Some("initialize"));
        assert_eq!(request.header("mcp-param-region"), Some("=?base64?w6k=?="));
        let versions = request.headers.iter().filter(|(name, _)| name == "mcp-protocol-version");
        assert_eq!(versions.count(), 1);
    }
}

#[tokio::test]
async fn refuses_ids_that_no_session_can_have() {
    let long = "x".repeat(5000);
    let server = Server::start(async move |it| {
        let id = ["with space", "\u{e9}", &long][it.index];
        serve(it, id).await;
    });
    let (transport, _events) = connect(&server);
    for _ in 0..3 {
        let error = call(&transport, 0, "initialize").await.unwrap_err();
        assert!(
            matches!(&error, TransportError::Answer(reason) if reason.contains("session")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_session_that_has_ended_is_forgotten_and_a_late_answer_does_not_end_the_next() {
    let (release, released) = tokio::sync::watch::channel(false);
    let server = Server::start(async move |it| {
        if it.request.header("mcp-session-id") == Some("s0") && it.rpc_method() != "" {
            if it.rpc_method() == "slow" {
                released.clone().wait_for(|it| *it).await.unwrap();
            }
            return it.status(404).await;
        }
        let id = if it.index == 0 { "s0" } else { "s1" };
        serve(it, id).await;
    });
    let (transport, _events) = connect(&server);
    open(&transport, Version::V2025_06_18).await;
    let slow = transport.request(request(1, "slow"));
    tokio::pin!(slow);
    tokio::select! {
        biased;
        _ = &mut slow => panic!("it is slow"),
        () = server.wait_for_requests(3) => {}
    }
    let error = call(&transport, 2, "ping").await.unwrap_err();
    assert!(matches!(error, TransportError::SessionEnded), "{error}");
    assert!(error.is_refused());
    let error = in_time(transport.notify(notification("notifications/a"))).await.unwrap_err();
    assert!(matches!(error, TransportError::SessionEnded), "{error}");

    transport.forget_session();
    open(&transport, Version::V2025_06_18).await;
    release.send(true).unwrap();
    assert!(matches!(in_time(slow).await, Err(TransportError::SessionEnded)));
    text(&transport, 3, "ping").await;
    let last = server.requests().pop().unwrap();
    assert_eq!(last.header("mcp-session-id"), Some("s1"));
    let again =
        server.requests_with("POST").into_iter().rfind(|it| it.rpc_method() == "initialize");
    assert_eq!(again.unwrap().header("mcp-session-id"), None);
}

#[tokio::test]
async fn without_a_session_404_is_an_error_or_an_answer() {
    let server = Server::start(async |it| match it.index {
        0 => it.respond(404, &[], "nothing here").await,
        _ => {
            let id = it.id();
            let error = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#
            );
            it.respond(404, &["Content-Type: application/json"], error).await;
        }
    });
    let (transport, _events) = connect(&server);
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(matches!(&error, TransportError::Http(it) if it.status == 404), "{error}");
    assert!(text(&transport, 2, "ping").await.contains("-32601"));
}

#[tokio::test]
async fn sends_configured_headers_and_headers_of_its_own() {
    let server = Server::start(async |it| it.answer("{}").await);
    let headers = Headers::new().with("Authorization", "Bearer a").unwrap();
    let (transport, _events) = connect_with(settings(&server).with_headers(headers));
    let headers = vec![(Cow::Borrowed("Mcp-Method"), "ping".to_owned())];
    let request: OutgoingRequest = request(1, "ping").with_headers(headers);
    in_time(transport.request(request)).await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer a"));
    assert_eq!(seen.header("mcp-method"), Some("ping"));
}
