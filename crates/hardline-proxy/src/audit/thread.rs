//! The audit writer thread: commits queued records in batches, retries with backoff, and spills to
//! a file beside the database while the database cannot be written.
//!
//! After [`MAX_SILENCE`] without success, a batch goes to the spill file and the texts of its
//! findings are printed. The file is imported when the database can be written again.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hardline_wire::backoff::Backoff;

use super::clock::Clock;
use super::queue::Batch;
use super::spill::{self, Spill};
use super::store::{self, Store, StoreError};
use super::table::SessionRecord;
use super::writer::Shared;
use super::{Options, Output, Retention, SessionStart};

/// Time in which messages are collected into one batch.
const GATHER: Duration = Duration::from_millis(250);
/// Pause after a batch with findings, so that further findings share one commit.
const REST: Duration = Duration::from_millis(20);
/// Longest time that the text of a finding waits for the database. After it, the text is printed
/// anyway.
const MAX_SILENCE: Duration = Duration::from_secs(2);
/// Delays before the batch is tried again.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), MAX_RETRY);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// Interval between checks of the database's size.
const LOOK: Duration = Duration::from_secs(15);
/// Interval at which one of all processes deletes old records.
const PRUNE: Duration = Duration::from_secs(60 * 60);

pub(super) struct WriterThread<'a> {
    shared: &'a Shared,
    path: PathBuf,
    retention: Retention,
    session: SessionRecord,
    clock: Clock,
    store: Option<Store>,
    /// Records that are not written yet, with times since 1970.
    backlog: Batch,
    /// Number of the last finding in the backlog.
    last_seq: i64,
    /// True once the session has a row in the database.
    is_begun: bool,
    /// Time of the first failure in a row, and the reason of the last one.
    failing: Option<(Instant, String)>,
    retry_at: Instant,
    retry: Backoff,
    spill: Option<Spill>,
    /// Number of spill files created so far; part of their names.
    spills: u32,
    has_warned: bool,
    prune_at: Instant,
    is_pruning: bool,
    /// True if records were written since the last check of the size.
    has_written: bool,
    /// Set when the session ends: the time for which the caller waits for this thread.
    ending: Option<Duration>,
}

