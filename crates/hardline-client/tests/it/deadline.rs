//! Timeouts of requests, on tokio's paused clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hardline_client::connection::Progress;
use hardline_client::{ConnectionSettings, Error, RequestOptions};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::peer::{Peer, text};

fn progress(call: &Value, progress: u32) -> Value {
    let token = &call["params"]["_meta"]["progressToken"];
    let params = json!({ "progressToken": token, "progress": progress, "total": 10 });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

#[tokio::test(start_paused = true)]
async fn a_request_ends_after_thirty_seconds_and_is_cancelled() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let start = Instant::now();
    let error = connection.request("x/y", &()).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 30);
    assert_eq!(error.to_string(), "no answer to x/y within 30 s");
    let asked = peer.expect("x/y").await;
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    // A late answer is dropped, and the next request gets its own answer.
    peer.result(&asked, json!({ "late": true })).await;
    let asking = tokio::spawn(async move { connection.request("x/z", &()).await });
    let next = peer.expect("x/z").await;
    peer.result(&next, json!({ "late": false })).await;
    assert_eq!(asking.await.unwrap().unwrap().get(), r#"{"late":false}"#);
}

#[tokio::test(start_paused = true)]
async fn a_call_may_have_a_time_of_its_own() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let start = Instant::now();
    let short = RequestOptions::default().with_timeout(Duration::from_millis(1500));
    let error = connection.request_with("x/y", &(), &short).await.unwrap_err();
    assert_eq!(error.to_string(), "no answer to x/y within 1.5 s");
    assert_eq!(start.elapsed().as_millis(), 1500);
    peer.expect("x/y").await;
    peer.expect("notifications/cancelled").await;

    let asking = tokio::spawn(async move {
        let endless = RequestOptions::default().with_timeout(None);
        connection.request_with("x/y", &(), &endless).await
    });
    let asked = peer.expect("x/y").await;
    sleep(Duration::from_secs(7 * 24 * 3600)).await;
    peer.result(&asked, json!({})).await;
    assert!(asking.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_total_limit_holds_without_a_timeout() {
    let (connection, _peer) = Peer::greeted(ConnectionSettings::default()).await;
    let start = Instant::now();
    let limited =
        RequestOptions::default().with_timeout(None).with_max_total(Duration::from_secs(7200));
    let error = connection.request_with("x/y", &(), &limited).await.unwrap_err();
    assert_eq!(error.to_string(), "no answer to x/y within 7200 s");
    assert!(error.is_timeout());
    assert_eq!(start.elapsed().as_secs(), 7200);
}

#[tokio::test(start_paused = true)]
async fn progress_restarts_the_timeout_up_to_a_limit() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let calling = {
        let connection = connection.clone();
        tokio::spawn(async move { connection.call_tool("slow", json!(null)).await })
    };
    let call = peer.expect("tools/call").await;
    for step in 0..10 {
        sleep(Duration::from_secs(29)).await;
        peer.send(progress(&call, step)).await;
    }
    sleep(Duration::from_secs(29)).await;
    peer.result(&call, text("done")).await;
    assert!(calling.await.unwrap().is_ok());

    let start = Instant::now();
    let calling = tokio::spawn(async move {
        let options = RequestOptions::default().with_max_total(Duration::from_secs(100));
        connection.call_tool_with("endless", json!(null), &options).await
    });
    let call = peer.expect("tools/call").await;
    tokio::spawn(async move {
        for step in 0..u32::MAX {
            sleep(Duration::from_secs(10)).await;
            peer.send(progress(&call, step)).await;
        }
    });
    assert!(matches!(calling.await.unwrap(), Err(Error::Timeout { .. })));
    assert_eq!(start.elapsed().as_secs(), 100);
}

#[tokio::test]
async fn progress_is_seen_before_the_result() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    for _ in 0..50 {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let calling = {
            let (connection, seen) = (connection.clone(), Arc::clone(&seen));
            tokio::spawn(async move {
                let note = move |it: Progress| seen.lock().unwrap().push(it.progress);
                let options = RequestOptions::default().on_progress(note);
                connection.call_tool_with("steps", json!({}), &options).await
            })
        };
        let call = peer.expect("tools/call").await;
        for step in 0..20 {
            peer.send(progress(&call, step)).await;
        }
        peer.result(&call, text("done")).await;
        calling.await.unwrap().unwrap();
        assert_eq!(*seen.lock().unwrap(), (0..20).map(f64::from).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_pauses_while_the_server_waits_for_the_client() {
    let settings = ConnectionSettings::default().on_request("x/ask", async |_, _| {
        sleep(Duration::from_secs(50)).await;
        Ok(serde_json::value::to_raw_value(&json!({})).unwrap())
    });
    let (connection, mut peer) = Peer::greeted(settings).await;
    let calling = tokio::spawn(async move { connection.call_tool("ask", json!({})).await });
    let call = peer.expect("tools/call").await;
    peer.send(json!({ "jsonrpc": "2.0", "id": "q", "method": "x/ask" })).await;
    let answer = peer.receive().await.unwrap();
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": "q", "result": {} }));
    sleep(Duration::from_secs(29)).await;
    peer.result(&call, text("thanks")).await;
    assert!(calling.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn pings_from_the_server_do_not_extend_the_timeout() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let calling = {
        let connection = connection.clone();
        tokio::spawn(async move { connection.call_tool("slow", json!({})).await })
    };
    peer.expect("tools/call").await;
    let start = Instant::now();
    let mut id = 0;
    while !calling.is_finished() {
        for _ in 0..100 {
            id += 1;
            peer.send(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).await;
        }
        for _ in 0..100 {
            // The cancellation of the call is among the answers.
            assert!(peer.receive().await.unwrap()["error"].is_null());
        }
        sleep(Duration::from_millis(100)).await;
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    assert!(matches!(calling.await.unwrap(), Err(Error::Timeout { .. })));
}

/// The server may still be processing a request after an answer with an unknown id.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_after_a_mistyped_answer_is_cancelled() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let asking = {
        let connection = connection.clone();
        tokio::spawn(async move { connection.request("x/y", &()).await })
    };
    let asked = peer.expect("x/y").await;
    peer.result(&json!({ "id": asked["id"].to_string() }), json!({})).await;
    let error = asking.await.unwrap().unwrap_err().to_string();
    assert!(error.ends_with("and no proper one followed"), "{error}");
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    // A malformed answer needs no cancellation.
    let asking = tokio::spawn(async move {
        connection.request("x/z", &()).await.unwrap_err();
        connection.request("x/end", &()).await
    });
    let asked = peer.expect("x/z").await;
    peer.result(&asked, json!(7)).await;
    peer.expect("x/end").await;
    drop(peer);
    asking.await.unwrap().unwrap_err();
}

/// A call with progress is not failed by an answer that belonged to another request.
#[tokio::test(start_paused = true)]
async fn progress_shows_that_a_mistyped_answer_was_unrelated() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let calling = tokio::spawn(async move { connection.call_tool("slow", json!(null)).await });
    let call = peer.expect("tools/call").await;
    peer.result(&json!({ "id": call["id"].to_string() }), text("stray")).await;
    sleep(Duration::from_secs(1)).await;
    peer.send(progress(&call, 1)).await;
    sleep(Duration::from_secs(20)).await;
    peer.result(&call, text("done")).await;
    assert!(format!("{:?}", calling.await.unwrap().unwrap()).contains("done"));
}
