//! Servers and callbacks that try to block a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hardline_client::{ConnectionSettings, Error, RequestOptions};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::peer::{Peer, assert_closed, text};

/// More bytes than any outgoing queue holds.
const MUCH: usize = 1 << 20;

/// Longer than any wait. The tests run on a paused clock.
const AGES: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_a_server_that_does_not_read() {
    let (connection, _peer) = Peer::greeted(ConnectionSettings::default()).await;
    let asking: Vec<_> = (0..100)
        .map(|_| {
            let connection = connection.clone();
            let params = json!({ "text": "x".repeat(MUCH) });
            tokio::spawn(async move { connection.request("x/y", &params).await })
        })
        .collect();
    sleep(Duration::from_secs(1)).await;
    timeout(Duration::from_secs(20), connection.close()).await.expect("closing should end");
    for asking in asking {
        assert_closed(&asking.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_does_not_wait_for_a_server_that_does_not_read() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let short = RequestOptions::default().with_timeout(Duration::from_secs(1));
    let params = json!({ "text": "x".repeat(MUCH) });
    let asking = (0..100).map(|_| connection.request_with("x/y", &params, &short));
    let asked = all(asking).await;
    assert!(asked.iter().all(|it| matches!(it, Err(Error::Timeout { .. }))), "{asked:?}");
    drop(connection);
    timeout(AGES, peer.wait_for_end()).await.expect("the stream should have ended");
}

#[tokio::test(start_paused = true)]
async fn a_notification_to_a_server_that_does_not_read_ends() {
    let (connection, _peer) = Peer::greeted(ConnectionSettings::default()).await;
    let params = json!({ "text": "x".repeat(MUCH) });
    let notifying = async {
        loop {
            if let Err(error) = connection.notify("notifications/x", &params).await {
                return error;
            }
        }
    };
    let error = timeout(AGES, notifying).await.expect("one of them should fail");
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
}

#[tokio::test]
async fn a_panicking_callback_loses_only_its_message() {
    let settings = ConnectionSettings::default()
        .on_trouble(|_| panic!("trouble"))
        .on_request("x/bad", |_, _| -> std::future::Pending<_> { panic!("request") });
    let (connection, mut peer) = Peer::greeted(settings).await;
    let calling = {
        let connection = connection.clone();
        let options = RequestOptions::default().on_progress(|_| panic!("progress"));
        tokio::spawn(async move { connection.call_tool_with("x", json!({}), &options).await })
    };
    let call = peer.expect("tools/call").await;
    for _ in 0..300 {
        let params =
            json!({ "progressToken": call["params"]["_meta"]["progressToken"], "progress": 1 });
        peer.send(
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }),
        )
        .await;
        peer.write("this is no message").await;
    }
    peer.send(json!({ "jsonrpc": "2.0", "id": 7, "method": "x/bad" })).await;
    let refused = peer.receive().await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32603)));
    peer.send(json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" })).await;
    assert_eq!(peer.receive().await.unwrap()["id"], 8);
    peer.result(&call, text("done")).await;
    calling.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_handler_that_never_ends_does_not_keep_the_connection() {
    let running = Arc::new(());
    let kept = Arc::clone(&running);
    let settings = ConnectionSettings::default().on_request("x/slow", move |_, _| {
        let kept = Arc::clone(&kept);
        async move {
            std::future::pending::<()>().await;
            drop(kept);
            Err(hardline_client::RpcError::internal("never"))
        }
    });
    let (connection, mut peer) = Peer::greeted(settings).await;
    peer.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "x/slow" })).await;
    while Arc::strong_count(&running) < 3 {
        sleep(Duration::from_millis(5)).await;
    }
    drop(connection);
    // The server gets an error for its request, and then the end of the stream.
    while peer.receive().await.is_some() {}
    let stopped = async {
        while Arc::strong_count(&running) > 1 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(10), stopped).await.expect("the handler should have been stopped");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_and_never_reads_the_answers_is_not_kept_in_memory() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let answer = serde_json::value::to_raw_value(&"x".repeat(MUCH / 4)).unwrap();
    let settings = ConnectionSettings::default().on_request("x/ask", move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        let answer = answer.clone();
        async move { Ok(answer) }
    });
    let (connection, peer) = Peer::greeted(settings).await;
    let flooding = tokio::spawn(async move {
        let mut peer = peer;
        for id in 0.. {
            peer.send(json!({ "jsonrpc": "2.0", "id": id, "method": "x/ask" })).await;
        }
    });
    // Long enough for a thousand times as many requests, and shorter than every timeout.
    sleep(Duration::from_secs(2)).await;
    let held = asked.load(Ordering::SeqCst);
    assert!(held <= 1000, "{held} answers are held");
    flooding.abort();
    drop(connection);
}

#[tokio::test]
async fn the_longest_timeouts_do_not_overflow() {
    let settings = ConnectionSettings::default()
        .with_open_timeout(Duration::MAX)
        .with_max_total(Duration::MAX);
    let (connection, mut peer) = Peer::greeted(settings.with_timeout(Duration::MAX)).await;
    let asking = tokio::spawn(async move { connection.request("x/y", &()).await });
    let asked = peer.expect("x/y").await;
    peer.result(&asked, json!({})).await;
    asking.await.unwrap().unwrap();
}

#[tokio::test]
async fn malformed_results_are_quoted_escaped_and_truncated() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let evil = format!("\u{1b}[2J\u{202e}{}", "x".repeat(10_000));
    let results = [
        json!({ "messages": [{ "role": evil, "content": { "type": "text", "text": "" } }] }),
        json!({ "messages": evil }),
        json!({ "messages": [evil] }),
    ];
    for result in results {
        let asking = {
            let connection = connection.clone();
            tokio::spawn(async move { connection.get_prompt("x", json!(null)).await })
        };
        let asked = peer.expect("prompts/get").await;
        peer.result(&asked, result).await;
        let error = asking.await.unwrap().unwrap_err().to_string();
        assert!(error.len() < 2000 && !error.contains(['\u{1b}', '\u{202e}']), "{error:?}");
    }
}

#[tokio::test]
async fn a_list_whose_pages_never_end_is_given_up_before_it_fills_the_memory() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let listing = tokio::spawn(async move { connection.list_tools().await });
    let description = "x".repeat(4 * MUCH);
    let mut pages = 0;
    while !listing.is_finished() {
        let Ok(Some(asked)) = timeout(Duration::from_secs(1), peer.receive()).await else {
            continue;
        };
        pages += 1;
        assert!(pages <= 64, "{pages} pages of 4 MiB are held");
        let tool = json!({ "name": "a", "inputSchema": {}, "description": description });
        peer.result(&asked, json!({ "tools": [tool], "nextCursor": pages.to_string() })).await;
    }
    assert!(matches!(listing.await.unwrap(), Err(Error::Unexpected { .. })));
}

async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(|it| Some(Box::pin(it))).collect();
    let mut outputs = Vec::new();
    std::future::poll_fn(|context| {
        for slot in &mut futures {
            let Some(future) = slot else { continue };
            if let std::task::Poll::Ready(output) = future.as_mut().poll(context) {
                outputs.push(output);
                *slot = None;
            }
        }
        if futures.iter().all(Option::is_none) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    outputs
}
