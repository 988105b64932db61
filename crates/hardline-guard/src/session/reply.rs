//! Errors that the guard itself sends to a peer that waits for an answer.

use hardline_wire::encode::{code, refusal};
use hardline_wire::id::Id;

use crate::rule::Rule;

/// An error that a peer gets in place of an answer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// Id of the request that it answers.
    pub id: Id<'static>,
    /// JSON-RPC error code.
    pub code: i64,
    /// Name of the rule behind it.
    pub rule: &'static str,
    /// Reason, for people. It contains no text of a peer.
    pub reason: String,
}

impl Reply {
    /// Creates a reply with the code for internal errors, `-32603`.
    pub fn new(id: Id<'static>, rule: Rule, reason: impl Into<String>) -> Self {
        Self { id, code: code::INTERNAL_ERROR, rule: rule.name(), reason: reason.into() }
    }

    /// Replaces the rule by a reason that is no rule.
    pub(crate) fn with_rule(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }

    /// Replaces the code.
    pub fn with_code(self, code: i64) -> Self {
        Self { code, ..self }
    }

    /// Returns the reply as one line, with its line end.
    pub fn to_line(&self) -> String {
        refusal(&self.id, self.code, self.rule, &self.reason)
    }
}