impl<'a> WriterThread<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        options: Options,
        session: SessionStart,
        clock: Clock,
    ) -> Self {
        let started = clock.base();
        let key = RandomState::new().hash_one((session.pid, started));
        let session = SessionRecord::new(session, key, started);
        let now = clock.now();
        Self {
            shared,
            path: options.path,
            retention: options.retention,
            session,
            clock,
            store: None,
            backlog: Batch::default(),
            last_seq: 0,
            is_begun: false,
            failing: None,
            retry_at: now,
            retry: BACKOFF,
            spill: None,
            spills: 0,
            has_warned: false,
            prune_at: now + LOOK,
            is_pruning: false,
            has_written: false,
            ending: None,
        }
    }

    /// Runs until the session ends.
    pub(super) fn run(mut self) {
        self.write();
        loop {
            let has_findings = self.take();
            self.write();
            if let Some(patience) = self.ending {
                return self.end(patience);
            }
            if self.prune_at <= self.clock.now() {
                self.prune();
            }
            if has_findings {
                sleep(REST);
            }
        }
    }

    /// Waits for records and adds them to the backlog. Returns true if findings are among them.
    fn take(&mut self) -> bool {
        let now = self.clock.now();
        let is_behind = !self.is_begun || !self.backlog.is_empty() || self.spill.is_some();
        let mut next = if is_behind {
            self.retry_at
        } else if self.has_written {
            self.prune_at
        } else {
            // Without new records the database cannot have grown, so the next check can wait.
            now + PRUNE
        };
        // Wakes in time to print findings that have waited for MAX_SILENCE.
        if let Some((since, _)) = &self.failing
            && now < *since + MAX_SILENCE
        {
            next = next.min(*since + MAX_SILENCE);
        }
        let mut taken = self.shared.queue.take(next.saturating_duration_since(now), GATHER);
        self.ending = taken.ending;
        self.last_seq = taken.last_seq;
        // The queue counts from the start of the session; records are stored with wall-clock times.
        taken.batch.settle(self.clock.base());
        taken.batch.redact();
        let has_findings = !taken.batch.findings.is_empty();
        self.backlog.append(taken.batch);
        has_findings
    }

    /// Writes the backlog, or spills it if the database has failed for too long.
    fn write(&mut self) {
        if self.is_begun && self.backlog.is_empty() && self.spill.is_none() {
            return;
        }
        let now = self.clock.now();
        // At the end of a session there is no later retry.
        if self.failing.is_none() || self.retry_at <= now || self.ending.is_some() {
            match self.try_write() {
                Ok(()) => return self.succeed(),
                Err(error) => self.fail(&error),
            }
        }
        let now = self.clock.now();
        if self.failing.as_ref().is_some_and(|(since, _)| *since + MAX_SILENCE <= now) {
            self.spill_backlog();
        }
    }

    fn try_write(&mut self) -> Result<(), StoreError> {
        let now = self.clock.wall();
        // On any error the store stays closed, so the next attempt opens it anew.
        let mut store = match self.store.take() {
            Some(store) => store,
            None => {
                let mut store = Store::open(&self.path)?;
                let lost = spill::import_all(&mut store, &self.path, now)?;
                self.report_lost(lost);
                store
            }
        };
        // Before the batch, so that the rows of a session are in their order.
        if let Some(spill) = &self.spill {
            let lost = spill::import(&mut store, spill.path(), now)?;
            self.spill = None;
            self.report_lost(lost);
        }
        store.write(&self.session, &self.backlog, now)?;
        self.store = Some(store);
        Ok(())
    }

    /// Warns about records of spill files that cannot be read. Their file is gone now.
    fn report_lost(&self, lost: usize) {
        if lost > 0 {
            self.warn(&format!("lacks {lost} records of a spill file: their lines cannot be read"));
        }
    }

    fn succeed(&mut self) {
        self.is_begun = true;
        self.has_written = true;
        self.backlog = Batch::default();
        self.retry.reset();
        // Only after the commit: a printed finding is always in the log.
        self.shared.print_up_to(self.last_seq);
        let was_failing = self.failing.take().is_some() && self.has_warned;
        if was_failing && self.ending.is_none() {
            self.warn("is writable again; the records from the outage were added");
        }
    }

    fn fail(&mut self, error: &StoreError) {
        let now = self.clock.now();
        // If nothing is moved, another process was faster, or moving failed and is tried again.
        if error.is_damage()
            && let Ok(Some(aside)) = store::mend(&self.path, self.clock.wall())
        {
            let aside = aside.display();
            self.warn(&format!("is broken ({error}): it was moved to {aside}"));
        }
        // No retry helps against a final error, so the batch is spilled at once.
        let since = match &self.failing {
            _ if error.is_final() => now.checked_sub(MAX_SILENCE).unwrap_or(now),
            Some((since, _)) => *since,
            None => now,
        };
        let wait = if error.is_final() { MAX_RETRY } else { self.retry.peek() };
        self.failing = Some((since, error.to_string()));
        self.retry_at = now + wait;
        if since + MAX_SILENCE <= now {
            self.retry.next_delay();
        }
    }

    /// Writes the backlog to the spill file and prints the waiting texts, even if the file fails.
    fn spill_backlog(&mut self) {
        // A spill file has no message rows: they would fill it within seconds.
        self.backlog.count_rows();
        let spilled = if self.backlog.is_empty() { Ok(()) } else { self.write_spill() };
        let why = self.failing.as_ref().map_or("", |(_, why)| why.as_str());
        let what = match &spilled {
            Ok(()) => format!("cannot be written ({why}): records go to a spill file beside it"),
            Err(error) => {
                format!("cannot be written ({why}), and neither can a spill file ({error})")
            }
        };
        // One warning per session is enough.
        if !std::mem::replace(&mut self.has_warned, true) {
            self.warn(&what);
        }
        self.shared.print_up_to(self.last_seq);
    }

    fn write_spill(&mut self) -> std::io::Result<()> {
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => {
                let spill = Spill::create(&self.path, &self.session, self.spills)?;
                self.spills += 1;
                spill
            }
        };
        let taken = spill.take(&mut self.backlog);
        // Kept even after an error: what it took is no longer in the backlog.
        self.spill = Some(spill);
        taken
    }

    /// Ends the session: in the database if it can be written in time, else in the spill file.
    fn end(mut self, patience: Duration) {
        // Leaves half of the time for the spill file and for printing.
        let until = self.clock.now() + patience / 2;
        while let Some((since, _)) = &self.failing {
            let now = self.clock.now();
            if until <= now || *since + MAX_SILENCE <= now {
                break;
            }
            sleep(BACKOFF.peek().min(patience / 4));
            self.write();
        }
        if self.failing.is_none() {
            return;
        }
        self.spill_backlog();
        let count: u64 = self.backlog.findings.iter().map(|it| it.count).sum();
        if count > 0 {
            self.warn(&format!("does not contain these findings, {count} in all:"));
            let findings = self.backlog.findings.iter().map(ToString::to_string).collect();
            self.shared.print(Output::Unstored(findings));
        }
    }

    /// Deletes some records that are too old or too many, if it is the turn of this process.
    fn prune(&mut self) {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        self.prune_at = now + LOOK;
        // Without an open store or with a busy database, pruning waits for the next interval.
        let Some(store) = &mut self.store else { return };
        if !self.is_pruning {
            let every = i64::try_from(PRUNE.as_micros()).unwrap_or(i64::MAX);
            let is_over = || store.is_over(self.retention.max_bytes);
            let is_turn = store.claims_pruning(wall, every);
            self.is_pruning =
                is_turn.and_then(|it| if it { Ok(it) } else { is_over() }).unwrap_or(false);
        }
        self.is_pruning =
            self.is_pruning && store.prune(&self.retention, wall).is_ok_and(|it| it.is_some());
        self.has_written = self.is_pruning;
        // There is more to delete: continue after the next batch instead of blocking it.
        if self.is_pruning {
            self.prune_at = now;
        }
    }

    fn warn(&self, what: &str) {
        let path = self.path.display();
        self.shared.print(Output::Warning(format!("the audit database {path} {what}")));
    }
}
