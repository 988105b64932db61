//! Findings: matches of a rule, with their severity, direction and place.

use std::fmt;
use std::str::FromStr;

use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

use crate::rule::Rule;

/// Limit on the bytes of a path that are printed.
const PATH_BYTES: usize = 200;
/// Limit on the bytes of a description that are printed.
const DETAIL_BYTES: usize = 1000;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "a contract: scripts compare with these four")]
pub enum Severity {
    /// Informational.
    Low,
    /// Suspicious; worth a review.
    Medium,
    /// Almost certainly a fault or an attack.
    High,
    /// An attack that works on most clients.
    Critical,
}

impl Severity {
    /// All severities, lowest first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Returns the name: `low`, `medium`, `high` or `critical`.
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

/// Error returned when a string is not the name of a severity.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no such severity: there are low, medium, high and critical")]
#[non_exhaustive]
pub struct UnknownSeverity;

/// Direction in which a frame travels.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a session has two ends")]
pub enum Direction {
    /// From the server to the client. Most attacks come this way.
    ServerToClient,
    /// From the client to the server.
    ClientToServer,
}

impl Direction {
    /// Both directions.
    pub const ALL: [Self; 2] = [Self::ServerToClient, Self::ClientToServer];

    /// Returns the other direction.
    pub const fn opposite(self) -> Self {
        match self {
            Self::ServerToClient => Self::ClientToServer,
            Self::ClientToServer => Self::ServerToClient,
        }
    }

    /// Returns the name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServerToClient => "server-to-client",
            Self::ClientToServer => "client-to-server",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Direction {
    type Err = UnknownDirection;

    fn from_str(name: &str) -> Result<Self, UnknownDirection> {
        Self::ALL.into_iter().find(|it| it.name() == name).ok_or(UnknownDirection)
    }
}

/// Error returned when a string is not the name of a direction.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("no such direction: there are server-to-client and client-to-server")]
#[non_exhaustive]
pub struct UnknownDirection;

/// One match of a rule.
///
/// `Display` prints it on one line, safe for a terminal:
///
/// ```
/// use hardline_guard::{Direction, Finding, Rule};
///
/// let direction = Direction::ServerToClient;
/// let finding = Finding::new(Rule::ContentHidden, direction, "<U+200B>", "hidden characters");
/// let line = "high content.hidden (server-to-client): hidden characters: <U+200B>";
/// assert_eq!(finding.to_string(), line);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct Finding {
    /// The rule that matched.
    pub rule: Rule,
    /// Severity of this match: the default of the rule, unless the rule sets another.
    pub severity: Severity,
    /// Direction of the frame.
    pub direction: Direction,
    /// Path in the JSON of the frame, such as `$.result.content[0].text`. `None` if the match is
    /// not part of a JSON value.
    pub path: Option<String>,
    /// Start of the match, in bytes from the start of the frame or text.
    pub offset: usize,
    /// Length of the match in bytes.
    pub length: usize,
    /// The matched text, escaped and shortened, safe to print on a terminal.
    pub excerpt: String,
    /// Description of the match for people.
    pub detail: String,
}

impl Finding {
    /// Creates a finding that belongs to no frame, with the default severity of `rule`.
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

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, severity, direction, path, excerpt, detail, .. } = self;
        write!(formatter, "{severity} {rule} ({direction})")?;
        if let Some(path) = path {
            // A path contains keys that the peer wrote.
            write!(formatter, " at {}", Excerpt::new(path.as_bytes(), PATH_BYTES))?;
        }
        write!(formatter, ": {}", Excerpt::new(detail.as_bytes(), DETAIL_BYTES))?;
        if !excerpt.is_empty() {
            write!(formatter, ": {excerpt}")?;
        }
        Ok(())
    }
}
