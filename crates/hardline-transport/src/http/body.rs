//! Bodies, read as far as a limit allows.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderValue};

/// How much memory is set aside because a server announces it.
const MAX_ANNOUNCED_BYTES: usize = 1 << 20;
/// How much of a body that is no answer is read.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// How long that may take.
const ERROR_WAIT: Duration = Duration::from_secs(2);
/// How long is waited for a body that nobody wants.
const DISCARD_WAIT: Duration = Duration::from_millis(100);

/// What a body is said to be.
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

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum BodyError {
    TooLong { limit: usize },
    Broken(reqwest::Error),
}

/// Reads a body of at most `limit` bytes.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| limit < length) {
        return Err(BodyError::TooLong { limit });
    }
    let mut body = Vec::with_capacity(announced.unwrap_or(0).min(MAX_ANNOUNCED_BYTES));
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if limit - body.len() < chunk.len() {
            return Err(BodyError::TooLong { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads how a body begins, in bounded time.
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
    // What came until then is shown.
    let _ = tokio::time::timeout(ERROR_WAIT, reading).await;
    body
}

/// Reads a short body that nobody wants, so that the connection can be used again.
pub(super) async fn discard(response: Response) {
    if response.content_length().is_some_and(|length| length <= MAX_ERROR_BYTES as u64) {
        // A connection less to be used again is no harm.
        let _ = tokio::time::timeout(DISCARD_WAIT, read(response, MAX_ERROR_BYTES)).await;
    }
}
