//! What a connection hands to its service, and what the service may say of it.

use hardline_wire::encode::code;
use hardline_wire::id::Id;

/// Which side of the session this end is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "MCP has two roles")]
pub enum Role {
    /// It serves.
    Server,
    /// It asks. It answers requests of the server too, but not the noise that one may print.
    Client,
}

/// What arrives for the service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Incoming<T> {
    /// A message of the peer.
    Message(T),
    /// A request of ours will get no answer that can be used.
    Failed(Failure),
    /// A request that was handed on is answered already, at the end of the session: it need not be
    /// worked on any more.
    Abandoned(Id<'static>),
}

/// Why a request of ours will get no answer that can be used.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// The id of the request.
    pub id: Id<'static>,
    /// Which rule ended it: `transport.closed` if nothing can arrive any more, `transport.answer` if
    /// what arrived cannot be used, `transport.mistyped` if what arrived has an id of another type than the
    /// request's and nothing better followed, so that the peer may still be at work on it.
    pub rule: &'static str,
    /// What happened, in words for a person.
    pub reason: String,
}

/// The rules that end requests of ours.
pub(crate) mod rule {
    pub(crate) const CLOSED: &str = "transport.closed";
    pub(crate) const ANSWER: &str = "transport.answer";
    pub(crate) const MISTYPED: &str = "transport.mistyped";
}

/// Why a message that JSON-RPC allows is nothing that the service could take.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Unfit {
    /// The code of the reply, if it is a request.
    pub code: i64,
    /// What is wrong.
    pub message: String,
}

impl Unfit {
    /// Says that the parameters are not what the method takes.
    pub fn params(message: impl Into<String>) -> Self {
        Self { code: code::INVALID_PARAMS, message: message.into() }
    }
}
