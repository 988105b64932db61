//! Behavior specific to 2026-07-28.

use hardline_client::connection::ServerEvent;
use hardline_client::model::{ElicitResult, ElicitationAction, SubscriptionFilter};
use hardline_client::{ConnectionSettings, Error};
use serde_json::json;

use crate::peer::{Peer, text};

#[tokio::test]
async fn what_a_server_wants_to_know_is_answered_in_rounds() {
    let settings = ConnectionSettings::default()
        .on_elicitation(async |_, _| Ok(ElicitResult::new(ElicitationAction::Cancel)));
    let (connection, mut peer) = Peer::stateless(settings).await;
    let calling = tokio::spawn(async move { connection.call_tool("ask", json!({ "n": 1 })).await });
    let call = peer.expect("tools/call").await;
    let schema = json!({ "type": "object", "properties": {} });
    let ask = json!({
        "resultType": "input_required",
        "requestState": "opaque \u{1F512}",
        "inputRequests": {
            "who": { "method": "elicitation/create",
                     "params": { "message": "?", "requestedSchema": schema } },
            "where": { "method": "roots/list" },
        },
    });
    peer.result(&call, ask).await;
    let second = peer.expect("tools/call").await;
    assert_ne!(second["id"], call["id"]);
    let params = &second["params"];
    assert_eq!(params["arguments"], json!({ "n": 1 }));
    assert_eq!(params["requestState"], "opaque \u{1F512}");
    assert_eq!(params["inputResponses"]["who"], json!({ "action": "cancel" }));
    assert_eq!(params["inputResponses"]["where"], json!({ "roots": [] }));
    // A round without questions; the previous round's answers are not repeated.
    peer.result(&second, json!({ "resultType": "input_required", "requestState": "2" })).await;
    let third = peer.expect("tools/call").await;
    assert_eq!(third["params"]["requestState"], "2");
    assert!(third["params"]["inputResponses"].is_null());
    let mut done = text("done");
    done["resultType"] = json!("complete");
    peer.result(&third, done).await;
    assert_eq!(calling.await.unwrap().unwrap().content.len(), 1);
}

#[tokio::test]
async fn rounds_have_an_end_and_unknown_input_requests_are_refused() {
    let (connection, mut peer) = Peer::stateless(ConnectionSettings::default()).await;
    let call = || {
        let connection = connection.clone();
        tokio::spawn(async move { connection.call_tool("ask", json!({})).await })
    };
    let calling = call();
    for _ in 0..11 {
        let call = peer.expect("tools/call").await;
        peer.result(&call, json!({ "resultType": "input_required", "requestState": "s" })).await;
    }
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the server still asks for more after 10 rounds");

    for method in ["sampling/createMessage", "ping", "tools/call"] {
        let calling = call();
        let call = peer.expect("tools/call").await;
        let requests = json!({ "a": { "method": method, "params": {} } });
        peer.result(&call, json!({ "resultType": "input_required", "inputRequests": requests }))
            .await;
        assert!(matches!(calling.await.unwrap(), Err(Error::Input(_))));
    }

    let calling = call();
    let call = peer.expect("tools/call").await;
    peer.result(&call, json!({ "resultType": "surprise", "content": [] })).await;
    let error = calling.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("a result of type surprise"), "{error}");
}

#[tokio::test]
async fn a_request_of_the_server_is_no_longer_allowed() {
    let (connection, mut peer) = Peer::stateless(ConnectionSettings::default()).await;
    let mut events = connection.events();
    peer.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).await;
    assert!(matches!(events.recv().await.unwrap(), ServerEvent::Trouble(_)));
    // The client does not answer it: the next message is a request of its own.
    let asking = tokio::spawn(async move { connection.ping().await });
    let asked = peer.expect("server/discover").await;
    peer.result(&asked, json!({})).await;
    asking.await.unwrap().unwrap();
}

#[tokio::test]
async fn listening_lasts_until_it_is_dropped() {
    let (connection, mut peer) = Peer::stateless(ConnectionSettings::default()).await;
    let mut events = connection.events();
    let listening = tokio::spawn(async move {
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = Some(true);
        connection.listen(&filter).await
    });
    let listen = peer.expect("subscriptions/listen").await;
    assert_eq!(listen["params"]["notifications"], json!({ "toolsListChanged": true }));
    let method = "notifications/tools/list_changed";
    peer.send(json!({ "jsonrpc": "2.0", "method": method })).await;
    let ServerEvent::Notification(notification) = events.recv().await.unwrap() else { panic!() };
    assert_eq!(&*notification.method, method);
    listening.abort();
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], listen["id"]);
}
