//! Requests and their outcomes.

use std::collections::HashSet;
use std::time::Duration;

use hardline_client::connection::ServerEvent;
use hardline_client::{ConnectionSettings, Error, RequestOptions};
use hardline_wire::limits::DEFAULT_FRAME_BYTES;
use serde_json::{Value, json};

use crate::peer::{Peer, assert_closed, text};

#[tokio::test]
async fn calls_a_tool() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let calling = tokio::spawn({
        let connection = connection.clone();
        async move { connection.call_tool("echo", json!({ "text": "hi" })).await }
    });
    let call = peer.expect("tools/call").await;
    assert_eq!(call["params"]["name"], "echo");
    assert_eq!(call["params"]["arguments"], json!({ "text": "hi" }));
    assert_eq!(call["params"]["_meta"]["progressToken"], call["id"]);
    peer.result(&call, text("hi")).await;
    let result = calling.await.unwrap().unwrap();
    assert_eq!(result.content.len(), 1);
    assert_eq!(result.is_error, None);
}

#[tokio::test]
async fn arguments_are_all_that_serializes_to_an_object() {
    #[derive(serde::Serialize)]
    struct Search<'a> {
        query: &'a str,
    }

    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let error = connection.call_tool("search", [1]).await.unwrap_err();
    assert!(matches!(error, Error::Params(_)) && !error.may_have_run(), "{error:?}");
    let calling = tokio::spawn(async move {
        let query = String::from("mcp");
        connection.call_tool("search", Search { query: &query }).await.unwrap();
        connection.call_tool("latest", ()).await.unwrap();
        connection.get_prompt("greet", json!({ "name": "Ann" })).await
    });
    let call = peer.expect("tools/call").await;
    assert_eq!(call["params"]["arguments"], json!({ "query": "mcp" }));
    peer.result(&call, text("found")).await;
    let call = peer.expect("tools/call").await;
    assert!(call["params"].get("arguments").is_none(), "{call}");
    peer.result(&call, text("newest")).await;
    let prompt = peer.expect("prompts/get").await;
    assert_eq!(prompt["params"]["arguments"], json!({ "name": "Ann" }));
    peer.result(&prompt, json!({ "messages": [] })).await;
    calling.await.unwrap().unwrap();
}

#[tokio::test]
async fn lists_all_pages_and_no_endless_one() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let listing = {
        let connection = connection.clone();
        tokio::spawn(async move { connection.list_tools().await })
    };
    let first = peer.expect("tools/list").await;
    assert_eq!(first["params"], json!({}));
    peer.result(&first, json!({ "tools": [tool("a")], "nextCursor": "2" })).await;
    let second = peer.expect("tools/list").await;
    assert_eq!(second["params"]["cursor"], "2");
    peer.result(&second, json!({ "tools": [tool("b"), tool("c")] })).await;
    let tools = listing.await.unwrap().unwrap();
    assert_eq!(tools.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["a", "b", "c"]);

    let listing = tokio::spawn(async move { connection.list_tools().await });
    for _ in 0..2 {
        let page = peer.expect("tools/list").await;
        peer.result(&page, json!({ "tools": [], "nextCursor": "again" })).await;
    }
    let error = listing.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("a cursor repeats"), "{error}");
}

#[tokio::test]
async fn an_error_is_given_as_it_came_and_shown_escaped() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let asking = tokio::spawn(async move { connection.read_resource("x:y").await });
    let asked = peer.expect("resources/read").await;
    let error = json!({ "code": -32002, "message": "no\u{1b}[31m\n", "data": { "uri": "x:y" } });
    peer.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error })).await;
    let error = asking.await.unwrap().unwrap_err();
    let rpc = error.rpc().unwrap();
    assert_eq!((rpc.code, rpc.message.as_str()), (-32002, "no\u{1b}[31m\n"));
    assert_eq!(rpc.data, Some(json!({ "uri": "x:y" })));
    assert_eq!(error.to_string(), r"the server answered with error -32002: no\u{1b}[31m\n");
}

