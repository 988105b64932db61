//! Queue between the relay and the audit writer thread.
//!
//! Invariants:
//! - Pushing takes constant time. It waits only while another thread swaps a few vectors.
//! - The queue holds at most [`MAX_ROWS`] messages, about a thousand counters, [`MAX_FINDINGS`]
//!   findings plus one of each kind, and [`MAX_EVENTS`] events and launches each.
//! - The texts of findings stay in the queue until they are printed, even after the thread has
//!   taken the findings.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hardline_guard::Found;
use hardline_guard::redact;

use super::count::Counts;
use super::table::{
    EndRecord, EventRecord, FindingRecord, Kind, LaunchRecord, MessageRecord, SECOND, kind,
};
use super::{Launch, LoggedMessage};

/// Limit on the messages per second that get a row of their own. Further messages are counted.
pub(super) const MAX_ROWS_PER_SECOND: u32 = 1000;
/// Limit on the findings per second that get a row of their own. Further findings are merged by
/// kind.
pub(super) const MAX_FINDINGS_PER_SECOND: u32 = 1000;
/// Limit on the queued messages. Further messages are counted.
const MAX_ROWS: usize = 4096;
/// Limit on the queued findings. Further findings are merged by kind.
const MAX_FINDINGS: usize = 4096;
/// Limit on the queued events, and on the queued launches. Further ones are left out.
const MAX_EVENTS: usize = 1024;
/// Limit on the text of all queued messages, in bytes. Further messages are stored without text.
const MAX_BODIES_BYTES: usize = 4 << 20;
/// Limit on the text copied from one message: a little more than is stored, so that a secret at the
/// end is recognized as a whole.
const MAX_BODY_BYTES: usize = super::body::MAX_BYTES + (8 << 10);

/// Records that wait, and the signals between the relay and the thread.
#[derive(Debug)]
pub(super) struct Queue {
    keeps_bodies: bool,
    state: Mutex<State>,
    /// Signaled when there are records to take.
    filled: Condvar,
    /// Signaled when the thread has finished.
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    batch: Batch,
    /// Texts of findings, each with the number of its finding.
    texts: VecDeque<(i64, String)>,
    /// Current second of the session.
    second: u64,
    rows_in_second: u32,
    findings_in_second: u32,
    last_seq: i64,
    /// True if there are records to take and the thread was signaled.
    is_filled: bool,
    /// True if the thread should take them at once.
    is_urgent: bool,
    /// Set when the session ends: the time for which the caller waits.
    ending: Option<Duration>,
    /// True if the thread has finished or was never started.
    is_done: bool,
}

/// A batch of records.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) rows: Vec<MessageRecord>,
    pub(super) counts: Counts,
    pub(super) findings: Vec<FindingRecord>,
    /// Index of the last finding of each kind; merged findings are counted there.
    kinds: HashMap<Kind, usize>,
    pub(super) events: Vec<EventRecord>,
    pub(super) launches: Vec<LaunchRecord>,
    pub(super) end: Option<EndRecord>,
    body_bytes: usize,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.counts.all.is_empty()
            && self.findings.is_empty()
            && self.events.is_empty()
            && self.launches.is_empty()
            && self.end.is_none()
    }
}

/// Result of [`Queue::take`].
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) batch: Batch,
    /// Number of the last finding.
    pub(super) last_seq: i64,
    /// Set if the session ends: the time for which the caller waits.
    pub(super) ending: Option<Duration>,
}

impl Queue {
    pub(super) fn new(keeps_bodies: bool) -> Self {
        let state = Mutex::new(State::default());
        Self { keeps_bodies, state, filled: Condvar::new(), done: Condvar::new() }
    }

