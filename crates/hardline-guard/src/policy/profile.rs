//! The profiles: what is done about a finding where a policy says nothing.
//!
//! | from the server | `observe` | `balanced` | `strict` |
//! |---|---|---|---|
//! | a rule | log | [`Rule::balanced`] | [`Rule::strict`] |
//! | `content.frame`, `content.encoded-frame` below `high` | log | log | log; `content.encoded-frame` block |
//! | `frame.split` with a planted frame (critical) | log | sanitize | block |
//!
//! Frames from the client get the same, with two exceptions. `content.*` is at most logged: they
//! are arguments that somebody wants to reach a tool (a file to be written, a message to be sent),
//! JSON escapes them, and editing them would change what is done. `session.burst` is allowed: the
//! limit binds the server alone.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::finding::{Direction, Severity};
use crate::rule::{Action, Rule};

/// A named starting point of policies.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a contract: command lines name these three")]
pub enum Profile {
    /// Everything is reported and nothing is changed.
    Observe,
    /// What nobody could have meant is made harmless or blocked; documentation passes.
    #[default]
    Balanced,
    /// What might be an attack is blocked.
    Strict,
}

impl Profile {
    /// All of them, mildest first.
    pub const ALL: [Self; 3] = [Self::Observe, Self::Balanced, Self::Strict];

    /// Its name: `observe`, `balanced` or `strict`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Balanced => "balanced",
            Self::Strict => "strict",
        }
    }

    /// What it does about a finding.
    pub fn action(self, rule: Rule, severity: Severity, direction: Direction) -> Action {
        let action = match self {
            Self::Observe => return Action::Log,
            Self::Balanced => match rule {
                // Other protocols' examples, and what no reader unpacks on the way.
                Rule::ContentFrame | Rule::ContentEncodedFrame if severity < Severity::High => {
                    Action::Log
                }
                _ => rule.balanced(),
            },
            Self::Strict => match rule {
                Rule::ContentFrame if severity < Severity::High => Action::Log,
                Rule::FrameSplit if severity == Severity::Critical => Action::Block,
                _ => rule.strict(),
            },
        };
        match direction {
            Direction::ServerToClient => action,
            Direction::ClientToServer if rule == Rule::SessionBurst => Action::Allow,
            Direction::ClientToServer if rule.layer() == "content" => action.min(Action::Log),
            Direction::ClientToServer => action,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Self::ALL.into_iter().find(|it| it.name() == name).ok_or(UnknownProfile)
    }
}

/// A name that is none of a profile.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no such profile: there are observe, balanced and strict")]
#[non_exhaustive]
pub struct UnknownProfile;