#[tokio::test]
async fn an_unusable_line_does_not_affect_others() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let mut events = connection.events();
    let ask = || {
        let connection = connection.clone();
        tokio::spawn(async move { connection.request("x/y", &json!({ "n": 1 })).await })
    };
    // Noise, answers to unknown ids and an overlong line, and then the answer.
    let asking = ask();
    let asked = peer.expect("x/y").await;
    peer.write("INFO working").await;
    peer.write(r#"{"jsonrpc":"2.0","id":999,"result":{}}"#).await;
    peer.write(r#"{"jsonrpc":"2.0","id":"unknown","result":{}}"#).await;
    peer.write(&"x".repeat(DEFAULT_FRAME_BYTES + 1)).await;
    peer.result(&asked, json!({ "ok": true })).await;
    assert_eq!(asking.await.unwrap().unwrap().get(), r#"{"ok":true}"#);
    let mut troubles = 0;
    while let Some(event) = events.try_recv() {
        assert!(matches!(event, ServerEvent::Trouble(_)), "{event:?}");
        troubles += 1;
    }
    assert_eq!(troubles, 4);

    // A broken answer with a readable id fails its request at once.
    let asking = ask();
    let asked = peer.expect("x/y").await;
    peer.write(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}},}}"#, asked["id"])).await;
    let error = asking.await.unwrap().unwrap_err();
    assert!(error.to_string().starts_with("the answer cannot be used"), "{error}");

    // So does a result that is not an object.
    let asking = ask();
    let asked = peer.expect("x/y").await;
    peer.result(&asked, json!("text")).await;
    assert!(matches!(asking.await.unwrap(), Err(Error::Unexpected { .. })));

    // The session continues.
    let asking = ask();
    let asked = peer.expect("x/y").await;
    peer.result(&asked, json!({})).await;
    assert!(asking.await.unwrap().is_ok());
}

#[tokio::test]
async fn all_that_wait_fail_at_once_when_the_server_goes() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let mut events = connection.events();
    let asking: Vec<_> = (0..20)
        .map(|_| {
            let connection = connection.clone();
            tokio::spawn(async move { connection.request("x/y", &()).await })
        })
        .collect();
    for _ in 0..20 {
        peer.expect("x/y").await;
    }
    drop(peer);
    for asking in asking {
        assert_closed(&asking.await.unwrap());
    }
    assert_closed(&connection.request("x/y", &()).await);
    assert!(!connection.is_connected());
    assert!(matches!(events.recv().await.unwrap(), ServerEvent::Closed(_)));
}

#[tokio::test]
async fn dropping_a_request_cancels_it_and_discards_its_answer() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let mut events = connection.events();
    let asking = {
        let connection = connection.clone();
        tokio::spawn(async move { connection.request("x/y", &()).await })
    };
    let asked = peer.expect("x/y").await;
    asking.abort();
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    peer.result(&asked, json!({})).await;

    let asking = tokio::spawn(async move { connection.request("x/z", &()).await });
    let next = peer.expect("x/z").await;
    assert_ne!(next["id"], asked["id"]);
    peer.result(&next, json!({ "mine": true })).await;
    assert_eq!(asking.await.unwrap().unwrap().get(), r#"{"mine":true}"#);
    assert!(matches!(events.recv().await.unwrap(), ServerEvent::Trouble(_)));
}

#[tokio::test]
async fn closing_fails_what_waits_and_ends_the_stream() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let asking = {
        let connection = connection.clone();
        tokio::spawn(async move { connection.request("x/y", &()).await })
    };
    peer.expect("x/y").await;
    connection.close().await;
    assert_closed(&asking.await.unwrap());
    assert_closed(&connection.request("x/y", &()).await);
    assert!(peer.receive().await.is_none());
    // A second close is harmless.
    connection.close().await;
}

