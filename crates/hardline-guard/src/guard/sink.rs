//! Where findings go while something is judged.

use std::time::Duration;

use hardline_wire::json::Value;

use crate::finding::Finding;
use crate::rule::{Action, Rule};
use crate::scan::Together;

/// Findings beyond the list that are still compared with it.
const MAX_COMPARED: usize = 65_536;

/// Something that was found, and what is done about it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// What it is.
    pub finding: Finding,
    /// What the policy does about it.
    pub action: Action,
}

impl Found {
    /// A finding and what is done about it.
    pub fn new(finding: Finding, action: Action) -> Self {
        Self { finding, action }
    }
}

/// Collects findings, as many as are wanted, and remembers the worst of them.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) found: Vec<Found>,
    /// How many there were beyond those.
    pub(super) unlisted: usize,
    most: usize,
    lists_allowed: bool,
    /// What the policy asks for all in all, and because of what.
    pub(super) action: Action,
    pub(super) rule: Option<Rule>,
    /// How many bytes of text were looked at.
    pub(super) looked: usize,
    /// Sum of what those texts could hide.
    pub(super) hidden: Together,
    /// The time, in a session: then edits are remembered, and undone in what comes back.
    pub(super) now: Option<Duration>,
}

impl Sink {
    /// Takes everything, whatever is done about it.
    pub(super) fn of_all() -> Self {
        Self::new(usize::MAX, true)
    }

    /// Takes `most` of what the policy does not allow, and counts the rest.
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

    /// Takes note of what was found; `finding` writes it down, if it is wanted.
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

    /// Begins anew with the worst: what was listed stays.
    pub(super) fn next(&mut self) {
        (self.action, self.rule) = (Action::Allow, None);
    }

    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.found.into_iter().map(|it| it.finding).collect()
    }
}

/// Says where in the message a finding about its id or method is.
pub(super) fn locate(finding: &mut Finding, message: Value<'_>, base: usize) {
    let key = match finding.path.as_deref() {
        _ if 0 < finding.length => None,
        Some("$.id") => Some("id"),
        Some("$.method") => Some("method"),
        _ => None,
    };
    if let Some(value) = key.and_then(|key| message.get(key)) {
        (finding.offset, finding.length) = (value.offset(), value.text().len());
    }
    finding.offset += base;
}
