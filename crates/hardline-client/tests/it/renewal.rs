//! Sessions that a server ends, and how it behaves when they are opened again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hardline_client::{Connection, Error, Options, Settings, Versions};
use hardline_testkit::http::{Exchange, Server};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::peer::text;

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;

/// A server whose first session nobody knows after its greeting; `again` is shown what its successor is
/// greeted with, and has to answer that.
fn start(again: impl AsyncFn(&mut Exchange) + Send + Clone + 'static) -> Server {
    let greetings = Arc::new(AtomicUsize::new(0));
    Server::start(async move |it: &mut Exchange| {
        let is_old = it.request.header("mcp-session-id") == Some("s-0");
        match (it.request.method.as_str(), it.rpc_method().as_str()) {
            ("GET", _) => it.status(405).await,
            ("DELETE", _) => it.status(200).await,
            (_, "initialize") if greetings.fetch_add(1, Ordering::SeqCst) == 0 => {
                greet(it, "s-0").await;
            }
            (_, "notifications/initialized") if is_old => it.status(202).await,
            (_, "initialize" | "notifications/initialized") => again(it).await,
            (_, method) if method.starts_with("notifications/") => it.status(202).await,
            _ if is_old => it.status(404).await,
            // A server that has sessions takes nothing without one.
            _ if it.request.header("mcp-session-id").is_none() => it.status(400).await,
            _ => it.answer(&text("hi").to_string()).await,
        }
    })
}

async fn greet(it: &mut Exchange, session: &str) {
    let header = format!("Mcp-Session-Id: {session}");
    it.respond(200, &["Content-Type: application/json", &header], it.result(GREETING)).await;
}

async fn connect(server: &Server) -> Connection {
    let settings = Settings::default()
        .with_versions(Versions::WithHandshake)
        .with_open_timeout(Duration::from_secs(2));
    Connection::connect(&server.url("/mcp"), settings).await.unwrap()
}

fn greetings(server: &Server) -> usize {
    server.requests().iter().filter(|it| it.rpc_method() == "initialize").count()
}

#[tokio::test]
async fn a_server_that_does_not_greet_again_holds_a_request_no_longer_than_its_time() {
    let server = start(async |it| it.wait_for_close().await);
    let connection = connect(&server).await;
    let short = Options::default().with_timeout(Duration::from_millis(300));
    let began = Instant::now();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (connection, short) = (connection.clone(), short.clone());
            tokio::spawn(async move { connection.call_tool_with("x", json!({}), &short).await })
        })
        .collect();
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    }
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    assert_eq!(greetings(&server), 2);
}

#[tokio::test]
async fn a_server_that_refuses_to_greet_again_is_asked_once_for_all() {
    let server = start(async |it| {
        sleep(Duration::from_millis(200)).await;
        it.status(500).await;
    });
    let connection = connect(&server).await;
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let connection = connection.clone();
            tokio::spawn(async move { connection.call_tool("x", json!({})).await })
        })
        .collect();
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("500"), "{error:?}");
    }
    assert_eq!(greetings(&server), 2);
    // Whoever comes later may try again.
    connection.call_tool("x", json!({})).await.unwrap_err();
    assert_eq!(greetings(&server), 3);
}

#[tokio::test]
async fn a_greeting_that_is_never_taken_note_of_holds_nobody_for_ever() {
    let server = start(async |it| match it.rpc_method().as_str() {
        "initialize" => greet(it, "s-1").await,
        _ => it.wait_for_close().await,
    });
    let connection = connect(&server).await;
    let call = connection.call_tool("x", json!({}));
    timeout(Duration::from_secs(10), call)
        .await
        .expect("the request should have ended")
        .unwrap_err();
    // Closing is not held up by it either.
    timeout(Duration::from_secs(10), connection.close()).await.unwrap();
}

#[tokio::test]
async fn a_request_that_is_made_meanwhile_waits_for_the_new_session() {
    let server = start(async |it| {
        sleep(Duration::from_millis(300)).await;
        match it.rpc_method().as_str() {
            "initialize" => greet(it, "s-1").await,
            _ => it.status(202).await,
        }
    });
    let connection = connect(&server).await;
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let connection = connection.clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(n * 40)).await;
                connection.call_tool("x", json!({})).await
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(greetings(&server), 2);
    // Nobody spoke in the new session before it was opened.
    let requests = server.requests();
    let mut spoken = requests.iter().filter(|it| it.header("mcp-session-id") == Some("s-1"));
    let first = spoken.find(|it| it.method == "POST").unwrap();
    assert_eq!(first.rpc_method(), "notifications/initialized");
}

#[tokio::test]
async fn a_session_is_opened_to_the_end_though_nobody_waits_for_it_any_more() {
    let server = start(async |it| match it.rpc_method().as_str() {
        "initialize" => greet(it, "s-1").await,
        _ => {
            sleep(Duration::from_millis(300)).await;
            it.status(202).await;
        }
    });
    let connection = connect(&server).await;
    // Given up at every moment of the opening.
    for delay in [20, 60, 100] {
        let call = connection.call_tool("x", json!({}));
        let _ = timeout(Duration::from_millis(delay), call).await;
    }
    connection.call_tool("x", json!({})).await.unwrap();
    assert_eq!(greetings(&server), 2);
    let call = server.requests().pop().unwrap();
    assert_eq!(call.header("mcp-protocol-version"), Some("2025-11-25"));
}
