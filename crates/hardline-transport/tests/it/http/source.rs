//! Headers that change, and requests that are sent again with better ones.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use hardline_testkit::http::Server;
use hardline_transport::client::{BoxFuture, OneWayMessage, Transport, TransportError};
use hardline_transport::http::{HeaderRefusal, HeaderSource, Headers, Next, Sse, Target};
use hardline_wire::version::Version;

use super::{call, connect_with, settings, text};

/// Counts up: each set of headers is new, and each refusal leads to another attempt if allowed.
#[derive(Debug, Default)]
struct Counting {
    given: AtomicU32,
    refusals: Mutex<Vec<String>>,
    /// Number of the first set of headers that is not provided any more.
    end: Option<u32>,
    gives_up: bool,
}

impl HeaderSource for Counting {
    fn headers<'a>(&'a self, target: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>> {
        let count = self.given.fetch_add(1, Ordering::Relaxed);
        let shown = format!("{target:?}");
        Box::pin(async move {
            if self.end == Some(count) {
                return Err(TransportError::Login("logged out".to_owned()));
            }
            let headers = Headers::new().with("Authorization", &count.to_string()).unwrap();
            Ok(headers.with("X-Target", &shown).unwrap())
        })
    }

    fn refused<'a>(
        &'a self,
        refusal: HeaderRefusal<'a>,
    ) -> BoxFuture<'a, Result<Next, TransportError>> {
        let challenge = refusal.hints.www_authenticate.clone().unwrap_or_default();
        let line = format!("{} {} {challenge}", refusal.attempt, refusal.status);
        self.refusals.lock().unwrap().push(line);
        let next = if self.gives_up { Next::GiveUp } else { Next::SendAgain };
        Box::pin(std::future::ready(Ok(next)))
    }
}

