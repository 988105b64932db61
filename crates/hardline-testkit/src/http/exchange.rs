//! One request, and the response that a script writes.
//!
//! Write errors are ignored, because a peer that disconnects is often the purpose of the test.

use std::fmt::Write as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::request::Request;

/// A request and its connection.
///
/// When the script returns, the connection continues with the next request, unless the script
/// closed it.
#[derive(Debug)]
pub struct Exchange {
    stream: Option<TcpStream>,
    /// The request.
    pub request: Request,
    /// Number of requests before this one.
    pub index: usize,
}

impl Exchange {
    pub(super) fn new(stream: TcpStream, request: Request, index: usize) -> Self {
        Self { stream: Some(stream), request, index }
    }

    pub(super) fn into_stream(self) -> Option<TcpStream> {
        self.stream
    }

    /// Returns the id of the message in the body, as JSON.
    pub fn id(&self) -> String {
        self.request.member("id").unwrap_or_default().to_string()
    }

    /// Returns the JSON-RPC method of the message in the body; empty if there is none.
    pub fn rpc_method(&self) -> String {
        self.request.rpc_method()
    }

    /// Returns a response to the message in the body, with this result.
    pub fn result(&self, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id())
    }

    /// Responds with a body and the given headers, as `Name: value` lines.
    pub async fn respond(&mut self, status: u16, headers: &[&str], body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let length = format!("Content-Length: {}", body.len());
        let mut bytes = head(status, &[headers, &[&length]].concat()).into_bytes();
        bytes.extend_from_slice(body);
        self.write(bytes).await;
    }

    /// Responds with JSON.
    pub async fn json(&mut self, body: &str) {
        self.respond(200, &["Content-Type: application/json"], body).await;
    }

    /// Responds with the given result.
    pub async fn answer(&mut self, result: &str) {
        let body = self.result(result);
        self.json(&body).await;
    }

    /// Responds with a status and nothing else.
    pub async fn status(&mut self, status: u16) {
        self.respond(status, &[], "").await;
    }

    /// Begins an event stream.
    pub async fn open_stream(&mut self) {
        self.open_stream_with(&[]).await;
    }

    /// Begins an event stream with further headers.
    pub async fn open_stream_with(&mut self, headers: &[&str]) {
        let own = ["Content-Type: text/event-stream", "Transfer-Encoding: chunked"];
        self.write(head(200, &[&own, headers].concat())).await;
    }

    /// Writes a part of an open stream: any text, as one chunk.
    pub async fn chunk(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        let mut bytes = format!("{:x}\r\n", text.len()).into_bytes();
        bytes.extend_from_slice(text);
        bytes.extend_from_slice(b"\r\n");
        self.write(bytes).await;
    }

    /// Writes an event with this text.
    pub async fn event(&mut self, text: &str) {
        self.chunk(format!("data: {text}\n\n")).await;
    }

    /// Ends a stream properly.
    pub async fn end_stream(&mut self) {
        self.write("0\r\n\r\n").await;
    }

    /// Responds with a complete event stream.
    pub async fn stream(&mut self, events: &str) {
        self.open_stream().await;
        self.chunk(events).await;
        self.end_stream().await;
    }

    /// Writes bytes as they are. Returns true if the connection took them.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        let is_written = stream.write_all(bytes.as_ref()).await.is_ok();
        is_written && stream.flush().await.is_ok()
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        self.stream = None;
    }

    /// Closes the connection so that the peer sees it reset.
    pub fn reset(&mut self) {
        if let Some(stream) = self.stream.take() {
            // Closing with a linger time of zero sends a reset.
            let _ = stream.set_zero_linger();
        }
    }

    /// Sends nothing until the peer closes the connection.
    pub async fn wait_for_close(&mut self) {
        let Some(mut stream) = self.stream.take() else { return };
        let mut ignored = [0; 1024];
        // Only a read shows that the peer has closed the connection.
        while !matches!(stream.read(&mut ignored).await, Ok(0) | Err(_)) {}
    }
}

fn head(status: u16, headers: &[&str]) -> String {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
    for header in headers {
        let _ = write!(head, "{header}\r\n");
    }
    head.push_str("\r\n");
    head
}
