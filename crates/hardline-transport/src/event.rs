//! What happened on a connection that its service does not see.
//!
//! An event's text ([`Display`](fmt::Display)) is fit for a log: what the peer wrote is in it
//! escaped and shortened, or not at all.

use std::fmt;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::frame::Refusal;
use hardline_wire::id::Id;

/// How much of what a peer wrote goes into an event.
pub(crate) const EXCERPT_BYTES: usize = 120;

/// Something that the service does not see.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A line, or an element of a batch, is no message.
    Malformed {
        /// What is wrong with it.
        refusal: Refusal,
        /// How many ids of requests it held; each was answered with an error.
        answered: usize,
        /// How it starts.
        excerpt: Excerpt<'a>,
    },
    /// A line is longer than `max_frame_bytes`.
    TooLarge {
        /// Its length in bytes.
        length: u64,
        /// How many ids of requests it held; each was answered with an error.
        answered: usize,
        /// How it starts.
        excerpt: Excerpt<'a>,
    },
    /// A request was answered with an error and not handed on.
    Refused {
        /// The id of the request.
        id: &'a Id<'a>,
        /// Why.
        reason: &'a RequestRefusal,
    },
    /// Something that wants no answer was not handed on.
    Dropped {
        /// What, and why.
        reason: Dropped,
    },
    /// An answer has an id that reads like a request's of ours and is of another JSON type, so it is not
    /// that request's answer. The request fails if no proper one follows soon.
    Mistyped {
        /// The id of the request.
        id: &'a Id<'a>,
        /// How the answer starts.
        excerpt: Excerpt<'a>,
    },
    /// A line without an id was not answered: there were too many of them.
    Withheld,
    /// A request of ours got an answer that cannot be used, or none at all.
    Failed {
        /// The id of the request.
        id: &'a Id<'a>,
        /// Why.
        reason: &'a str,
    },
    /// Reading or writing failed.
    Io {
        /// Which of the two.
        direction: IoDirection,
        /// The operating system's answer.
        error: &'a std::io::Error,
    },
    /// The connection ended with this many requests unanswered by the service. Each was answered
    /// with an error.
    Unanswered {
        /// How many.
        count: usize,
    },
}

/// Why a request was answered with an error and not handed on.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestRefusal {
    /// A request with the same id waits for its answer.
    #[error("a request with this id is still waiting for its answer")]
    DuplicateId,
    /// `max_in_flight` requests wait for their answers.
    #[error("{limit} requests are waiting for their answers already")]
    TooManyInFlight {
        /// The limit in force.
        limit: usize,
    },
    /// What the requests that wait for their answers take is more than `max_in_flight_bytes`.
    #[error("requests of more than {limit} bytes are waiting for their answers")]
    TooLargeInFlight {
        /// The limit in force.
        limit: usize,
    },
    /// It came in a batch, and the negotiated version has none.
    #[error("batches are not part of the negotiated protocol version")]
    Batch,
    /// It is a JSON-RPC request, but not what its method takes.
    #[error("the parameters are not what the method takes")]
    Unfit,
}

/// What was dropped, and why.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Dropped {
    /// A notification whose parameters are not what its method takes.
    #[error("a notification whose parameters are not what its method takes")]
    UnfitNotification,
    /// A notification before the session was opened.
    #[error("a notification before the session was opened")]
    EarlyNotification,
    /// The cancellation of an `initialize`, which cannot be taken back.
    #[error("the cancellation of an initialize")]
    CancelledInitialize,
    /// An answer to a request that nobody made, or that was answered already.
    #[error("an answer to a request that is not waiting for one")]
    UnsolicitedResponse,
    /// An error without an id.
    #[error("an error report without an id")]
    AnonymousError,
    /// An answer of our service to a request that was cancelled or answered before.
    #[error("an answer of ours to a request that was cancelled or is answered already")]
    LateResponse,
}

/// Which way bytes were to go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "bytes come or go")]
pub enum IoDirection {
    /// From the peer.
    Read,
    /// To the peer.
    Write,
}

impl fmt::Display for Event<'_> {
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
            Self::Withheld => formatter.write_str("a line without an id was not answered"),
            Self::Failed { id, reason } => {
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

/// An id as a person may see it.
pub(crate) fn show(id: &Id<'_>) -> String {
    Excerpt::of_json(&id.to_string(), 64).to_string()
}
