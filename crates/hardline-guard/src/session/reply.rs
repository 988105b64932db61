//! Errors of the guard's own making, for whoever waits for an answer.

use hardline_wire::encode::{code, refusal};
use hardline_wire::id::Id;

use crate::rule::Rule;

/// An error that somebody gets in the place of an answer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The id of the request that it answers.
    pub id: Id<'static>,
    /// JSON-RPC's code.
    pub code: i64,
    /// The name of the rule behind it.
    pub rule: &'static str,
    /// What happened, in words for a person. Nothing in it was written by a peer.
    pub reason: String,
}

impl Reply {
    /// An error that is the guard's doing: `-32603`.
    pub fn new(id: Id<'static>, rule: Rule, reason: impl Into<String>) -> Self {
        Self { id, code: code::INTERNAL_ERROR, rule: rule.name(), reason: reason.into() }
    }

    /// The same because of something that is no finding.
    pub(crate) fn with_rule(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }

    /// The same with another code.
    pub fn with_code(self, code: i64) -> Self {
        Self { code, ..self }
    }

    /// The reply as one line, with its end.
    pub fn to_line(&self) -> String {
        refusal(&self.id, self.code, self.rule, &self.reason)
    }
}
