//! End of a transport.

use std::time::Duration;

use hardline_testkit::http::Server;
use hardline_transport::client::{Transport as _, TransportError};
use hardline_wire::version::Version;
use tokio::time::Instant;

use super::{call, connect, in_time, next, notification, open, request};

#[tokio::test]
async fn fails_what_is_under_way_and_tells_it_last() {
    let server = Server::start(async |it| match (&*it.request.method, &*it.rpc_method()) {
        ("POST", "initialize") => {
            let body = it.result("{}");
            it.respond(200, &["Content-Type: application/json", "Mcp-Session-Id: s"], body).await;
        }
        ("DELETE", _) => it.status(405).await,
        _ => {
            it.open_stream().await;
            it.wait_for_close().await;
        }
    });
    let (transport, mut events) = connect(&server);
    open(&transport, Version::V2025_06_18).await;
    let waiting = async {
        let error = transport.request(request(1, "slow")).await.unwrap_err();
        assert!(matches!(error, TransportError::Closed(_)), "{error}");
    };
    let closing = async {
        server.wait_for_requests(3).await;
        transport.close().await;
    };
    in_time(async { tokio::join!(waiting, closing) }).await;
    assert!(!transport.is_connected());
    assert_eq!(next(&mut events).await, "closed the connection was closed");
    assert!(matches!(call(&transport, 2, "ping").await, Err(TransportError::Closed(_))));
    let told = in_time(transport.notify(notification("a"))).await;
    assert!(matches!(told, Err(TransportError::Closed(_))));
    in_time(transport.close()).await;
    assert_eq!(server.requests_with("DELETE").len(), 1);
    drop(transport);
    assert_eq!(next(&mut events).await, "none");
    in_time(server.wait_for_silence()).await;
}

#[tokio::test]
async fn waits_for_a_server_that_does_not_answer_no_longer_than_it_must() {
    let server = Server::start(async |it| match &*it.request.method {
        "POST" => {
            let body = it.result("{}");
            it.respond(200, &["Content-Type: application/json", "Mcp-Session-Id: s"], body).await;
        }
        "GET" => it.status(405).await,
        _ => it.wait_for_close().await,
    });
    let (transport, mut events) = connect(&server);
    open(&transport, Version::V2025_06_18).await;
    let begun = Instant::now();
    in_time(transport.close()).await;
    assert!((1900..3000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    assert_eq!(next(&mut events).await, "closed the connection was closed");
}

#[tokio::test]
async fn a_close_that_is_given_up_is_told_all_the_same() {
    let server = Server::start(async |it| match &*it.request.method {
        "POST" => {
            let body = it.result("{}");
            it.respond(200, &["Content-Type: application/json", "Mcp-Session-Id: s"], body).await;
        }
        "GET" => it.status(405).await,
        _ => it.wait_for_close().await,
    });
    let (transport, mut events) = connect(&server);
    open(&transport, Version::V2025_06_18).await;
    let closing = tokio::time::timeout(Duration::from_millis(1), transport.close());
    assert!(closing.await.is_err());
    assert_eq!(next(&mut events).await, "closed the connection was closed");
}

#[tokio::test]
async fn the_last_event_comes_even_if_nobody_took_the_others() {
    let server = Server::start(async |it| {
        it.open_stream().await;
        let many = "data: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n".repeat(1000);
        it.chunk(many).await;
        it.wait_for_close().await;
    });
    let (transport, mut events) = connect(&server);
    let waiting = transport.request(request(1, "flood"));
    let given_up = tokio::time::timeout(Duration::from_millis(200), waiting).await;
    assert!(given_up.is_err());
    in_time(transport.close()).await;
    let mut count = 0;
    loop {
        match &*next(&mut events).await {
            "notification a" => count += 1,
            last => break assert_eq!(last, "closed the connection was closed"),
        }
    }
    assert_eq!(count, 256);
}

#[tokio::test]
async fn nothing_runs_on_after_it_is_dropped() {
    let server = Server::start(async |it| match (&*it.request.method, &*it.rpc_method()) {
        ("POST", "initialize") => it.answer("{}").await,
        ("POST", _) => {
            it.open_stream().await;
            it.event(&it.result("{}")).await;
            it.wait_for_close().await;
        }
        _ => {
            it.open_stream().await;
            it.wait_for_close().await;
        }
    });
    let (transport, mut events) = connect(&server);
    open(&transport, Version::V2025_06_18).await;
    // The rest of its stream is read in the background.
    call(&transport, 1, "ping").await.unwrap();
    drop(transport);
    assert_eq!(next(&mut events).await, "none");
    in_time(server.wait_for_silence()).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}
