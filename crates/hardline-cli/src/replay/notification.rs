//! Compares notifications by content, not by order.

use std::collections::HashMap;

use hardline_wire::json::{Checker, Value};
use hardline_wire::limits::Limits;

use super::diff;
use super::path::Pattern;
use super::report::{About, Kind, Report};
use super::script::Script;

/// Number of recorded notifications that are compared with one that arrived.
const WINDOW: usize = 256;
/// Limit on stored notifications of a method that are not in the recording; further ones are
/// counted.
const MAX_EXTRA: usize = 100;

/// Recorded notifications and those that arrived.
#[derive(Debug)]
pub(super) struct Notifications<'a> {
    of: HashMap<String, Group<'a>>,
    checker: Checker,
    other: Checker,
}

/// Notifications of one method.
#[derive(Debug, Default)]
struct Group<'a> {
    /// In the recording, but not yet received.
    missing: Vec<&'a str>,
    /// Received, but not in the recording.
    extra: Vec<String>,
    more: usize,
    came: usize,
}

impl<'a> Notifications<'a> {
    pub(super) fn new(script: &'a Script, limits: &Limits) -> Self {
        let of = script.notifications.iter().map(|(method, notifications)| {
            let missing = notifications.iter().map(String::as_str).collect();
            (method.clone(), Group { missing, ..Group::default() })
        });
        Self { of: of.collect(), checker: Checker::new(limits), other: Checker::new(limits) }
    }

    /// Returns the number of received notifications of a method.
    pub(super) fn came(&self, method: &str) -> usize {
        self.of.get(method).map_or(0, |group| group.came)
    }

    /// Handles a received notification.
    pub(super) fn take(&mut self, method: &str, value: Value<'_>, ignore: &[Pattern]) {
        if !self.of.contains_key(method) {
            self.of.insert(method.to_owned(), Group::default());
        }
        let Some(group) = self.of.get_mut(method) else { return };
        group.came += 1;
        // The window bounds the cost: every comparison parses a notification.
        let same = group.missing.iter().take(WINDOW).position(|text| {
            let recorded = self.checker.check(text.as_bytes());
            recorded.is_ok_and(|recorded| diff::is_same(recorded.value, value, ignore))
        });
        match same {
            Some(index) => drop(group.missing.remove(index)),
            // Stored to be paired with missing ones at the end.
            None if group.extra.len() < MAX_EXTRA => group.extra.push(value.text().to_owned()),
            None => group.more += 1,
        }
    }

    /// Reports the rest of both sides. A missing and an extra one of the same method count as a
    /// change.
    pub(super) fn finish(&mut self, ignore: &[Pattern], report: &mut Report) {
        let mut of: Vec<_> = self.of.iter().collect();
        // A fixed order keeps the report the same on every run.
        of.sort_unstable_by_key(|(method, _)| *method);
        for (method, group) in of {
            let about = About::method(method);
            // A missing and an extra one of the same method are shown as a change.
            let pairs = group.missing.len().min(group.extra.len());
            for (recorded, replayed) in group.missing.iter().zip(&group.extra) {
                let recorded = self.checker.check(recorded.as_bytes());
                let replayed = self.other.check(replayed.as_bytes());
                if let (Ok(recorded), Ok(replayed)) = (recorded, replayed) {
                    let room = report.room() + 1;
                    let changes = diff::changes(recorded.value, replayed.value, ignore, room);
                    report.push_changes(&about, changes);
                }
            }
            for _ in group.missing.iter().skip(pairs) {
                report.push(about.clone(), Kind::NoNotification, "");
            }
            for _ in 0..group.extra.len() - pairs + group.more {
                report.push(about.clone(), Kind::ExtraNotification, "");
            }
        }
    }
}
