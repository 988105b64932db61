//! rmcp's client, and sessions with Hardline on both ends.

use std::time::Duration;

use hardline_transport::{EndpointSettings, Role, over};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, ContentBlock,
    ErrorData, PingRequest,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};

use crate::peer::{Peer, pair};

struct Echo;

impl ServerHandler for Echo {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.unwrap_or_default()["text"].as_str().unwrap().to_owned();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// Answers `initialize`, whose id is 0.
async fn greet(peer: &mut Peer) {
    let request: Value = serde_json::from_str(&peer.line().await.unwrap()).unwrap();
    assert_eq!(request["method"], "initialize");
    let result = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "serverInfo": {"name": "test", "version": "1"},
    });
    peer.send(&[&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string()])
        .await;
    assert!(peer.line().await.unwrap().contains("notifications/initialized"));
}

/// Both ends have more to write than any queue or pipe holds.
#[tokio::test]
async fn many_large_calls_at_once_do_not_block_each_other() {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let serving =
        tokio::spawn(async move { Echo.serve(over(theirs)).await.unwrap().waiting().await });
    let client = ().serve(over(ours)).await.unwrap();
    let text = "x".repeat(100_000);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let peer = client.peer().clone();
        let arguments = json!({ "text": text }).as_object().cloned().unwrap();
        let call = CallToolRequestParams::new("echo").with_arguments(arguments);
        calls.spawn(async move { peer.call_tool(call).await.unwrap() });
    }
    let all = async {
        while let Some(answer) = calls.join_next().await {
            answer.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("all calls should be answered");
    client.cancel().await.unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_error_without_an_id_ends_the_opening_at_once() {
    let (connection, mut peer, _) = pair(Role::Client, EndpointSettings::default());
    let opening = tokio::spawn(async move { ().serve(connection).await.map(drop) });
    peer.line().await.unwrap();
    peer.send(&[r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"go away"}}"#])
        .await;
    let error = tokio::time::timeout(Duration::from_secs(5), opening).await.unwrap().unwrap();
    assert!(error.unwrap_err().to_string().contains("go away"));
}

#[tokio::test(start_paused = true)]
async fn answers_with_ids_of_another_kind_leave_nobody_waiting() {
    for id in ["\"1\"", "1.0", "1e0"] {
        let (connection, mut peer, _) = pair(Role::Client, EndpointSettings::default());
        let opening = tokio::spawn(async move { ().serve(connection).await.unwrap() });
        greet(&mut peer).await;
        let client = opening.await.unwrap();
        let asking = client.peer().clone();
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let asking = tokio::spawn(async move { asking.send_request(ping).await.map(drop) });
        assert!(peer.line().await.unwrap().contains("\"id\":1"));
        peer.send(&[&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)]).await;
        let answer = tokio::time::timeout(Duration::from_secs(5), asking).await.unwrap().unwrap();
        let error = answer.unwrap_err().to_string();
        assert!(error.contains("cannot be used") && error.contains(id), "{id}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_closed_is_not_waited_for() {
    let (connection, mut peer, _) = pair(Role::Client, EndpointSettings::default());
    let opening = tokio::spawn(async move { ().serve(connection).await });
    // rmcp does not answer a request during the opening.
    peer.send(&[r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#]).await;
    greet(&mut peer).await;
    let client = opening.await.unwrap().unwrap();
    peer.finish().await;
    let start = tokio::time::Instant::now();
    client.waiting().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn subscriptions_that_the_server_ends_do_not_add_up() {
    use crate::peer::receive;
    use hardline_wire::id::Id;
    use hardline_wire::limits::Limits;

    let limits = Limits::default().with_max_in_flight(4).unwrap();
    let (mut connection, mut peer, _) =
        pair(Role::Client, EndpointSettings::default().with_limits(limits));
    for id in 0..20 {
        let sending =
            connection.send_request(Id::from_integer(id), "subscriptions/listen", b"{}".to_vec());
        sending.room().await.unwrap();
        let params = json!({ "requestId": id });
        let end = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        peer.send(&[&end.to_string()]).await;
        receive(&mut connection).await.unwrap();
    }
}
