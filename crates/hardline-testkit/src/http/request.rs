//! Requests as the scripted server reads them.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A received request.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Path with the query.
    pub path: String,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: String,
}

impl Request {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Returns a member of the message in the body, as JSON.
    pub fn member(&self, name: &str) -> Option<serde_json::Value> {
        serde_json::from_str::<serde_json::Value>(&self.body).ok()?.get(name).cloned()
    }

    /// Returns the JSON-RPC method of the message in the body; empty if there is none.
    pub fn rpc_method(&self) -> String {
        let method = self.member("method");
        method.and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

/// Reads a request. Returns `None` at the end of the stream.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    unread: &mut Vec<u8>,
) -> io::Result<Option<Request>> {
    let end = loop {
        if let Some(end) = unread.windows(4).position(|it| it == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    };
    let head: Vec<u8> = unread.drain(..end).collect();
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut start = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (start.next().unwrap_or_default(), start.next().unwrap_or_default());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Request { method, path, headers, body: String::new() };
    let length = request.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    while unread.len() < length {
        if stream.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    }
    // The next request on this connection may already be in the buffer.
    let body: Vec<u8> = unread.drain(..length).collect();
    request.body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(request))
}
