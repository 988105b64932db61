//! A server whose lines a test scripts.

use std::sync::Arc;
use std::time::Duration;

use hardline_client::{Connection, ConnectionSettings, Error};
use hardline_transport::EndpointSettings;
use hardline_transport::client::LineTransport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// Time limit for every read, with room for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server's end of a stream.
pub(crate) struct Peer {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl Peer {
    /// Creates both ends of a stream.
    pub(crate) fn pair() -> (Arc<LineTransport>, Self) {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(ours);
        let stream = LineTransport::new(input, output, EndpointSettings::default());
        (Arc::new(stream), Self::new(theirs))
    }

    pub(crate) fn new(stream: DuplexStream) -> Self {
        let (input, output) = tokio::io::split(stream);
        Self { input: BufReader::new(input), output }
    }

    /// Opens a connection with a server of 2025-11-25.
    pub(crate) async fn greeted(settings: ConnectionSettings) -> (Connection, Self) {
        let (stream, mut peer) = Self::pair();
        let settings = settings.with_versions(hardline_client::Versions::WithHandshake);
        let opening = tokio::spawn(Connection::open(stream, settings));
        peer.greet().await;
        (opening.await.unwrap().unwrap(), peer)
    }

    /// Opens a connection with a server of 2026-07-28.
    pub(crate) async fn stateless(settings: ConnectionSettings) -> (Connection, Self) {
        let (stream, mut peer) = Self::pair();
        let opening = tokio::spawn(Connection::open(stream, settings));
        let asked = peer.expect("server/discover").await;
        peer.result(&asked, discovered(&["2026-07-28"])).await;
        (opening.await.unwrap().unwrap(), peer)
    }

    /// Answers `initialize` and consumes `notifications/initialized`.
    pub(crate) async fn greet(&mut self) {
        let asked = self.expect("initialize").await;
        let result = json!({
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "peer", "version": "1" },
            "instructions": "be kind",
        });
        self.result(&asked, result).await;
        self.expect("notifications/initialized").await;
    }

    /// Receives the next message, or `None` at the end of the stream.
    pub(crate) async fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.input.read_line(&mut line));
        if read.await.expect("the client should have sent something").unwrap_or(0) == 0 {
            return None;
        }
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Receives the next message, which must have this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Value {
        let message = self.receive().await.unwrap_or_else(|| panic!("no {method}"));
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// Waits until the client has closed the stream, without reading.
    pub(crate) async fn wait_for_end(&mut self) {
        while self.output.write_all(b"\n").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.write(&message.to_string()).await;
    }

    /// Writes a line, valid or not.
    pub(crate) async fn write(&mut self, line: &str) {
        self.write_bytes(format!("{line}\n").as_bytes()).await;
    }

    /// Writes part of a line, or several.
    pub(crate) async fn write_bytes(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn result(&mut self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    pub(crate) async fn error(&mut self, request: &Value, code: i64, data: Value) {
        let error = json!({ "code": code, "message": "no", "data": data });
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    }
}

/// Returns the `server/discover` result of a server without a handshake.
pub(crate) fn discovered(versions: &[&str]) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": { "tools": {} },
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "peer", "version": "1" } },
    })
}

/// Returns a result of `tools/call`.
pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

#[track_caller]
pub(crate) fn assert_closed<T: std::fmt::Debug>(outcome: &Result<T, Error>) {
    assert!(outcome.as_ref().is_err_and(Error::is_closed), "{outcome:?}");
}
