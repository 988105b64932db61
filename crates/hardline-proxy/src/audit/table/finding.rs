//! Table `findings`: one row per finding, or for several of one kind in a flood.

use std::borrow::Cow;
use std::fmt;

use hardline_guard::{Action, Direction, Found, Rule, Severity};
use rusqlite::{Result, Transaction};
use serde::{Deserialize, Serialize};

use super::{Name, insert, placeholder, row, signed, text};
use crate::audit::time::Time;

/// A finding, or several of one kind.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::audit) struct FindingRecord {
    pub(in crate::audit) seq: i64,
    pub(in crate::audit) at: i64,
    pub(in crate::audit) rule: Name,
    pub(in crate::audit) severity: Name,
    pub(in crate::audit) direction: Name,
    pub(in crate::audit) action: Name,
    pub(in crate::audit) path: Option<String>,
    pub(in crate::audit) offset: u64,
    pub(in crate::audit) length: u64,
    pub(in crate::audit) excerpt: String,
    pub(in crate::audit) detail: String,
    /// Number of findings merged into this one; the fields describe the first.
    pub(in crate::audit) count: u64,
}

impl FindingRecord {
    pub(in crate::audit) fn new(seq: i64, at: i64, found: &Found) -> Self {
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

    /// Returns false if the finding is already stored.
    pub(in crate::audit) fn insert(
        &self,
        transaction: &Transaction<'_>,
        session: i64,
    ) -> Result<bool> {
        let added = insert!(transaction, "INSERT OR IGNORE INTO findings", {
            session: session,
            seq: self.seq,
            at: self.at,
            rule: self.rule,
            severity: self.severity,
            direction: self.direction,
            action: self.action,
            path: self.path,
            offset: signed(self.offset),
            length: signed(self.length),
            excerpt: self.excerpt,
            detail: self.detail,
            count: signed(self.count),
        })?;
        Ok(added > 0)
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
pub(in crate::audit) type Kind = (Rule, Severity, Direction, Action);

pub(in crate::audit) fn kind(found: &Found) -> Kind {
    let finding = &found.finding;
    (finding.rule, finding.severity, finding.direction, found.action)
}

row! {
    /// A finding.
    pub struct FindingRow {
        /// Time of the finding.
        pub at: Time = "at",
        /// Key of the session.
        pub session: String = "key",
        /// Name of the server.
        pub server: String = "server",
        /// Name of the rule.
        pub rule: String = "rule",
        /// Severity.
        pub severity: String = "severity",
        /// Direction of the frame.
        pub direction: String = "direction",
        /// Action that the policy took.
        pub action: String = "action",
        /// Path of the matched text in the JSON of the frame.
        pub path: Option<String> = "path",
        /// Offset of the matched text in the frame, in bytes.
        pub offset: u64 = "offset",
        /// Length of the matched text in the frame, in bytes.
        pub length: u64 = "length",
        /// Excerpt of the matched text.
        pub excerpt: String = "excerpt",
        /// Description of the finding.
        pub detail: String = "detail",
        /// Number of findings of this kind that this record stands for.
        pub count: u64 = "count",
    }
}
