//! Records on their way to the database or to a spill file.
//!
//! Times are in microseconds: since the start of the session while a record is queued, since 1970
//! once the writer thread has taken it.

use std::borrow::Cow;
use std::fmt;

use hardline_guard::{Action, Direction, Found, Severity};
use serde::{Deserialize, Serialize};

use super::{Launch, LoggedMessage, Verdict};

/// Longest stored method, tool or id, in bytes.
const MAX_NAME_BYTES: usize = 128;
/// Longest stored text of a finding or event, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 10;

/// One second in microseconds.
pub(super) const SECOND: i64 = 1_000_000;

/// A name that is known at compile time or was read from a spill file.
pub(super) type Name = Cow<'static, str>;

/// Start of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct SessionRecord {
    /// Random key, unique across processes: 16 hexadecimal digits.
    pub(super) key: String,
    pub(super) server: String,
    pub(super) command: Vec<String>,
    pub(super) profile: String,
    pub(super) version: String,
    pub(super) pid: u32,
    pub(super) cwd: Option<String>,
    pub(super) started: i64,
}

/// A message with a row of its own.
#[derive(Debug)]
pub(super) struct MessageRecord {
    pub(super) at: i64,
    pub(super) direction: Direction,
    pub(super) method: Option<Box<str>>,
    pub(super) tool: Option<Box<str>>,
    pub(super) id: Option<Box<str>>,
    pub(super) bytes: u64,
    pub(super) latency: Option<i64>,
    pub(super) verdict: Verdict,
    pub(super) body: Option<Vec<u8>>,
}

impl MessageRecord {
    pub(super) fn new(at: i64, message: &LoggedMessage<'_>, body: Option<Vec<u8>>) -> Self {
        // Peers choose these names, so their length must be bounded.
        let name = |text: &str| Box::from(cut(text, MAX_NAME_BYTES));
        let latency = message.latency.map(|it| i64::try_from(it.as_micros()).unwrap_or(i64::MAX));
        Self {
            at,
            direction: message.direction,
            method: message.method.map(name),
            tool: message.tool.map(name),
            // As JSON, so that `7` and `"7"` stay different.
            id: message.id.map(|id| name(&id.to_string())),
            bytes: message.bytes as u64,
            latency,
            verdict: message.verdict,
            body,
        }
    }
}

/// Count of the messages of one kind in one second.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct CounterRecord {
    /// Start of the second.
    pub(super) second: i64,
    pub(super) direction: Name,
    /// Method; empty if the messages have none.
    pub(super) method: String,
    pub(super) verdict: Name,
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

/// A finding, or several of one kind.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct FindingRecord {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) rule: Name,
    pub(super) severity: Name,
    pub(super) direction: Name,
    pub(super) action: Name,
    pub(super) path: Option<String>,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) excerpt: String,
    pub(super) detail: String,
    /// Number of findings merged into this one; the fields describe the first.
    pub(super) count: u64,
}

impl FindingRecord {
    pub(super) fn new(seq: i64, at: i64, found: &Found) -> Self {
        let finding = &found.finding;
        Self {
            seq,
            at,
            // Names and not numbers, so that stored findings stay readable when enums change.
            rule: Cow::Borrowed(finding.rule.name()),
            severity: Cow::Borrowed(finding.severity.name()),
            direction: Cow::Borrowed(finding.direction.name()),
            action: Cow::Borrowed(found.action.name()),
            path: finding.path.as_deref().map(text),
            offset: finding.offset as u64,
            length: finding.length as u64,
            excerpt: text(&finding.excerpt),
            detail: text(&finding.detail),
            // Further findings of the kind only increase this number.
            count: 1,
        }
    }
}

/// Text for standard error, used when the finding could not be stored.
impl fmt::Display for FindingRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, rule, direction, action, detail, excerpt, .. } = self;
        write!(formatter, "not in the audit log: {severity} {rule}, {direction}, {action}")?;
        if let Some(path) = &self.path {
            write!(formatter, ", at {path}")?;
        }
        write!(formatter, ": {detail}")?;
        if !excerpt.is_empty() {
            write!(formatter, ": {excerpt}")?;
        }
        if self.count > 1 {
            write!(formatter, " ({} of this kind)", self.count)?;
        }
        Ok(())
    }
}

/// Fields that merged findings have in common.
pub(super) type Kind = (hardline_guard::Rule, Severity, Direction, Action);

pub(super) fn kind(found: &Found) -> Kind {
    let finding = &found.finding;
    (finding.rule, finding.severity, finding.direction, found.action)
}

/// An event other than a message, finding or launch.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct EventRecord {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) text: String,
}

impl EventRecord {
    pub(super) fn new(seq: i64, at: i64, kind: &str, what: &str) -> Self {
        Self { seq, at, kind: cut(kind, MAX_NAME_BYTES).to_owned(), text: text(what) }
    }
}

/// A start of a server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct LaunchRecord {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) argv: Vec<String>,
    pub(super) path: Option<String>,
    pub(super) sha256: Option<String>,
}

impl LaunchRecord {
    pub(super) fn new(seq: i64, at: i64, launch: &Launch) -> Self {
        Self {
            seq,
            at,
            argv: launch.argv.clone(),
            path: launch.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
            sha256: launch.sha256.clone(),
        }
    }
}

/// End of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct EndRecord {
    pub(super) at: i64,
    pub(super) outcome: String,
}

/// Shortens a text to the limit.
fn text(text: &str) -> String {
    cut(text, MAX_TEXT_BYTES).to_owned()
}

/// Returns the beginning of a text, cut at a character boundary.
pub(super) fn cut(text: &str, max_bytes: usize) -> &str {
    // A cut inside a character would not be valid UTF-8.
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_a_character() {
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("é", 0), "");
    }
}
