//! What the guard saw, and where.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::rule::Rule;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "a contract: scripts compare with these four")]
pub enum Severity {
    /// Worth knowing.
    Low,
    /// Worth a look.
    Medium,
    /// Almost certainly wrong, or an attack.
    High,
    /// An attack that works on most clients.
    Critical,
}

impl Severity {
    /// All of them, least first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Its name: `low`, `medium`, `high` or `critical`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Severity {
    type Err = UnknownSeverity;

    fn from_str(name: &str) -> Result<Self, UnknownSeverity> {
        Self::ALL.into_iter().find(|it| it.name() == name).ok_or(UnknownSeverity)
    }
}

/// A name that is none of a severity.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no such severity: there are low, medium, high and critical")]
#[non_exhaustive]
pub struct UnknownSeverity;

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a session has two ends")]
pub enum Direction {
    /// From the server to the client: where most attacks come from.
    ServerToClient,
    /// From the client to the server.
    ClientToServer,
}

impl Direction {
    /// The other one.
    pub const fn opposite(self) -> Self {
        match self {
            Self::ServerToClient => Self::ClientToServer,
            Self::ClientToServer => Self::ServerToClient,
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServerToClient => "server-to-client",
            Self::ClientToServer => "client-to-server",
        }
    }
}

/// Something that a rule found.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that found it.
    pub rule: Rule,
    /// How bad it is: the rule's own severity, or another where the rule says so.
    pub severity: Severity,
    /// Which way the frame goes.
    pub direction: Direction,
    /// Where in the frame's JSON, as `$.result.content[0].text`; none for what is no part of a value.
    pub path: Option<String>,
    /// Where it starts, in bytes from the start of the frame or text.
    pub offset: usize,
    /// How many bytes it takes there.
    pub length: usize,
    /// What stands there, escaped and shortened: fit for a terminal.
    pub excerpt: String,
    /// What it is, in words for a person.
    pub detail: String,
}

impl Finding {
    /// A finding of `rule` that is in no frame, as bad as the rule is.
    pub fn new(
        rule: Rule,
        direction: Direction,
        excerpt: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            severity: rule.severity(),
            direction,
            path: None,
            offset: 0,
            length: 0,
            excerpt: excerpt.into(),
            detail: detail.into(),
        }
    }
}
