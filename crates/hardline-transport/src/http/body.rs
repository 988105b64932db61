//! Bounded reading of response bodies.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderValue};

/// Limit on the memory reserved because of a `Content-Length`.
const MAX_ANNOUNCED_BYTES: usize = 1 << 20;
/// Limit on the bytes read of an error body.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Time limit for reading an error body.
const ERROR_WAIT: Duration = Duration::from_secs(2);
/// Time limit for reading a body that is discarded.
const DISCARD_WAIT: Duration = Duration::from_millis(100);

/// Content type of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Json,
    EventStream,
    Html,
    Other,
}

impl Kind {
    pub(super) fn of(response: &Response) -> Self {
        let value = response.headers().get(CONTENT_TYPE);
        let value = value.map(HeaderValue::as_bytes).unwrap_or_default();
        let name = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        match name {
            _ if name.eq_ignore_ascii_case(b"application/json") => Self::Json,
            _ if name.eq_ignore_ascii_case(b"text/event-stream") => Self::EventStream,
            _ if name.eq_ignore_ascii_case(b"text/html") => Self::Html,
            _ => Self::Other,
        }
    }
}

/// Error of reading a body.
#[derive(Debug)]
pub(super) enum BodyError {
    TooLong { limit: usize },
    Broken(reqwest::Error),
}

/// Reads a body of at most `limit` bytes.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    // Refused before the first byte is read.
    if announced.is_some_and(|length| length > limit) {
        return Err(BodyError::TooLong { limit });
    }
    // A server may announce more than it sends, so the buffer starts small.
    let mut body = Vec::with_capacity(announced.unwrap_or(0).min(MAX_ANNOUNCED_BYTES));
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if limit - body.len() < chunk.len() {
            return Err(BodyError::TooLong { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads the first bytes of a body, in bounded time.
pub(super) async fn read_start(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = MAX_ERROR_BYTES - body.len();
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if body.len() == MAX_ERROR_BYTES {
                break;
            }
        }
    };
    // After a timeout, show the bytes that arrived.
    let _ = tokio::time::timeout(ERROR_WAIT, reading).await;
    body
}

/// Reads and discards a short body, so that the connection can be reused.
pub(super) async fn discard(response: Response) {
    // A long body costs more to read than a new connection.
    if response.content_length().is_some_and(|length| length <= MAX_ERROR_BYTES as u64) {
        // If this fails, only the reuse of the connection is lost.
        let _ = tokio::time::timeout(DISCARD_WAIT, read(response, MAX_ERROR_BYTES)).await;
    }
}
