//! The result of judging a message.

use std::time::Duration;

use hardline_wire::id::Id;

use super::{CoalesceKey, Reply};
use crate::finding::{Direction, Finding};

/// Result of judging a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionDecision {
    /// The findings, without those of rules that the policy allows.
    pub findings: Vec<Finding>,
    /// The decision about the message.
    pub verdict: SessionVerdict,
    /// The request that the message answers.
    pub asked: Option<Asked>,
    /// Key of a kept frame to send first: the last progress before its answer.
    pub before: Option<CoalesceKey>,
    /// Key of a kept frame to forget, because a newer one passed.
    pub forget: Option<CoalesceKey>,
    /// Set if the rate limit alone stops the message. Its other findings block nothing.
    pub is_flood: bool,
}

impl SessionDecision {
    pub(super) fn new(findings: Vec<Finding>, verdict: SessionVerdict) -> Self {
        Self { findings, verdict, asked: None, before: None, forget: None, is_flood: false }
    }
}

/// The facts about a request that its answer needs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Asked {
    /// Method, if a table knows it.
    pub method: Option<&'static str>,
    /// Name of the called tool, unless it is longer than [`MAX_TOOL_BYTES`].
    pub tool: Option<String>,
    /// Set if it asks for a later page of a list.
    pub has_cursor: bool,
    /// Hash of the cursor of that page.
    pub(crate) cursor: Option<u64>,
    /// Time of the request.
    pub since: Duration,
}

/// A request whose receiver is gone.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Orphan {
    /// Id of the request.
    pub id: Id<'static>,
    /// The facts about it.
    pub asked: Asked,
}

/// Limit on the name of a tool that is remembered while its call is in flight, in bytes.
pub const MAX_TOOL_BYTES: usize = 256;

/// Decision about a message.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a caller that sends frames must handle each")]
pub enum SessionVerdict {
    /// The message passes.
    Pass,
    /// The message passes later, unless a newer one with the same key arrives before: the caller
    /// keeps it under the key, in place of an older one. There are at most `max_in_flight` keys; the
    /// caller bounds the number of bytes.
    Coalesce(CoalesceKey),
    /// The message is dropped, without a reply.
    Drop,
    /// The request is dropped: its sender gets this reply.
    Answer(Reply),
    /// The answer is dropped: its receiver gets this reply in its place.
    Fail(Reply),
}

/// An event that is due at a certain time.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// The frame that is kept under this key passes now.
    Release(CoalesceKey),
    /// A request got no proper answer, and gets this reply.
    Failed {
        /// Direction of the request.
        request: Direction,
        /// The reply.
        reply: Reply,
        /// Key of a kept frame to send before the reply.
        before: Option<CoalesceKey>,
    },
}
