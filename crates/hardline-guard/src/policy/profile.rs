//! The profiles: the actions for findings that a policy does not mention.
//!
//! | from the server | `observe` | `balanced` | `strict` |
//! |---|---|---|---|
//! | a rule | log | [`Rule::balanced`] | [`Rule::strict`] |
//! | `content.frame`, `content.encoded-frame` below `high` | log | log | log; `content.encoded-frame` block |
//! | `frame.split` with a planted frame (critical) | log | sanitize | block |
//!
//! Frames from the client get the same actions, with two exceptions. `content.*` is logged at most:
//! the client sends arguments that are meant to reach a tool (a file to write, a message to send),
//! JSON escapes them, and editing them would change the effect of the call. `session.burst` is
//! allowed: the limit applies to the server alone.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::finding::{Direction, Severity};
use crate::rule::{Action, Rule, Trait};

/// A named base for policies.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a contract: command lines name these three")]
pub enum Profile {
    /// Reports everything and changes nothing.
    Observe,
    /// Sanitizes or blocks only what has no legitimate use; documentation passes.
    #[default]
    Balanced,
    /// Blocks everything that might be an attack.
    Strict,
}

impl Profile {
    /// All profiles, mildest first.
    pub const ALL: [Self; 3] = [Self::Observe, Self::Balanced, Self::Strict];

    /// Returns the name: `observe`, `balanced` or `strict`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Balanced => "balanced",
            Self::Strict => "strict",
        }
    }

    /// Returns the action for a finding.
    pub fn action(self, rule: Rule, severity: Severity, direction: Direction) -> Action {
        let is_low = severity < Severity::High;
        let action = match self {
            Self::Observe => return Action::Log,
            // Below `high` are examples of other protocols, and encodings that no reader on the way
            // decodes.
            Self::Balanced if is_low && rule.has(Trait::BalancedLogsLow) => Action::Log,
            Self::Balanced => rule.balanced(),
            Self::Strict if is_low && rule.has(Trait::StrictLogsLow) => Action::Log,
            // A planted frame is an attack for certain; joining the parts is not enough then.
            Self::Strict if rule == Rule::FrameSplit && severity == Severity::Critical => {
                Action::Block
            }
            Self::Strict => rule.strict(),
        };
        match direction {
            Direction::ServerToClient => action,
            Direction::ClientToServer if rule == Rule::SessionBurst => Action::Allow,
            // The client sends arguments on purpose, so they are never edited or blocked.
            Direction::ClientToServer if rule.group() == "content" => action.min(Action::Log),
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

/// Error returned when a string is not the name of a profile.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no such profile: there are observe, balanced and strict")]
#[non_exhaustive]
pub struct UnknownProfile;
