//! Why a message did not leave.

use std::io;

/// Why a message did not leave.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The connection was closed on this side.
    #[error("the connection is closed")]
    Closed,
    /// Writing failed, most often because the peer is gone.
    #[error("writing to the peer failed: {}", io::Error::from(*.0))]
    Failed(io::ErrorKind),
    /// The peer did not read what was left to write in time.
    #[error("the peer did not read in time")]
    TimedOut,
    /// More requests than `max_in_flight` wait for their answers.
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
