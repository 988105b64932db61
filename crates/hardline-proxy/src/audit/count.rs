//! Counters for messages without a row: one per method, direction, verdict and second.
//!
//! Invariants:
//! - The sum is complete, even if a peer invents method names.
//! - Counting costs a few comparisons, and an allocation only for a new counter.

use std::borrow::Cow;

use hardline_guard::Direction;

use super::table::{CounterRecord, MessageRecord, SECOND, cut};
use super::{LoggedMessage, Verdict};

/// Limit on the counters in memory. Beyond it, one counter takes all methods.
const MAX_COUNTERS: usize = 1024;
/// Limit on the counters that a search looks at, and so on the methods counted separately in one
/// second. Further methods share one counter.
const MAX_METHODS: usize = 64;
/// Longest method name that has a counter of its own, in bytes.
const MAX_METHOD_BYTES: usize = 64;
/// Method name of the shared counter.
const OTHER: &str = "(other)";

/// Counters for messages without a row.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) all: Vec<Count>,
    /// Index of the counter used last in each direction.
    last: [usize; 2],
}

#[derive(Debug)]
pub(super) struct Count {
    /// Second of the session.
    pub(super) second: u64,
    pub(super) direction: Direction,
    pub(super) verdict: Verdict,
    pub(super) method: Box<str>,
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

impl Counts {
    pub(super) fn add(&mut self, second: u64, message: &LoggedMessage<'_>) {
        let method = cut(message.method.unwrap_or_default(), MAX_METHOD_BYTES);
        let LoggedMessage { direction, verdict, bytes, .. } = *message;
        let key = (second, direction, verdict, method);
        self.count(key, 1, bytes as u64);
    }

    /// Counts a message whose row is discarded.
    pub(super) fn add_row(&mut self, second: u64, row: &MessageRecord) {
        let method = cut(row.method.as_deref().unwrap_or_default(), MAX_METHOD_BYTES);
        self.count((second, row.direction, row.verdict, method), 1, row.bytes);
    }

    /// Converts seconds of a session that began at `base` into seconds since 1970.
    pub(super) fn settle(&mut self, base: i64) {
        for count in &mut self.all {
            let second = i64::try_from(count.second).unwrap_or(0);
            let at = second.saturating_mul(SECOND).saturating_add(base);
            count.second = u64::try_from(at / SECOND).unwrap_or(0);
        }
    }

    pub(super) fn merge(&mut self, other: &Count) {
        let Count { second, direction, verdict, method, messages, bytes } = other;
        self.count((*second, *direction, *verdict, method), *messages, *bytes);
    }

    fn count(&mut self, key: Key<'_>, messages: u64, bytes: u64) {
        let index = self.find(key);
        if let Some(count) = self.all.get_mut(index) {
            count.messages += messages;
            count.bytes += bytes;
        }
    }

    /// Returns the index of the counter for `key`. Over a limit, it is a shared counter.
    fn find(&mut self, key: Key<'_>) -> usize {
        let (second, direction, verdict, _) = key;
        let [server, client] = self.last;
        let last = match direction {
            Direction::ServerToClient => server,
            Direction::ClientToServer => client,
        };
        // Most messages repeat the method of the one before.
        if self.all.get(last).is_some_and(|count| count.key() == key) {
            return last;
        }
        let index = match self.search(MAX_METHODS, |count| count.key() == key) {
            Ok(index) => index,
            // Peers choose the methods, so the limit holds for each second and for all of them.
            Err(in_second) if self.all.len() < MAX_COUNTERS && in_second < MAX_METHODS => {
                self.push(key)
            }
            Err(_) => {
                // Ignores the second: a shared counter of an earlier second is better than none.
                let is_other = |count: &Count| {
                    &*count.method == OTHER
                        && (count.direction, count.verdict) == (direction, verdict)
                };
                let found = self.search(MAX_METHODS, is_other);
                found.unwrap_or_else(|_| self.push((second, direction, verdict, OTHER)))
            }
        };
        let [server, client] = &mut self.last;
        match direction {
            Direction::ServerToClient => *server = index,
            Direction::ClientToServer => *client = index,
        }
        index
    }

    /// Searches the newest `most` counters. On failure, returns how many of them are of the last
    /// second.
    fn search(&self, most: usize, is_meant: impl Fn(&Count) -> bool) -> Result<usize, usize> {
        let newest = self.all.last().map(|count| count.second);
        let mut in_second = 0;
        // From the newest one on: a message counts for the current second.
        for (index, count) in self.all.iter().enumerate().rev().take(most) {
            if is_meant(count) {
                return Ok(index);
            }
            in_second += usize::from(Some(count.second) == newest);
        }
        Err(in_second)
    }

    fn push(&mut self, (second, direction, verdict, method): Key<'_>) -> usize {
        let method = Box::from(method);
        self.all.push(Count { second, direction, verdict, method, messages: 0, bytes: 0 });
        self.all.len() - 1
    }
}

/// Fields that identify a counter.
type Key<'a> = (u64, Direction, Verdict, &'a str);

impl Count {
    /// Returns the record to store.
    pub(super) fn record(&self) -> CounterRecord {
        CounterRecord {
            second: i64::try_from(self.second).unwrap_or(0).saturating_mul(SECOND),
            direction: Cow::Borrowed(self.direction.name()),
            method: self.method.to_string(),
            verdict: Cow::Borrowed(self.verdict.name()),
            messages: self.messages,
            bytes: self.bytes,
        }
    }

    fn key(&self) -> Key<'_> {
        (self.second, self.direction, self.verdict, &self.method)
    }
}