#[tokio::test]
async fn dropping_the_last_clone_ends_the_stream() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let clone = connection.clone();
    drop(connection);
    assert!(clone.is_connected());
    drop(clone);
    assert!(peer.receive().await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_at_once_are_each_answered_once() {
    for in_flight in [1000, 16] {
        let settings = ConnectionSettings::default().with_max_in_flight(in_flight);
        let (connection, mut peer) = Peer::greeted(settings).await;
        let server = tokio::spawn(async move {
            let mut most = 0;
            let mut waiting: Vec<Value> = Vec::new();
            let mut seen = HashSet::new();
            for turn in 0..1000 {
                let call = peer.expect("tools/call").await;
                assert!(seen.insert(call["id"].to_string()));
                waiting.push(call);
                most = most.max(waiting.len());
                // Out of order, and some in one write.
                if turn % 7 == 0 || 15 < waiting.len() || 983 < turn {
                    let call = waiting.swap_remove(waiting.len() / 2);
                    let wanted = call["params"]["arguments"]["n"].to_string();
                    peer.result(&call, text(&wanted)).await;
                }
            }
            for call in waiting {
                let wanted = call["params"]["arguments"]["n"].to_string();
                peer.result(&call, text(&wanted)).await;
            }
            (most, peer)
        });
        let calls: Vec<_> = (0..1000)
            .map(|n| {
                let connection = connection.clone();
                tokio::spawn(async move {
                    let result = connection.call_tool("n", json!({ "n": n })).await.unwrap();
                    let said = serde_json::to_value(&result.content).unwrap();
                    assert_eq!(said[0]["text"], n.to_string());
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        let (most, _peer) = server.await.unwrap();
        assert!(most <= in_flight, "{most}");
    }
}

#[tokio::test]
async fn numbers_of_raw_parameters_stay_what_they_are() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let asking = tokio::spawn(async move {
        let params = "{\n  \"n\": 12345678901234567890,\n  \"x\": 1.50\n}";
        connection.request_json("x/y", params, &RequestOptions::default()).await
    });
    let asked = peer.expect("x/y").await;
    assert_eq!(asked["params"]["n"].as_u64(), Some(12_345_678_901_234_567_890));
    peer.result(&asked, json!({ "n": 1.5 })).await;
    assert_eq!(asking.await.unwrap().unwrap().get(), r#"{"n":1.5}"#);
}

#[tokio::test]
async fn parameters_that_cannot_be_sent_are_refused_here() {
    let (connection, _peer) = Peer::greeted(ConnectionSettings::default()).await;
    for error in [
        connection.request("x/y", &[1]).await.unwrap_err(),
        connection.request_json("x/y", "{", &RequestOptions::default()).await.unwrap_err(),
        connection.call_tool("x", json!([1])).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Params(_)), "{error:?}");
    }
}

#[tokio::test]
async fn events_that_are_not_taken_block_nothing() {
    let (connection, mut peer) = Peer::greeted(ConnectionSettings::default()).await;
    let mut events = connection.events();
    let flood = tokio::spawn(async move {
        for n in 0..5000 {
            let params = json!({ "level": "info", "data": n });
            let method = "notifications/message";
            peer.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
        }
        let asked = peer.expect("x/y").await;
        peer.result(&asked, json!({})).await;
        peer
    });
    assert!(connection.request("x/y", &()).await.is_ok());
    let _peer = tokio::time::timeout(Duration::from_secs(60), flood).await.unwrap().unwrap();
    // The newest events are there, and the number of missed ones is reported.
    let lost = events.recv().await.unwrap();
    assert!(matches!(lost, ServerEvent::Missed(n) if 3000 < n), "{lost:?}");
    let mut last = None;
    while let Some(ServerEvent::Notification(notification)) = events.try_recv() {
        last = notification.params;
    }
    assert!(last.unwrap().get().contains("4999"));
}
