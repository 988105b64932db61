//! Renewal of sessions that the server has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hardline_client::{Connection, ConnectionSettings, Error, RequestOptions, Versions};
use hardline_testkit::http::{Exchange, Server};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::peer::text;

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;

/// Starts a server that forgets its first session right after the handshake. `again` answers the handshake of
/// the second one.
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
            // A server with sessions rejects requests without one.
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
    let settings = ConnectionSettings::default()
        .with_versions(Versions::WithHandshake)
        .with_open_timeout(Duration::from_secs(2));
    Connection::connect(&server.url("/mcp"), settings).await.unwrap()
}

fn greetings(server: &Server) -> usize {
    server.requests().iter().filter(|it| it.rpc_method() == "initialize").count()
}

#[tokio::test]
async fn a_hanging_renewal_delays_requests_only_until_their_timeout() {
    let server = start(async |it| it.wait_for_close().await);
    let connection = connect(&server).await;
    let short = RequestOptions::default().with_timeout(Duration::from_millis(300));
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
async fn requests_share_one_failed_renewal() {
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
    // A later request starts another attempt.
    connection.call_tool("x", json!({})).await.unwrap_err();
    assert_eq!(greetings(&server), 3);
}

#[tokio::test]
async fn a_hanging_initialized_notification_does_not_block_requests_forever() {
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
    // Closing must not wait for it either.
    timeout(Duration::from_secs(10), connection.close()).await.unwrap();
}

#[tokio::test]
async fn requests_during_a_renewal_wait_for_the_new_session() {
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
    // No request used the new session before its handshake was complete.
    let requests = server.requests();
    let mut spoken = requests.iter().filter(|it| it.header("mcp-session-id") == Some("s-1"));
    let first = spoken.find(|it| it.method == "POST").unwrap();
    assert_eq!(first.rpc_method(), "notifications/initialized");
}

#[tokio::test]
async fn a_renewal_completes_even_if_its_requests_are_dropped() {
    let server = start(async |it| match it.rpc_method().as_str() {
        "initialize" => greet(it, "s-1").await,
        _ => {
            sleep(Duration::from_millis(300)).await;
            it.status(202).await;
        }
    });
    let connection = connect(&server).await;
    // Drops the request at different stages of the renewal.
    for delay in [20, 60, 100] {
        let call = connection.call_tool("x", json!({}));
        let _ = timeout(Duration::from_millis(delay), call).await;
    }
    connection.call_tool("x", json!({})).await.unwrap();
    assert_eq!(greetings(&server), 2);
    let call = server.requests().pop().unwrap();
    assert_eq!(call.header("mcp-protocol-version"), Some("2025-11-25"));
}