    pub(super) fn message(&self, now: Duration, message: &LoggedMessage<'_>) {
        let mut state = self.lock();
        state.enter(now.as_secs());
        let State { batch, rows_in_second, second, is_done, .. } = &mut *state;
        // Nothing takes records any more, so the queue must not grow.
        if *is_done {
            return;
        }
        if *rows_in_second >= MAX_ROWS_PER_SECOND || batch.rows.len() >= MAX_ROWS {
            batch.counts.add(*second, message);
        } else {
            *rows_in_second += 1;
            let body = self.keeps_bodies.then(|| batch.take_body(message.body)).flatten();
            batch.rows.push(MessageRecord::new(micros(now), message, body));
        }
        // One signal per batch: waking a thread costs more than queueing a message.
        if !state.is_filled {
            state.is_filled = true;
            self.filled.notify_one();
        }
    }

    /// Queues a finding. Returns its text if there is no thread left that would print it.
    pub(super) fn finding(
        &self,
        now: Duration,
        found: &Found,
        text: Option<String>,
    ) -> Option<String> {
        let mut state = self.lock();
        if state.is_done {
            return text;
        }
        state.enter(now.as_secs());
        let kind = kind(found);
        let is_over = state.findings_in_second >= MAX_FINDINGS_PER_SECOND
            || state.batch.findings.len() >= MAX_FINDINGS;
        let alike = state.batch.kinds.get(&kind).copied();
        let alike = alike.filter(|_| is_over);
        // A merged finding reuses the number of the first, so its text is printed with that commit.
        let seq = match alike.and_then(|index| state.batch.findings.get_mut(index)) {
            Some(finding) => {
                finding.count += 1;
                finding.seq
            }
            None => {
                let seq = state.next_seq();
                state.findings_in_second = state.findings_in_second.saturating_add(1);
                let Batch { findings, kinds, .. } = &mut state.batch;
                kinds.insert(kind, findings.len());
                findings.push(FindingRecord::new(seq, micros(now), found));
                seq
            }
        };
        if let Some(text) = text {
            state.texts.push_back((seq, text));
        }
        self.signal(&mut state);
        None
    }

    pub(super) fn event(&self, now: Duration, kind: &str, text: &str) {
        let mut state = self.lock();
        if state.batch.events.len() < MAX_EVENTS {
            let event = EventRecord::new(state.next_seq(), micros(now), kind, text);
            state.batch.events.push(event);
        }
        self.signal(&mut state);
    }

    pub(super) fn launch(&self, now: Duration, launch: &Launch) {
        let mut state = self.lock();
        if state.batch.launches.len() < MAX_EVENTS {
            let launch = LaunchRecord::new(state.next_seq(), micros(now), launch);
            state.batch.launches.push(launch);
        }
        self.signal(&mut state);
    }

    /// Tells the thread to finish, and waits for that up to `patience`.
    pub(super) fn end(&self, end: Option<(Duration, &str)>, patience: Duration) {
        let mut state = self.lock();
        // `drop` after `close` must not replace the outcome.
        if state.ending.is_some() {
            return;
        }
        state.ending = Some(patience);
        state.batch.end =
            end.map(|(now, outcome)| EndRecord { at: micros(now), outcome: outcome.to_owned() });
        self.signal(&mut state);
        let waited = self.done.wait_timeout_while(state, patience, |state| !state.is_done);
        drop(waited.map_err(PoisonError::into_inner));
    }

    /// Takes the texts of all findings up to this number, in order.
    pub(super) fn take_texts(&self, last: i64) -> Vec<String> {
        let mut state = self.lock();
        let (ready, rest) = state.texts.drain(..).partition(|(seq, _)| *seq <= last);
        state.texts = rest;
        let ready: VecDeque<(i64, String)> = ready;
        ready.into_iter().map(|(_, text)| text).collect()
    }

    /// Marks the thread as finished or never started.
    pub(super) fn finish(&self) {
        self.lock().is_done = true;
        self.done.notify_all();
    }

