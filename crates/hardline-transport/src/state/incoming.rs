//! Types that a connection hands to its service and takes back from it.

use hardline_wire::encode::code;
use hardline_wire::id::Id;

/// Role of this end in the session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "MCP has two roles")]
pub enum Role {
    /// This end serves requests.
    Server,
    /// This end sends requests. It answers requests of the server too, but never the noise that a
    /// server may print.
    Client,
}

/// Message or event for the service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Incoming<T> {
    /// A message from the peer.
    Message(T),
    /// One of our requests will get no usable answer.
    Failed(Failure),
    /// A request that was handed to the service was answered with an error at the end of the
    /// session. The service can stop working on it.
    Abandoned(Id<'static>),
}

/// Reason why one of our requests will get no usable answer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// Id of the request.
    pub id: Id<'static>,
    /// Rule that ended the request: `transport.closed` if no more input can arrive,
    /// `transport.answer` if the answer cannot be used, `transport.mistyped` if the answer has an
    /// id of another type and no proper one followed. In the last case the peer may still work on
    /// the request.
    pub rule: &'static str,
    /// Description for people.
    pub reason: String,
}

/// Rules that end our requests.
pub(crate) mod rule {
    pub(crate) const CLOSED: &str = "transport.closed";
    pub(crate) const ANSWER: &str = "transport.answer";
    pub(crate) const MISTYPED: &str = "transport.mistyped";
}

/// Error for a valid JSON-RPC message that the service cannot take.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Unfit {
    /// Error code of the reply, if the message is a request.
    pub code: i64,
    /// Description of the problem.
    pub message: String,
}

impl Unfit {
    /// Creates an error for parameters that do not fit the method.
    pub fn params(message: impl Into<String>) -> Self {
        Self { code: code::INVALID_PARAMS, message: message.into() }
    }
}
