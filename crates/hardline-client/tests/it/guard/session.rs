//! Behavior of the guard in every position.

use std::time::Duration;

use hardline_client::ConnectionSettings;
use hardline_client::model::{CreateMessageResult, SamplingMessage};
use hardline_guard::Rule;
use hardline_guard::policy::Policy;
use serde_json::json;

use super::{BOTH, assert_blocked, call, greeted, strict};
use crate::peer::text;

#[tokio::test]
async fn hidden_characters_are_made_visible() {
    for place in BOTH {
        let (connection, mut peer, notes) =
            greeted(place, Policy::default(), ConnectionSettings::default()).await;
        let calling = tokio::spawn(call(connection));
        let asked = peer.expect("tools/call").await;
        peer.result(&asked, text("hi\u{e0061}\u{e0062}\u{e007f} there")).await;
        let result = calling.await.unwrap().unwrap();
        assert!(
            result.contains("<U+E0061>") && !result.contains('\u{e0061}'),
            "{place:?} {result}"
        );
        assert_eq!(notes.take(), ["content.hidden sanitize"], "{place:?}");
    }
}

#[tokio::test]
async fn what_a_server_may_not_ask_is_refused() {
    for place in BOTH {
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let settings = ConnectionSettings::default().on_request("tools/call", {
            let asked = asked.clone();
            move |_, _| {
                asked.store(true, std::sync::atomic::Ordering::Relaxed);
                async { Err(hardline_client::RpcError::internal("taken")) }
            }
        });
        let (_connection, mut peer, notes) = greeted(place, Policy::default(), settings).await;
        for (method, rule) in [
            ("tools/call", "session.wrong-direction"),
            ("sampling/createMessage", "session.capability"),
        ] {
            peer.send(json!({ "jsonrpc": "2.0", "id": "s", "method": method })).await;
            let answer = peer.receive().await.unwrap();
            assert_eq!(answer["id"], "s");
            assert_eq!(answer["error"]["data"]["hardline"]["rule"], rule, "{place:?} {answer}");
            assert_eq!(notes.take(), [format!("{rule} block")], "{place:?}");
        }
        peer.send(json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" })).await;
        assert_eq!(peer.receive().await.unwrap()["result"], json!({}));
        assert!(!asked.load(std::sync::atomic::Ordering::Relaxed));
    }
}

#[tokio::test]
async fn a_blocked_result_is_an_error_for_its_call_alone() {
    for place in BOTH {
        let (connection, mut peer, notes) =
            greeted(place, strict(), ConnectionSettings::default()).await;
        let bad = tokio::spawn(call(connection.clone()));
        let asked_bad = peer.expect("tools/call").await;
        let good = tokio::spawn(call(connection.clone()));
        let asked_good = peer.expect("tools/call").await;
        let planted = r#"page {"#.to_owned() + "\n" + r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        peer.result(&asked_bad, text(&planted)).await;
        peer.result(&asked_good, text("fine")).await;
        assert_blocked(&bad.await.unwrap(), Rule::ContentFrame);
        assert_eq!(good.await.unwrap().unwrap(), "fine");
        assert_eq!(notes.take(), ["content.frame block"], "{place:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_stopped_never_reaches_the_server() {
    for place in BOTH {
        let policy = Policy::parse("deny_tools = [\"rm\"]").unwrap();
        let (connection, mut peer, notes) =
            greeted(place, policy, ConnectionSettings::default()).await;
        let error = connection.call_tool("rm", json!({})).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().data.as_ref().unwrap()["hardline"]["rule"], "tool.denied");
        assert_eq!(notes.take(), ["Denied(\"rm\")"], "{place:?}");
        let calling = tokio::spawn(call(connection));
        let asked = peer.expect("tools/call").await;
        assert_eq!(asked["params"]["name"], "echo");
        peer.result(&asked, text("fine")).await;
        assert_eq!(calling.await.unwrap().unwrap(), "fine");
    }
}

/// More requests than may be in flight: if the guard did not forget them, it would block later ones.
#[tokio::test]
async fn requests_that_are_given_up_are_forgotten() {
    for place in BOTH {
        let (connection, mut peer, notes) =
            greeted(place, Policy::default(), ConnectionSettings::default()).await;
        let serving = tokio::spawn(async move {
            loop {
                let message = peer.receive().await.unwrap();
                if message["params"]["name"] == "echo" {
                    peer.result(&message, text("fine")).await;
                }
            }
        });
        for _ in 0..30 {
            let mut set = tokio::task::JoinSet::new();
            for _ in 0..50 {
                let connection = connection.clone();
                set.spawn(async move { connection.call_tool("slow", json!({})).await });
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
            set.abort_all();
            while set.join_next().await.is_some() {}
        }
        assert_eq!(call(connection).await.unwrap(), "fine", "{place:?}");
        assert_eq!(notes.take(), [""; 0], "{place:?}");
        serving.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_one_of_a_thousand_requests_ends_once() {
    for place in BOTH {
        let (connection, mut peer, notes) =
            greeted(place, Policy::default(), ConnectionSettings::default()).await;
        let serving = tokio::spawn(async move {
            loop {
                let mut asked = Vec::new();
                for _ in 0..100 {
                    asked.push(peer.expect("tools/call").await);
                }
                for asked in asked.iter().rev() {
                    let text = asked["params"]["arguments"]["text"].as_str().unwrap();
                    peer.result(asked, crate::peer::text(text)).await;
                }
            }
        });
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..1000 {
            let connection = connection.clone();
            calls.spawn(async move {
                let text = number.to_string();
                let result = connection.call_tool("echo", json!({ "text": text })).await.unwrap();
                let result = serde_json::to_value(result).unwrap();
                assert_eq!(result["content"][0]["text"], text);
            });
        }
        while calls.join_next().await.transpose().unwrap().is_some() {}
        assert_eq!(notes.take(), [""; 0], "{place:?}");
        serving.abort();
    }
}

#[tokio::test]
async fn a_server_may_send_the_requests_that_the_client_declares() {
    for place in BOTH {
        let settings = ConnectionSettings::default().on_sampling(async |_, _| {
            Ok(CreateMessageResult::new(SamplingMessage::assistant_text("four"), "m".into()))
        });
        let (_connection, mut peer, notes) = greeted(place, strict(), settings).await;
        let params = json!({
            "messages": [{ "role": "user", "content": { "type": "text", "text": "2+2" } }],
            "maxTokens": 5,
        });
        let method = "sampling/createMessage";
        peer.send(json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params })).await;
        let answer = peer.receive().await.unwrap();
        assert_eq!(answer["result"]["content"]["text"], "four", "{place:?} {answer}");
        assert_eq!(notes.take(), [""; 0], "{place:?}");
    }
}
