//! Memory use of a thousand requests and a flood. A separate binary, because it measures the whole process.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may")]
#![cfg(target_os = "linux")]

use std::sync::Arc;

use hardline_client::{Connection, ConnectionSettings, Versions};
use hardline_transport::EndpointSettings;
use hardline_transport::client::LineTransport;
use hardline_wire::limits::DEFAULT_FRAME_BYTES;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const CALLS: usize = 1000;
const RESULT_BYTES: usize = 20_000;
const FLOOD_BYTES: usize = 200 << 20;
/// Limit on the growth of memory. All results together are 20 MB; the flood is 200 MB.
const MAX_GROWTH_KB: usize = 80 << 10;

/// Returns the peak memory of this process, in kilobytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_requests_and_a_flood_are_bounded() {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (input, output) = tokio::io::split(ours);
    let stream = Arc::new(LineTransport::new(input, output, EndpointSettings::default()));
    let server = tokio::spawn(serve(theirs));
    let settings = ConnectionSettings::default().with_versions(Versions::WithHandshake);
    let connection = Connection::open(stream, settings).await.unwrap();
    // A receiver that never takes an event.
    let _events = connection.events();
    let before = peak();
    let calls: Vec<_> = (0..CALLS)
        .map(|n| {
            let connection = connection.clone();
            tokio::spawn(async move {
                let result = connection.call_tool("n", json!({ "n": n })).await.unwrap();
                let text = result.content.first().unwrap().as_text().unwrap().text.clone();
                assert_eq!(text.len(), RESULT_BYTES);
                assert!(text.starts_with(&format!("{n} ")));
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    connection.close().await;
    server.await.unwrap();
    let growth = peak() - before;
    assert!(growth < MAX_GROWTH_KB, "{growth} kB");
}

/// Reads all requests before it answers one, and floods the client in between.
async fn serve(stream: tokio::io::DuplexStream) {
    let (input, mut output) = tokio::io::split(stream);
    let mut input = BufReader::new(input);
    let mut ids = Vec::new();
    let mut line = String::new();
    while ids.len() < CALLS {
        line.clear();
        input.read_line(&mut line).await.unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        match message["method"].as_str().unwrap() {
            "initialize" => {
                let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
                output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
            "tools/call" => {
                ids.push((message["id"].clone(), message["params"]["arguments"]["n"].clone()));
            }
            _ => {}
        }
    }
    let text = "x".repeat(200_000);
    let notification = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{text}"}}}}"#
    );
    let junk = format!("junk {text}");
    let overlong = "[".repeat(DEFAULT_FRAME_BYTES + 1);
    let mut sent = 0;
    while sent < FLOOD_BYTES {
        for line in [&notification, &junk, &overlong] {
            output.write_all(line.as_bytes()).await.unwrap();
            output.write_all(b"\n").await.unwrap();
            sent += line.len();
        }
    }
    for (id, n) in ids.iter().rev() {
        let text = format!("{n} {}", "y".repeat(RESULT_BYTES));
        let text = text.get(..RESULT_BYTES).unwrap();
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    // Reads until the client hangs up.
    while input.read_line(&mut line).await.unwrap_or(0) != 0 {
        line.clear();
    }
}
