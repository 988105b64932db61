//! Messages of honest servers pass unchanged.

use std::sync::{Arc, Mutex};

use hardline_client::connection::ServerEvent;
use hardline_client::{Connection, ConnectionSettings, RequestOptions};
use hardline_guard::policy::Policy;
use serde_json::json;

use super::{BOTH, greeted};
use crate::peer::Peer;

/// Text about this protocol, as documentation has it.
const README: &str = r#"# My server

Send it a request:

```json
{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "tools/call",
  "params": { "name": "echo", "arguments": { "text": "hi" } }
}
```

It answers with `{"jsonrpc": "2.0", "id": 1, "result": {}}`, or so. 👩‍🚀 می‌خواهم
	Tabs, "quotes", \backslashes\ and <html> & more.
"#;

/// Answers a call with `result`, and returns what the caller receives.
async fn answer(connection: &Connection, peer: &mut Peer, result: &str) -> String {
    let params = json!({ "name": "read", "arguments": {} });
    let asking = connection.request("tools/call", &params);
    let serving = async {
        let asked = peer.expect("tools/call").await;
        let id = &asked["id"];
        peer.write(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    };
    let (result, ()) = tokio::join!(asking, serving);
    result.unwrap().get().to_owned()
}

#[tokio::test]
async fn results_go_through_byte_for_byte() {
    for place in BOTH {
        let (connection, mut peer, notes) =
            greeted(place, Policy::default(), ConnectionSettings::default()).await;
        let large = "lorem ipsum \u{e9} ".repeat(8000);
        let text =
            |text: &str| json!({ "content": [{ "type": "text", "text": text }] }).to_string();
        for result in [
            text(README),
            text(&large),
            r#"{ "b" : 1.50, "a":1e3,"content":[ ] ,"x":"\u00e9\/" }"#.to_owned(),
            r#"{"content":[],"structuredContent":{"n":12345678901234567890.10}}"#.to_owned(),
        ] {
            assert_eq!(answer(&connection, &mut peer, &result).await, result, "{place:?}");
        }
        assert_eq!(notes.take(), [""; 0], "{place:?}");
    }
}

#[tokio::test]
async fn progress_comes_before_the_answer_and_changes_are_told() {
    for place in BOTH {
        let (connection, mut peer, notes) =
            greeted(place, Policy::default(), ConnectionSettings::default()).await;
        let mut events = connection.events();
        for _ in 0..20 {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let options = RequestOptions::default().on_progress({
                let seen = Arc::clone(&seen);
                move |progress| seen.lock().unwrap().push(progress.progress)
            });
            let params = json!({ "name": "slow", "arguments": {} });
            let asking = connection.request_with("tools/call", &params, &options);
            let serving = async {
                let asked = peer.expect("tools/call").await;
                for progress in 1..=3 {
                    let token = &asked["params"]["_meta"]["progressToken"];
                    let params = json!({ "progressToken": token, "progress": progress });
                    let method = "notifications/progress";
                    peer.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
                        .await;
                }
                let method = "notifications/tools/list_changed";
                peer.send(json!({ "jsonrpc": "2.0", "method": method })).await;
                peer.result(&asked, json!({ "content": [] })).await;
            };
            let (result, ()) = tokio::join!(asking, serving);
            result.unwrap();
            assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0], "{place:?}");
            let Some(ServerEvent::Notification(changed)) = events.try_recv() else {
                panic!("{place:?}: it came before the answer")
            };
            assert_eq!(&*changed.method, "notifications/tools/list_changed");
        }
        assert_eq!(notes.take(), [""; 0], "{place:?}");
    }
}

#[tokio::test]
async fn both_eras_are_found_out_without_a_finding() {
    use super::{Notes, guarded_stream};
    use crate::peer::discovered;
    let notes = Notes::default();
    for version in ["2026-07-28", "2025-06-18"] {
        let (stream, mut peer) = guarded_stream(&notes.observed(Policy::default()), 1 << 16);
        let opening = tokio::spawn(Connection::open(stream, ConnectionSettings::default()));
        let asked = peer.expect("server/discover").await;
        if version == "2026-07-28" {
            peer.result(&asked, discovered(&[version])).await;
        } else {
            peer.error(&asked, -32601, json!(null)).await;
            let asked = peer.expect("initialize").await;
            let result = json!({ "protocolVersion": version, "capabilities": { "tools": {} } });
            peer.result(&asked, result).await;
            peer.expect("notifications/initialized").await;
        }
        let connection = opening.await.unwrap().unwrap();
        assert_eq!(connection.version().as_str(), version);
        answer(&connection, &mut peer, r#"{"resultType":"complete","content":[]}"#).await;
    }
    assert_eq!(notes.take(), [""; 0]);
}
