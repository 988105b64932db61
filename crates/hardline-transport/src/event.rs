//! Events of a connection that its service does not see.
//!
//! The text of an event ([`Display`](fmt::Display)) is safe for a log: it contains bytes from the
//! peer only escaped and shortened.

use std::fmt;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::frame::Refusal;
use hardline_wire::id::Id;

/// Limit on the bytes from a peer that go into an event.
pub(crate) const EXCERPT_BYTES: usize = 120;

/// An event that the service does not see.
#[derive(Debug)]
#[non_exhaustive]
pub enum EndpointEvent<'a> {
    /// A line, or an element of a batch, is not a message.
    Malformed {
        /// The reason.
        refusal: Refusal,
        /// Number of request ids found in it; each was answered with an error.
        answered: usize,
        /// The first bytes of it.
        excerpt: Excerpt<'a>,
    },
    /// A line is longer than `max_frame_bytes`.
    TooLarge {
        /// Length of the line in bytes.
        length: u64,
        /// Number of request ids found in it; each was answered with an error.
        answered: usize,
        /// The first bytes of it.
        excerpt: Excerpt<'a>,
    },
    /// A request was answered with an error and not handed to the service.
    Refused {
        /// Id of the request.
        id: &'a Id<'a>,
        /// The reason.
        reason: &'a RequestRefusal,
    },
    /// A message that needs no answer was not handed to the service.
    Dropped {
        /// The kind of message and the reason.
        reason: Dropped,
    },
    /// An answer has an id that looks like the id of one of our requests but has another JSON type,
    /// so it does not answer that request. The request fails if no proper answer follows soon.
    Mistyped {
        /// Id of the request.
        id: &'a Id<'a>,
        /// The first bytes of the answer.
        excerpt: Excerpt<'a>,
    },
    /// A line without an id was not answered, because of the rate limit on such replies.
    Withheld,
    /// One of our requests got an unusable answer, or none at all.
    Failed {
        /// Id of the request.
        id: &'a Id<'a>,
        /// The reason.
        reason: &'a str,
    },
    /// Reading or writing failed.
    Io {
        /// The direction that failed.
        direction: IoDirection,
        /// Error from the operating system.
        error: &'a std::io::Error,
    },
    /// The connection ended before the service answered these requests. Each was answered with an
    /// error.
    Unanswered {
        /// Number of requests.
        count: usize,
    },
}

/// Reason for answering a request with an error instead of handing it to the service.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestRefusal {
    /// A request with the same id still waits for its answer.
    #[error("a request with this id is still waiting for its answer")]
    DuplicateId,
    /// `max_in_flight` requests already wait for their answers.
    #[error("{limit} requests are waiting for their answers already")]
    TooManyInFlight {
        /// The limit in force.
        limit: usize,
    },
    /// The requests that wait for their answers take more than `max_in_flight_bytes`.
    #[error("requests of more than {limit} bytes are waiting for their answers")]
    TooLargeInFlight {
        /// The limit in force.
        limit: usize,
    },
    /// The request came in a batch, and the negotiated version has no batches.
    #[error("batches are not part of the negotiated protocol version")]
    Batch,
    /// A valid JSON-RPC request whose parameters do not fit its method.
    #[error("invalid parameters for this method")]
    Unfit,
}

/// Kind of a dropped message, with the reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Dropped {
    /// A notification whose parameters do not fit its method.
    #[error("a notification with invalid parameters for its method")]
    UnfitNotification,
    /// A notification before the session was opened.
    #[error("a notification before the session was opened")]
    EarlyNotification,
    /// The cancellation of an `initialize`, which the protocol does not allow.
    #[error("the cancellation of an initialize")]
    CancelledInitialize,
    /// An answer to a request that was never sent or that was already answered.
    #[error("an answer to a request that is not waiting for one")]
    UnsolicitedResponse,
    /// An error without an id.
    #[error("an error report without an id")]
    AnonymousError,
    /// An answer from our service to a request that was cancelled or already answered.
    #[error("an answer of ours to a request that was cancelled or is answered already")]
    LateResponse,
}

/// Direction of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a stream has two directions")]
pub enum IoDirection {
    /// From the peer.
    Read,
    /// To the peer.
    Write,
}

impl fmt::Display for EndpointEvent<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { refusal, answered, excerpt } => {
                write!(formatter, "malformed line: {refusal} ({answered} ids answered): {excerpt}")
            }
            Self::TooLarge { length, answered, excerpt } => {
                write!(
                    formatter,
                    "line of {length} bytes is too large ({answered} ids answered): {excerpt}"
                )
            }
            Self::Refused { id, reason } => {
                write!(formatter, "request {} refused: {reason}", show(id))
            }
            Self::Dropped { reason } => write!(formatter, "dropped {reason}"),
            Self::Mistyped { id, excerpt } => {
                let id = show(id);
                write!(
                    formatter,
                    "dropped an answer whose id is not {id} as asked, but of another type: {excerpt}"
                )
            }
            Self::Withheld => {
                formatter.write_str("a line without an id was not answered: rate limit reached")
            }
            Self::Failed { id, reason } => {
                // The reason may quote the peer, so escape and shorten it.
                let reason = Excerpt::new(reason.as_bytes(), 4 * EXCERPT_BYTES);
                write!(formatter, "request {} failed: {reason}", show(id))
            }
            Self::Io { direction: IoDirection::Read, error } => {
                write!(formatter, "reading failed: {error}")
            }
            Self::Io { direction: IoDirection::Write, error } => {
                write!(formatter, "writing failed: {error}")
            }
            Self::Unanswered { count } => {
                write!(formatter, "requests still unanswered at the end: {count}")
            }
        }
    }
}

/// Formats an id for people: escaped and shortened.
pub(crate) fn show(id: &Id<'_>) -> String {
    // As JSON, so that 7 and "7" look different.
    Excerpt::of_json(&id.to_string(), 64).to_string()
}
