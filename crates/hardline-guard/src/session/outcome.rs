//! What becomes of a message.

use std::time::Duration;

use hardline_wire::id::Id;

use super::{CoalesceKey, Reply};
use crate::finding::{Direction, Finding};

/// What the session says of a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What was found. Findings of rules that the policy allows are left out.
    pub findings: Vec<Finding>,
    /// What becomes of the message.
    pub fate: Fate,
    /// What was asked, if the message is the answer that a request waits for.
    pub asked: Option<Asked>,
    /// What is kept under this key goes on first: the last progress before its answer.
    pub before: Option<CoalesceKey>,
    /// What is kept under this key is to be forgotten: something newer passed.
    pub forget: Option<CoalesceKey>,
}

impl Outcome {
    pub(super) fn new(findings: Vec<Finding>, fate: Fate) -> Self {
        Self { findings, fate, asked: None, before: None, forget: None }
    }
}

/// What a request asked for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Asked {
    /// Its method, if a table knows it.
    pub method: Option<&'static str>,
    /// The tool that it called, unless its name is longer than [`MAX_TOOL_BYTES`].
    pub tool: Option<String>,
    /// Whether it is for a later page of a list.
    pub has_cursor: bool,
    /// For which one: what was named as the next page, by its hash.
    pub(crate) cursor: Option<u64>,
    /// When it was.
    pub since: Duration,
}

/// A request that nobody will answer any more.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Orphan {
    /// Its id.
    pub id: Id<'static>,
    /// What it asked for.
    pub asked: Asked,
}

/// Longest name of a tool that is remembered while its call is in flight.
pub const MAX_TOOL_BYTES: usize = 256;

/// What becomes of a message.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "whoever sends frames on must handle each")]
pub enum Fate {
    /// It goes on.
    Pass,
    /// It goes on later, unless a newer one with the same key comes before: it is to be kept under
    /// the key, in the place of what is kept there. There are no more than `max_in_flight` keys at
    /// once; how many bytes may be kept is the caller's to bound.
    Coalesce(CoalesceKey),
    /// It does not go on, and nobody is told.
    Drop,
    /// It is a request that does not go on: its sender gets this error.
    Answer(Reply),
    /// It is an answer that does not go on: whoever asked gets this error in its place.
    Fail(Reply),
}

/// What the time brings.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// What is kept under this key goes on now.
    Release(CoalesceKey),
    /// A request got no proper answer: whoever sent it in this direction gets the error.
    Failed {
        /// Which way the request went.
        request: Direction,
        /// The error.
        reply: Reply,
        /// What is kept under this key goes on before it.
        before: Option<CoalesceKey>,
    },
}
