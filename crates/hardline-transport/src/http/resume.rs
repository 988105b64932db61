//! Taking up a stream that ended before the answer came.

use std::time::Duration;

use hardline_wire::sse::SseDecoder;

use super::body::Kind;
use super::event_stream::EventStream;
use super::link::Link;
use super::pace::Pace;
use super::session::Stamp;
use super::sieve::Sieve;
use crate::client::TransportError;

/// The attempts to get one answer.
#[derive(Debug)]
pub(super) struct Resuming<'a> {
    link: &'a Link,
    stamp: &'a Stamp,
    pace: Pace,
    /// How long the server asks to wait, if it does.
    retry: Option<Duration>,
}

impl<'a> Resuming<'a> {
    pub(super) fn new(link: &'a Link, stamp: &'a Stamp) -> Self {
        Self { link, stamp, pace: Pace::new(link.config.max_reconnects), retry: None }
    }

    /// Opens the stream that goes on where `ended` did, after as long as the server asked for.
    ///
    /// # Errors
    ///
    /// [`TransportError::Interrupted`], always: the server has taken the request.
    pub(super) async fn resume(
        &mut self,
        ended: EventStream,
        end: &TransportError,
    ) -> Result<EventStream, TransportError> {
        let limits = &self.link.config.limits;
        let id = ended.last_event_id().unwrap_or_default().to_owned();
        self.retry = ended.retry().or(self.retry);
        if ended.has_brought() {
            self.pace.progress();
        }
        drop(ended);
        loop {
            let Some(wait) = self.pace.next_wait(self.retry) else {
                return Err(interrupted(end, "and so did all attempts to take it up again"));
            };
            tokio::time::sleep(wait).await;
            let response = match self.link.get(self.stamp, Some(&id)).await {
                Ok(response) => response,
                Err(error @ (TransportError::Http(_) | TransportError::Login(_))) => {
                    return Err(interrupted(
                        end,
                        &format!("and cannot be taken up again: {error}"),
                    ));
                }
                // Perhaps the server is on its way back.
                Err(_) => continue,
            };
            let status = response.status();
            if status.is_success() && Kind::of(&response) == Kind::EventStream {
                let sieve = Sieve::new(limits, self.stamp.version);
                let decoder = SseDecoder::resuming(limits, &id);
                return Ok(EventStream::new(response, sieve, decoder));
            }
            if !status.is_server_error() && status != 429 {
                let reason = format!("and cannot be taken up again (HTTP status {status})");
                return Err(interrupted(end, &reason));
            }
        }
    }
}

fn interrupted(end: &TransportError, reason: &str) -> TransportError {
    TransportError::Interrupted(format!("{end}, {reason}"))
}
