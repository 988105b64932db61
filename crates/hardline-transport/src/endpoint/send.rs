//! Sending: requests, answers, notifications, and closing the output.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hardline_wire::id::Id;

use super::{Endpoint, until_unread};
use crate::outbox::{Outbox, Why};
use crate::state::Route;

impl Endpoint {
    /// Sends a request. `line` is its JSON text.
    ///
    /// The message is queued when this returns. The returned [`Sending`] resolves when there is
    /// room for another message. The same is true of the other send methods.
    pub fn send_request(&mut self, id: Id<'static>, method: &str, line: Vec<u8>) -> Sending {
        if self.state.send_request(id, method) {
            self.send_notification(line)
        } else {
            Sending::done(Err(SendError::TooManyInFlight))
        }
    }

    /// Sends the answer, a result or an error, to the request with this id. If no such request is
    /// open, the answer is dropped.
    pub fn send_answer(&mut self, id: &Id<'static>, mut line: Vec<u8>) -> Sending {
        self.answer_later(id, move |out| {
            out.append(&mut line);
            out.push(b'\n');
        })
    }

    /// Sends an answer, encoded with its newline. If the queue is full, the writer encodes it
    /// later.
    pub(crate) fn answer_later(
        &mut self,
        id: &Id<'static>,
        encode: impl FnOnce(&mut Vec<u8>) + Send + 'static,
    ) -> Sending {
        match self.state.route_answer(id) {
            Route::Drop => Sending::done(Ok(())),
            // An unencoded answer takes little memory, so it may wait in a full queue.
            Route::Send if self.outbox.is_full() => {
                match self.outbox.push_deferred(Box::new(encode)) {
                    Ok(()) => Sending(Progress::Waiting(Arc::clone(&self.outbox))),
                    Err(error) => Sending::done(Err(error)),
                }
            }
            Route::Send => {
                let mut line = self.take_buffer();
                encode(&mut line);
                self.push(line, Why::Answer)
            }
            Route::Hold(key) => {
                // An answer to an element of a batch is held until the whole batch is answered.
                let mut line = self.take_buffer();
                encode(&mut line);
                match self.state.hold_answer(key, &line) {
                    Some(whole) => self.push(whole, Why::Answer),
                    None => Sending::done(Ok(())),
                }
            }
        }
    }

    /// Sends a notification.
    pub fn send_notification(&mut self, mut line: Vec<u8>) -> Sending {
        line.push(b'\n');
        self.push(line, Why::Own)
    }

    /// Forgets a request that was sent: its answer will be dropped. The caller must tell the peer.
    pub fn cancel(&mut self, id: &Id<'static>) {
        self.state.cancel_outbound(id);
    }

    /// Writes the queued messages and closes the output.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the peer is gone or does not read within the grace period.
    pub async fn close(&mut self) -> Result<(), SendError> {
        self.close_within(self.settings.grace).await
    }

    pub(crate) async fn close_within(&mut self, limit: Duration) -> Result<(), SendError> {
        self.abandon();
        let outbox = Arc::clone(&self.outbox);
        let probes = self.probes.take();
        tokio::select! {
            result = outbox.close(limit) => result,
            // A peer that is gone will not drain the output, so do not use up the whole limit.
            () = until_unread(probes.as_ref()) => Err(SendError::Failed(io::ErrorKind::BrokenPipe)),
        }
    }

    /// Returns an empty buffer for the next line.
    pub(crate) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    fn push(&mut self, line: Vec<u8>, why: Why) -> Sending {
        match self.outbox.push_line(line, why) {
            Ok(spare) => {
                self.spare = spare;
                if self.outbox.is_full() {
                    Sending(Progress::Waiting(Arc::clone(&self.outbox)))
                } else {
                    Sending::done(Ok(()))
                }
            }
            Err(error) => Sending::done(Err(error)),
        }
    }

    /// Queues the replies that the endpoint wrote itself.
    pub(super) fn send_replies(&mut self) {
        if let Some((lines, count)) = self.state.take_replies() {
            // A failed output is reported elsewhere, and no one is left to read these replies.
            let _ = self.outbox.push(&lines, count, Why::Answer);
        }
    }
}

/// A queued message.
#[derive(Debug)]
#[must_use = "await `room` to apply backpressure to the sender"]
pub struct Sending(Progress);

#[derive(Debug)]
enum Progress {
    Done(Result<(), SendError>),
    /// The queue is full.
    Waiting(Arc<Outbox>),
    /// Waits until the message is written.
    #[cfg(feature = "rmcp")]
    Writing(Arc<Outbox>),
}

impl Sending {
    pub(crate) fn done(result: Result<(), SendError>) -> Self {
        Self(Progress::Done(result))
    }

    /// Makes [`room`](Self::room) wait until the message is written.
    #[cfg(feature = "rmcp")]
    pub(crate) fn until_written(self, connection: &Endpoint) -> Self {
        match self.0 {
            Progress::Done(Err(_)) => self,
            _ => Self(Progress::Writing(Arc::clone(&connection.outbox))),
        }
    }

    /// Returns the error if the message was refused at once.
    pub(crate) fn error(&self) -> Option<&SendError> {
        match &self.0 {
            Progress::Done(result) => result.as_ref().err(),
            _ => None,
        }
    }

    /// Returns true if there is something to wait for.
    pub(crate) fn is_waiting(&self) -> bool {
        !matches!(self.0, Progress::Done(_))
    }

    /// Waits until there is room for another message. Dropping the future does not withdraw the
    /// message.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the message was not sent.
    pub async fn room(self) -> Result<(), SendError> {
        match self.0 {
            Progress::Done(result) => result,
            Progress::Waiting(outbox) => outbox.room().await,
            #[cfg(feature = "rmcp")]
            Progress::Writing(outbox) => outbox.written().await,
        }
    }
}

/// Error returned when a message was not sent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// This side closed the connection.
    #[error("the connection is closed")]
    Closed,
    /// Writing failed, most often because the peer exited or closed its end.
    #[error("writing to the peer failed: {}", io::Error::from(*.0))]
    Failed(io::ErrorKind),
    /// The peer did not read the remaining output before the deadline.
    #[error("the peer did not read in time")]
    TimedOut,
    /// More than `max_in_flight` requests wait for their answers, or one with this id does.
    #[error("too many requests are waiting for their answers, or one with this id is")]
    TooManyInFlight,
    /// The message cannot be written as JSON.
    #[error("the message cannot be written as JSON: {0}")]
    Encode(String),
}

impl SendError {
    pub(crate) fn failed(kind: io::ErrorKind) -> Self {
        match kind {
            io::ErrorKind::TimedOut => Self::TimedOut,
            kind => Self::Failed(kind),
        }
    }
}
