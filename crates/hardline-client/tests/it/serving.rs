//! Requests from the server to the client.

use std::time::Duration;

use hardline_client::model::{ElicitResult, ElicitationAction, Root};
use hardline_client::{ConnectionSettings, RequestContext, RpcError};
use serde_json::json;

use crate::peer::Peer;

#[tokio::test]
async fn ping_and_roots_are_answered_and_what_is_not_known_is_refused() {
    let settings =
        ConnectionSettings::default().with_roots([Root::new("file:///work").with_name("work")]);
    let (_connection, mut peer) = Peer::greeted(settings).await;
    let mut check = async |request, expected| {
        peer.send(request).await;
        assert_eq!(peer.receive().await.unwrap(), expected);
    };
    check(
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
    )
    .await;
    let roots = json!({ "roots": [{ "uri": "file:///work", "name": "work" }] });
    check(
        json!({ "jsonrpc": "2.0", "id": "a", "method": "roots/list", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": "a", "result": roots }),
    )
    .await;
    for method in ["sampling/createMessage", "elicitation/create", "x/y"] {
        let error = json!({ "code": -32601, "message": "method not found" });
        check(
            json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": {} }),
            json!({ "jsonrpc": "2.0", "id": 2, "error": error }),
        )
        .await;
    }
}

#[tokio::test]
async fn handlers_answer_and_their_capabilities_are_declared() {
    let settings = ConnectionSettings::default()
        .on_elicitation(async |_, _| Ok(ElicitResult::new(ElicitationAction::Decline)))
        .on_request("x/fails", async |_, _| Err(RpcError::new(-5, "no")))
        .on_request("x/panics", async |_, _| panic!("on purpose"));
    let (stream, mut peer) = Peer::pair();
    let opening = tokio::spawn(hardline_client::Connection::open(
        stream,
        settings.with_versions(hardline_client::Versions::WithHandshake),
    ));
    let asked = peer.expect("initialize").await;
    assert!(asked["params"]["capabilities"]["elicitation"]["form"].is_object());
    assert!(asked["params"]["capabilities"]["sampling"].is_null());
    peer.result(&asked, json!({ "protocolVersion": "2025-11-25", "capabilities": {} })).await;
    peer.expect("notifications/initialized").await;
    let _connection = opening.await.unwrap().unwrap();

    let params =
        json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
    let mut ask = async |method: &str, params| {
        peer.send(json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params })).await;
        peer.receive().await.unwrap()
    };
    assert_eq!(ask("elicitation/create", params).await["result"]["action"], "decline");
    assert_eq!(ask("elicitation/create", json!({ "message": 1 })).await["error"]["code"], -32602);
    assert_eq!(ask("x/fails", json!({})).await["error"]["code"], -5);
    assert_eq!(ask("x/panics", json!({})).await["error"]["code"], -32603);
    assert_eq!(ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_request_that_the_server_cancels_is_not_answered() {
    let settings = ConnectionSettings::default().on_request("x/slow", async |_, _| {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        Err(RpcError::internal("late"))
    });
    let (_connection, mut peer) = Peer::greeted(settings).await;
    peer.send(json!({ "jsonrpc": "2.0", "id": "s", "method": "x/slow" })).await;
    let params = json!({ "requestId": "s" });
    let method = "notifications/cancelled";
    peer.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    peer.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).await;
    assert_eq!(peer.receive().await.unwrap()["id"], 1);
}

#[tokio::test]
async fn refuses_more_than_64_concurrent_requests() {
    let settings = ConnectionSettings::default()
        .on_request("x/slow", async |_, _| std::future::pending().await);
    let (_connection, mut peer) = Peer::greeted(settings).await;
    for id in 0..65 {
        peer.send(json!({ "jsonrpc": "2.0", "id": id, "method": "x/slow" })).await;
    }
    let refused = peer.receive().await.unwrap();
    assert_eq!(
        (refused["id"].as_i64(), refused["error"]["code"].as_i64()),
        (Some(64), Some(-32603))
    );
}

#[tokio::test]
async fn a_handler_learns_who_asks_and_that_the_answer_is_no_longer_wanted() {
    let (sender, mut contexts) = tokio::sync::mpsc::channel(1);
    let settings = ConnectionSettings::default().with_server_name("files").on_request("x/ask", {
        move |params, context: RequestContext| {
            let sender = sender.clone();
            async move {
                sender.send(context).await.unwrap();
                match params {
                    Some(params) => Ok(params),
                    None => std::future::pending().await,
                }
            }
        }
    });
    let (connection, mut peer) = Peer::greeted(settings).await;
    peer.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "x/ask", "params": {} })).await;
    let answered = contexts.recv().await.unwrap();
    assert_eq!(peer.receive().await.unwrap()["result"], json!({}));
    assert_eq!(answered.server(), Some("files"));

    peer.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "x/ask" })).await;
    let cancelled = contexts.recv().await.unwrap();
    assert!(!cancelled.is_cancelled());
    let params = json!({ "requestId": 2 });
    peer.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
        .await;
    cancelled.cancelled().await;
    assert!(cancelled.is_cancelled());

    peer.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "x/ask" })).await;
    let dropped = contexts.recv().await.unwrap();
    drop(connection);
    dropped.cancelled().await;
    assert!(!answered.is_cancelled());
}
