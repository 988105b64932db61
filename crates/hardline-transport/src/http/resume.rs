//! Resuming of a stream that ended before the answer arrived.

use std::time::Duration;

use hardline_wire::sse::SseDecoder;

use super::body::Kind;
use super::classify::Classifier;
use super::event_stream::EventStream;
use super::link::Link;
use super::reconnect::Reconnects;
use super::session::Stamp;
use crate::client::TransportError;

/// Attempts to resume the stream of one answer.
#[derive(Debug)]
pub(super) struct Resuming<'a> {
    link: &'a Link,
    stamp: &'a Stamp,
    reconnects: Reconnects,
    /// Delay that the server requested.
    retry: Option<Duration>,
}

impl<'a> Resuming<'a> {
    pub(super) fn new(link: &'a Link, stamp: &'a Stamp) -> Self {
        Self { link, stamp, reconnects: Reconnects::new(link.settings.max_reconnects), retry: None }
    }

    /// Opens the continuation of `ended`, after the delay that the server requested.
    ///
    /// # Errors
    ///
    /// Always [`TransportError::Interrupted`], because the server has received the request.
    pub(super) async fn resume(
        &mut self,
        ended: EventStream,
        end: &TransportError,
    ) -> Result<EventStream, TransportError> {
        let limits = &self.link.settings.limits;
        let id = ended.last_event_id().unwrap_or_default().to_owned();
        self.retry = ended.retry().or(self.retry);
        // The limit counts only streams in a row that brought nothing.
        if ended.has_brought() {
            self.reconnects.reset();
        }
        // Closes the connection of the old stream before the next one is opened.
        drop(ended);
        loop {
            let Some(wait) = self.reconnects.next_delay(self.retry) else {
                return Err(interrupted(end, "and all attempts to resume it failed"));
            };
            tokio::time::sleep(wait).await;
            let response = match self.link.get(self.stamp, Some(&id)).await {
                Ok(response) => response,
                Err(error @ (TransportError::Http(_) | TransportError::Login(_))) => {
                    return Err(interrupted(end, &format!("and cannot be resumed: {error}")));
                }
                // The server may be restarting.
                Err(_) => continue,
            };
            let status = response.status();
            if status.is_success() && Kind::of(&response) == Kind::EventStream {
                let classifier = Classifier::new(limits, self.stamp.version);
                let decoder = SseDecoder::resuming(limits, &id);
                return Ok(EventStream::new(response, classifier, decoder));
            }
            // Any other status is a decision of the server, which a retry does not change.
            if !status.is_server_error() && status != 429 {
                let reason = format!("and cannot be resumed (HTTP status {status})");
                return Err(interrupted(end, &reason));
            }
        }
    }
}

fn interrupted(end: &TransportError, reason: &str) -> TransportError {
    TransportError::Interrupted(format!("{end}, {reason}"))
}