#[tokio::test]
async fn asks_for_headers_before_every_request() {
    let server = Server::start(async |it| it.answer("{}").await);
    let source = Arc::new(Counting { end: Some(2), ..Counting::default() });
    let (transport, _events) = connect_with(settings(&server).with_header_source(source));
    text(&transport, 1, "ping").await;
    text(&transport, 2, "ping").await;
    let error = call(&transport, 3, "ping").await.unwrap_err();
    assert!(error.is_refused());
    assert_eq!(error.to_string(), "logged out");
    let seen: Vec<_> =
        server.requests().iter().map(|it| it.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(seen, ["0", "1"]);
}

#[tokio::test]
async fn every_kind_of_request_is_sent_again_with_headers_of_its_own() {
    let server = Server::start(async |it| {
        // The first request of each kind is refused.
        let kind = (it.request.method.clone(), it.rpc_method());
        let token: u32 = it.request.header("authorization").unwrap().parse().unwrap();
        if token.is_multiple_of(2) {
            let headers = ["WWW-Authenticate: Basic", "WWW-Authenticate: Bearer scope=\"a\""];
            it.respond(401, &headers, "who?").await;
            return;
        }
        match kind {
            (method, _) if method == "GET" => it.stream("data: {}\n\n").await,
            (method, _) if method == "DELETE" => it.status(200).await,
            (_, rpc) if rpc == "initialize" => {
                let headers = ["Content-Type: application/json", "Mcp-Session-Id: s"];
                it.respond(200, &headers, it.result("{}")).await;
            }
            (_, rpc) if rpc.starts_with("notifications/") => it.status(202).await,
            _ => it.answer("{}").await,
        }
    });
    let source = Arc::new(Counting::default());
    let settings = settings(&server).with_header_source(Arc::<Counting>::clone(&source));
    let (transport, _events) = connect_with(settings.with_max_reconnects(0));
    text(&transport, 1, "initialize").await;
    transport.agree(Version::V2025_11_25).await;
    let line = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    transport.notify(OneWayMessage::notification(line)).await.unwrap();
    transport.close().await;
    let seen: Vec<_> = server
        .requests()
        .iter()
        .map(|it| format!("{} {}", it.method, it.header("authorization").unwrap()))
        .collect();
    let expected = "POST 0,POST 1,GET 2,GET 3,POST 4,POST 5,DELETE 6,DELETE 7";
    assert_eq!(seen.join(","), expected);
    for request in server.requests() {
        let shown = format!("{} {}", request.method, server.url("/mcp"));
        assert_eq!(request.header("x-target"), Some(shown.as_str()));
    }
    let refusals = source.refusals.lock().unwrap().clone();
    assert_eq!(refusals, vec!["0 401 Basic, Bearer scope=\"a\""; 4]);
}

#[tokio::test]
async fn a_source_that_never_gives_up_is_not_believed_for_ever() {
    let server = Server::start(async |it| it.respond(403, &[], "no").await);
    let source = Arc::new(Counting::default());
    let settings = settings(&server).with_header_source(Arc::<Counting>::clone(&source));
    let (transport, _events) = connect_with(settings);
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(matches!(&error, TransportError::Http(it) if it.status == 403), "{error}");
    assert_eq!(server.requests().len(), 5);
    assert_eq!(source.refusals.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_source_that_gives_up_leaves_the_error_of_the_server() {
    let server = Server::start(async |it| it.respond(401, &[], "who?").await);
    let source = Arc::new(Counting { gives_up: true, ..Counting::default() });
    let (transport, _events) = connect_with(settings(&server).with_header_source(source));
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(error.to_string().contains("it said: who?"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_and_a_later_attempt_have_headers_of_their_own() {
    let server = Server::start(async |it| match (it.index, it.request.path.as_str()) {
        (_, "/mcp") => it.respond(307, &["Location: /there?key=secret"], "").await,
        (1, _) => it.respond(429, &["Retry-After: 0"], "").await,
        _ => it.answer("{}").await,
    });
    let source = Arc::new(Counting::default());
    let (transport, _events) = connect_with(settings(&server).with_header_source(source));
    text(&transport, 1, "ping").await;
    let seen: Vec<_> = server
        .requests()
        .iter()
        .map(|it| format!("{} {}", it.path, it.header("authorization").unwrap()))
        .collect();
    assert_eq!(seen, ["/mcp 0", "/there?key=secret 1", "/mcp 2", "/there?key=secret 3"]);
}

#[tokio::test]
async fn the_older_transport_sends_again_too() {
    let server = Server::start(async |it| {
        let token: u32 = it.request.header("authorization").unwrap().parse().unwrap();
        if token.is_multiple_of(2) {
            it.respond(401, &[], "who?").await;
        } else if it.request.method == "GET" {
            it.open_stream().await;
            it.chunk("event: endpoint\ndata: /post\n\n").await;
            it.wait_for_close().await;
        } else {
            let body = it.result("{}");
            it.json(&body).await;
        }
    });
    let source = Arc::new(Counting::default());
    let transport = Sse::connect(settings(&server).with_header_source(source)).await.unwrap();
    let line = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    transport.notify(OneWayMessage::notification(line)).await.unwrap();
    let seen: Vec<_> = server.requests().iter().map(|it| it.method.clone()).collect();
    assert_eq!(seen, ["GET", "GET", "POST", "POST"]);
}

/// Provides a token.
#[derive(Debug)]
struct Fixed;

impl HeaderSource for Fixed {
    fn headers<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>> {
        let headers = Headers::new().with("Authorization", "Bearer SEKRIT-TOKEN").unwrap();
        Box::pin(std::future::ready(Ok(headers)))
    }
}

#[tokio::test]
async fn a_token_that_the_server_repeats_is_not_shown() {
    for status in [200, 202, 401, 403, 500] {
        for kind in ["application/json", "text/plain", "text/html"] {
            for is_message in [false, true] {
                let server = Server::start(async move |it| {
                    let token = it.request.header("authorization").unwrap().replace("Bearer ", "");
                    let key = it.request.header("x-key").unwrap();
                    let said = format!("{}{token} {key}", "x".repeat(180));
                    let body = if is_message && status != 200 {
                        format!(
                            r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":1,"message":"{said}"}}}}"#,
                            it.id()
                        )
                    } else {
                        said
                    };
                    it.respond(status, &[&format!("Content-Type: {kind}")], body).await;
                });
                let headers = Headers::new().with("X-Key", "SEKRIT-KEY").unwrap();
                let settings = settings(&server).with_headers(headers);
                let (transport, _events) =
                    connect_with(settings.with_header_source(Arc::new(Fixed)));
                let shown = format!("{:?}", call(&transport, 1, "ping").await);
                assert!(!shown.contains("SEK"), "{status} {kind}: {shown}");
                assert!(is_message || shown.contains("[redacted]"), "{status} {kind}: {shown}");
            }
        }
    }
}
