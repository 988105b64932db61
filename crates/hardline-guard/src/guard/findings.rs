//! Collects the findings of one line.

use std::time::Duration;

use hardline_wire::json::Value;

use crate::finding::Finding;
use crate::rule::{Action, Rule};
use crate::scan::Together;

/// Limit on findings beyond the list whose rules are still compared with it.
const MAX_COMPARED: usize = 65_536;

/// A finding, and the action that the policy takes on it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct Found {
    /// The finding.
    pub finding: Finding,
    /// The action.
    pub action: Action,
}

impl Found {
    /// Creates a finding with its action.
    pub fn new(finding: Finding, action: Action) -> Self {
        Self { finding, action }
    }
}

/// Collects findings up to a limit, and remembers the most severe action.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) found: Vec<Found>,
    /// Number of findings beyond those.
    pub(super) unlisted: usize,
    most: usize,
    lists_allowed: bool,
    /// The most severe action, and the rule that demands it.
    pub(super) action: Action,
    pub(super) rule: Option<Rule>,
    /// Number of bytes of text that were scanned.
    pub(super) looked: usize,
    /// Sum of what those texts could hide together.
    pub(super) hidden: Together,
    /// Time in the session. If set, edits are remembered, and undone in text that comes back.
    pub(super) now: Option<Duration>,
}

impl Findings {
    /// Creates a list of all findings, allowed ones too.
    pub(super) fn of_all() -> Self {
        Self::new(usize::MAX, true)
    }

    /// Creates a list of at most `most` findings that the policy does not allow. The rest is counted.
    pub(super) fn of_worst(most: usize) -> Self {
        Self::new(most, false)
    }

    fn new(most: usize, lists_allowed: bool) -> Self {
        Self {
            found: Vec::new(),
            unlisted: 0,
            most,
            lists_allowed,
            action: Action::Allow,
            rule: None,
            looked: 0,
            hidden: Together::default(),
            now: None,
        }
    }

    /// Adds a finding. Calls `finding` to create it only if it is listed.
    pub(super) fn add(&mut self, rule: Rule, action: Action, finding: impl FnOnce() -> Finding) {
        if self.action < action {
            (self.action, self.rule) = (action, Some(rule));
        }
        if action == Action::Allow && !self.lists_allowed {
            return;
        }
        // A flood of one kind must not hide another: the first finding of each rule is always listed.
        let is_first = || self.found.iter().all(|it| it.finding.rule != rule);
        if self.found.len() < self.most || self.most > 0 && self.has_room() && is_first() {
            self.found.push(Found { finding: finding(), action });
        } else {
            self.unlisted += 1;
        }
    }

    /// Returns true while a finding of another rule can be listed.
    fn has_room(&self) -> bool {
        self.found.len() < self.most + Rule::ALL.len() && self.unlisted < MAX_COMPARED
    }

    /// Forgets the most severe action. The list stays.
    pub(super) fn reset_action(&mut self) {
        (self.action, self.rule) = (Action::Allow, None);
    }

    pub(super) fn into_list(self) -> Vec<Finding> {
        self.found.into_iter().map(|it| it.finding).collect()
    }
}

/// Sets the position of a finding about the id or method of a message.
pub(super) fn locate(finding: &mut Finding, message: Value<'_>, base: usize) {
    let key = match finding.path.as_deref() {
        _ if finding.length > 0 => None,
        Some("$.id") => Some("id"),
        Some("$.method") => Some("method"),
        _ => None,
    };
    if let Some(value) = key.and_then(|key| message.get(key)) {
        (finding.offset, finding.length) = (value.offset(), value.text().len());
    }
    finding.offset += base;
}
