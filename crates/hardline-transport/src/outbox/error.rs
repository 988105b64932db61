//! Errors of sending.

use std::io;

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
    pub(super) fn failed(kind: io::ErrorKind) -> Self {
        match kind {
            io::ErrorKind::TimedOut => Self::TimedOut,
            kind => Self::Failed(kind),
        }
    }
}