    /// Takes the queued records, once there are some or `patience` has passed. Waits up to `gather`
    /// for more, unless a record is urgent.
    pub(super) fn take(&self, patience: Duration, gather: Duration) -> Taken {
        // Both waits are loops around a condition, because a condition variable wakes spuriously.
        let is_idle = |state: &mut State| !state.is_filled && state.ending.is_none();
        let waited = self.filled.wait_timeout_while(self.lock(), patience, is_idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.is_filled {
            let is_calm = |state: &mut State| !state.is_urgent && state.ending.is_none();
            let waited = self.filled.wait_timeout_while(state, gather, is_calm);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_filled = false;
        state.is_urgent = false;
        let batch = std::mem::take(&mut state.batch);
        Taken { batch, last_seq: state.last_seq, ending: state.ending }
    }

    fn signal(&self, state: &mut State) {
        state.is_filled = true;
        if !state.is_urgent {
            state.is_urgent = true;
            self.filled.notify_one();
        }
    }

    /// Locks the queue. A poisoned lock is safe to use, because each change is a single push.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Starts a new second. The time never goes back.
    fn enter(&mut self, second: u64) {
        if self.second < second {
            self.second = second;
            self.rows_in_second = 0;
            self.findings_in_second = 0;
        }
    }

    fn next_seq(&mut self) -> i64 {
        self.last_seq += 1;
        self.last_seq
    }
}

impl Batch {
    /// Copies the text of a message if the limit on all texts allows it.
    fn take_body(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let body = body.get(..MAX_BODY_BYTES).unwrap_or(body);
        let sum = self.body_bytes + body.len();
        (sum <= MAX_BODIES_BYTES).then(|| {
            self.body_bytes = sum;
            body.to_vec()
        })
    }

    /// Adds a later batch. Findings over the limit are merged.
    pub(super) fn append(&mut self, later: Self) {
        // The indexes refer to the queue's own batch, not to this one.
        self.kinds.clear();
        // All texts of a batch are kept or none: a row without a text is still complete.
        let has_room = self.body_bytes + later.body_bytes <= MAX_BODIES_BYTES;
        self.body_bytes += if has_room { later.body_bytes } else { 0 };
        self.rows.extend(later.rows.into_iter().map(|mut row| {
            row.body = row.body.filter(|_| has_room);
            row
        }));
        for count in later.counts.all {
            self.counts.merge(&count);
        }
        for finding in later.findings {
            self.append_finding(finding);
        }
        self.events.extend(later.events);
        self.events.truncate(MAX_EVENTS);
        self.launches.extend(later.launches);
        self.launches.truncate(MAX_EVENTS);
        // A session ends once, so at most one of them is set.
        self.end = later.end.or(self.end.take());
    }

    fn append_finding(&mut self, finding: FindingRecord) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
            return;
        }
        let is_alike = |other: &&mut FindingRecord| {
            other.rule == finding.rule
                && other.severity == finding.severity
                && other.direction == finding.direction
                && other.action == finding.action
        };
        // Searches from the end, because findings of one kind arrive together.
        match self.findings.iter_mut().rev().find(is_alike) {
            Some(other) => other.count += finding.count,
            None => self.findings.push(finding),
        }
    }

    /// Converts times of a session that began at `base` into times since 1970.
    pub(super) fn settle(&mut self, base: i64) {
        for row in &mut self.rows {
            row.at = row.at.saturating_add(base);
        }
        self.counts.settle(base);
        let findings = self.findings.iter_mut().map(|it| &mut it.at);
        let events = self.events.iter_mut().map(|it| &mut it.at);
        let launches = self.launches.iter_mut().map(|it| &mut it.at);
        let ends = self.end.iter_mut().map(|it| &mut it.at);
        for at in findings.chain(events).chain(launches).chain(ends) {
            *at = at.saturating_add(base);
        }
    }

    /// Redacts texts. The texts of messages are redacted later, when they are shortened.
    pub(super) fn redact(&mut self) {
        for finding in &mut self.findings {
            redact::redact_text(&mut finding.excerpt);
            redact::redact_text(&mut finding.detail);
        }
        for event in &mut self.events {
            redact::redact_text(&mut event.text);
        }
        for launch in &mut self.launches {
            launch.argv = redact::redact_command(&launch.argv);
        }
    }

    /// Converts rows into counters, for a spill file without rows.
    pub(super) fn count_rows(&mut self) {
        for row in self.rows.drain(..) {
            self.counts.add_row(u64::try_from(row.at / SECOND).unwrap_or(0), &row);
        }
        self.body_bytes = 0;
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
