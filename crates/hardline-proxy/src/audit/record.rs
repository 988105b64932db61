//! What is kept, on its way to the database or to a file beside it.
//!
//! Times are microseconds: since the session began while a record is queued, since 1970 once the thread
//! took it.

use std::borrow::Cow;
use std::fmt;

use hardline_guard::{Action, Direction, Found, Severity};
use serde::{Deserialize, Serialize};

use super::{Fate, Launch, Seen};

/// Longest method, tool or id that is kept of a message, in bytes.
const MAX_NAME_BYTES: usize = 128;
/// Longest text of a finding or event that is kept, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 10;

/// In microseconds.
pub(super) const SECOND: i64 = 1_000_000;

/// A name that is known beforehand, or was read from a file.
pub(super) type Name = Cow<'static, str>;

/// The beginning of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Session {
    /// Unique across processes: 16 hexadecimal digits, random.
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
pub(super) struct Row {
    pub(super) at: i64,
    pub(super) direction: Direction,
    pub(super) method: Option<Box<str>>,
    pub(super) tool: Option<Box<str>>,
    pub(super) id: Option<Box<str>>,
    pub(super) bytes: u64,
    pub(super) latency: Option<i64>,
    pub(super) fate: Fate,
    pub(super) body: Option<Vec<u8>>,
}

impl Row {
    pub(super) fn new(at: i64, seen: &Seen<'_>, body: Option<Vec<u8>>) -> Self {
        let name = |text: &str| Box::from(cut(text, MAX_NAME_BYTES));
        let latency = seen.latency.map(|it| i64::try_from(it.as_micros()).unwrap_or(i64::MAX));
        Self {
            at,
            direction: seen.direction,
            method: seen.method.map(name),
            tool: seen.tool.map(name),
            id: seen.id.map(|id| name(&id.to_string())),
            bytes: seen.bytes as u64,
            latency,
            fate: seen.fate,
            body,
        }
    }
}

/// Messages of one kind in one second.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Counter {
    /// Where the second begins.
    pub(super) second: i64,
    pub(super) direction: Name,
    /// Empty if there is none.
    pub(super) method: String,
    pub(super) verdict: Name,
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

/// A finding, or so many that are alike.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Finding {
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
    /// How many it stands for: the first is the one described.
    pub(super) count: u64,
}

impl Finding {
    pub(super) fn new(seq: i64, at: i64, found: &Found) -> Self {
        let finding = &found.finding;
        Self {
            seq,
            at,
            rule: Cow::Borrowed(finding.rule.name()),
            severity: Cow::Borrowed(finding.severity.name()),
            direction: Cow::Borrowed(finding.direction.name()),
            action: Cow::Borrowed(found.action.name()),
            path: finding.path.as_deref().map(text),
            offset: finding.offset as u64,
            length: finding.length as u64,
            excerpt: text(&finding.excerpt),
            detail: text(&finding.detail),
            count: 1,
        }
    }
}

/// For standard error, where it is if there is no other place for it.
impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, rule, direction, action, detail, excerpt, .. } = self;
        write!(formatter, "not kept: {severity} {rule}, {direction}, {action}")?;
        if let Some(path) = &self.path {
            write!(formatter, ", at {path}")?;
        }
        write!(formatter, ": {detail}")?;
        if !excerpt.is_empty() {
            write!(formatter, ": {excerpt}")?;
        }
        if 1 < self.count {
            write!(formatter, " ({} of the kind)", self.count)?;
        }
        Ok(())
    }
}

/// What findings that are merged have in common.
pub(super) type Kind = (hardline_guard::Rule, Severity, Direction, Action);

pub(super) fn kind(found: &Found) -> Kind {
    let finding = &found.finding;
    (finding.rule, finding.severity, finding.direction, found.action)
}

/// Something that happened.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Event {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) text: String,
}

impl Event {
    pub(super) fn new(seq: i64, at: i64, kind: &str, what: &str) -> Self {
        Self { seq, at, kind: cut(kind, MAX_NAME_BYTES).to_owned(), text: text(what) }
    }
}

/// A server that was started.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Started {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) argv: Vec<String>,
    pub(super) path: Option<String>,
    pub(super) sha256: Option<String>,
}

impl Started {
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

/// The end of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct End {
    pub(super) at: i64,
    pub(super) outcome: String,
}

/// As much of a text as is kept.
fn text(text: &str) -> String {
    cut(text, MAX_TEXT_BYTES).to_owned()
}

/// The beginning of a text, cut at a character.
pub(super) fn cut(text: &str, max_bytes: usize) -> &str {
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
