//! The hits of a text, up to a limit listed one by one.
//!
//! Invariant: each rule and severity that was added has a hit, and each place that was added
//! belongs to one of them.

use std::borrow::Cow;
use std::ops::Range;

use super::{Encoding, Hit};
use crate::finding::Severity;
use crate::rule::{Rule, Trait};

/// Collects hits.
#[derive(Debug)]
pub(super) struct List {
    /// Limit on single hits per rule and severity.
    max_alone: usize,
    hits: Vec<Hit>,
    kinds: Vec<Kind>,
}

/// The hits of one rule and severity.
#[derive(Debug)]
struct Kind {
    rule: Rule,
    severity: Severity,
    count: usize,
    /// Index of the last hit; the next one may extend it.
    last: usize,
}

/// A hit to add.
#[derive(Debug)]
pub(super) struct Entry<P> {
    pub(super) rule: Rule,
    pub(super) severity: Severity,
    pub(super) range: Range<usize>,
    /// The positions of the edits that make it harmless.
    pub(super) places: P,
}

impl List {
    pub(super) fn new(max_alone: usize) -> Self {
        Self { max_alone: max_alone.max(1), hits: Vec::new(), kinds: Vec::new() }
    }

    /// Adds a hit for characters.
    pub(super) fn add_characters(&mut self, rule: Rule, range: Range<usize>, detail: &'static str) {
        if rule.has(Trait::Run) && self.extend_last(rule, &range) {
            return;
        }
        let places = std::iter::once(range.clone());
        let entry = Entry { rule, severity: rule.severity(), range, places };
        self.add(entry, || (detail.into(), Vec::new()));
    }

    /// Extends the last hit of a rule over the characters right behind it. Returns false if it ends
    /// elsewhere.
    fn extend_last(&mut self, rule: Rule, range: &Range<usize>) -> bool {
        let kind = self.kinds.iter().find(|it| it.rule == rule);
        let last = kind.and_then(|it| self.hits.get_mut(it.last));
        let Some(hit) = last.filter(|it| it.range.end == range.start) else { return false };
        hit.range.end = range.end;
        hit.places.last_mut().into_iter().for_each(|it| it.end = range.end);
        true
    }

    /// Adds a hit. `describe` returns its description, and the encodings that hid it.
    pub(super) fn add(
        &mut self,
        entry: Entry<impl Iterator<Item = Range<usize>>>,
        describe: impl FnOnce() -> (Cow<'static, str>, Vec<Encoding>),
    ) {
        let Entry { rule, severity, range, places } = entry;
        let index = self.kinds.iter().position(|it| it.rule == rule && it.severity == severity);
        let index = index.unwrap_or(self.kinds.len());
        if index == self.kinds.len() {
            self.kinds.push(Kind { rule, severity, count: 0, last: 0 });
        }
        let Some(kind) = self.kinds.get_mut(index) else { return };
        kind.count += 1;
        // The first hit beyond the limit collects all later ones.
        if kind.count <= self.max_alone + 1 {
            kind.last = self.hits.len();
            let (detail, encodings) = describe();
            let places = places.collect();
            self.hits.push(Hit { rule, severity, range, detail, encodings, places });
        } else if let Some(hit) = self.hits.get_mut(kind.last) {
            hit.range = hit.range.start.min(range.start)..hit.range.end.max(range.end);
            for place in places {
                match hit.places.last_mut() {
                    Some(last) if last.end == place.start => last.end = place.end,
                    _ => hit.places.push(place),
                }
            }
        }
    }

    /// Returns all hits, sorted by position.
    pub(super) fn finish(mut self) -> Vec<Hit> {
        for kind in self.kinds {
            let together = kind.count.saturating_sub(self.max_alone);
            if let Some(hit) = self.hits.get_mut(kind.last).filter(|_| together > 1) {
                hit.detail = format!("{together} times, from here on: {}", hit.detail).into();
            }
        }
        self.hits.sort_by(|one, other| {
            let place = |it: &Hit| (it.range.start, it.rule);
            // At the same place, the most severe hit comes first.
            place(one).cmp(&place(other)).then(other.severity.cmp(&one.severity))
        });
        self.hits
    }
}
