//! The thread that writes, from inside: what it does with what was queued, and what it does when it cannot.
//!
//! A batch is tried until it is written. If that takes too long, it goes to a file beside the database, and
//! the texts of its findings are told; the file is read in when the database can be written again.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::queue::Waiting;
use super::record::Session;
use super::spill::{self, Spill};
use super::store::{self, Store, StoreError};
use super::writer::Shared;
use super::{Options, Retention, SessionStart, Tell};
use crate::redact;

/// How long messages are gathered before they are written.
const GATHER: Duration = Duration::from_millis(250);
/// How long nothing is written after a finding was, so that many come together.
const REST: Duration = Duration::from_millis(20);
/// How long a finding waits for a database that cannot be written, before it is told all the same.
const MAX_SILENCE: Duration = Duration::from_secs(2);
/// When the database is tried again: soon at first, then ever later.
const RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// How often it is asked whether there is too much, and how often one of all processes drops what is old.
const LOOK: Duration = Duration::from_secs(15);
const PRUNE: Duration = Duration::from_secs(60 * 60);

pub(super) struct Desk<'a> {
    shared: &'a Shared,
    path: PathBuf,
    retention: Retention,
    session: Session,
    clock: Clock,
    store: Option<Store>,
    /// What is not written yet, with times since 1970.
    backlog: Waiting,
    /// The number of the last finding in it.
    last_seq: i64,
    /// Whether the session itself is written.
    is_begun: bool,
    /// Since when the database cannot be written, and why.
    failing: Option<(Instant, String)>,
    retry_at: Instant,
    retry: Duration,
    spill: Option<Spill>,
    /// How many such files there were.
    spills: u32,
    has_warned: bool,
    prune_at: Instant,
    is_pruning: bool,
    /// Whether something was written since it was asked whether there is too much.
    has_written: bool,
    /// How long whoever ends the session waits for us.
    ending: Option<Duration>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        options: Options,
        session: SessionStart,
        clock: Clock,
    ) -> Self {
        let started = clock.base();
        let key = RandomState::new().hash_one((session.pid, started));
        let cwd = session.cwd.map(|path| path.to_string_lossy().into_owned());
        let session = Session {
            key: format!("{key:016x}"),
            server: session.server,
            command: redact::redact_command(&session.command),
            profile: session.profile,
            version: session.version,
            pid: session.pid,
            cwd,
            started,
        };
        let now = clock.now();
        Self {
            shared,
            path: options.path,
            retention: options.retention,
            session,
            clock,
            store: None,
            backlog: Waiting::default(),
            last_seq: 0,
            is_begun: false,
            failing: None,
            retry_at: now,
            retry: RETRY,
            spill: None,
            spills: 0,
            has_warned: false,
            prune_at: now + LOOK,
            is_pruning: false,
            has_written: false,
            ending: None,
        }
    }

    /// Works until the session ends.
    pub(super) fn work(mut self) {
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

    /// Waits for something to do. Returns whether there are findings in it.
    fn take(&mut self) -> bool {
        let now = self.clock.now();
        let is_behind = !self.is_begun || !self.backlog.is_empty() || self.spill.is_some();
        let mut next = match self.has_written {
            _ if is_behind => self.retry_at,
            true => self.prune_at,
            // Nothing is too much that was not a while ago.
            false => now + PRUNE,
        };
        if let Some((since, _)) = &self.failing
            && now < *since + MAX_SILENCE
        {
            next = next.min(*since + MAX_SILENCE);
        }
        let mut taken = self.shared.queue.take(next.saturating_duration_since(now), GATHER);
        self.ending = taken.ending;
        self.last_seq = taken.last_seq;
        taken.waiting.settle(self.clock.base());
        taken.waiting.redact();
        let has_findings = !taken.waiting.findings.is_empty();
        self.backlog.append(taken.waiting);
        has_findings
    }

    /// Writes what there is, or does what is done instead.
    fn write(&mut self) {
        if self.is_begun && self.backlog.is_empty() && self.spill.is_none() {
            return;
        }
        let now = self.clock.now();
        if self.failing.is_none() || self.retry_at <= now || self.ending.is_some() {
            match self.try_write() {
                Ok(()) => return self.succeed(),
                Err(error) => self.fail(&error),
            }
        }
        let now = self.clock.now();
        if self.failing.as_ref().is_some_and(|(since, _)| *since + MAX_SILENCE <= now) {
            self.set_aside();
        }
    }

    fn try_write(&mut self) -> Result<(), StoreError> {
        let now = self.clock.wall();
        // Whatever goes wrong, it is opened anew.
        let mut store = match self.store.take() {
            Some(store) => store,
            None => {
                let mut store = Store::open(&self.path)?;
                spill::import_all(&mut store, &self.path, now)?;
                store
            }
        };
        if let Some(spill) = &self.spill {
            spill::import(&mut store, spill.path(), now)?;
            self.spill = None;
        }
        store.write(&self.session, &self.backlog, now)?;
        self.store = Some(store);
        Ok(())
    }

    fn succeed(&mut self) {
        self.is_begun = true;
        self.has_written = true;
        self.backlog = Waiting::default();
        self.retry = RETRY;
        self.shared.tell_up_to(self.last_seq);
        let was_aside = self.failing.take().is_some() && self.has_warned;
        if was_aside && self.ending.is_none() {
            self.tell_warning("it can be written again, and has what happened in between");
        }
    }

    fn fail(&mut self, error: &StoreError) {
        let now = self.clock.now();
        // Somebody else did, or nothing can be done now, if it is not moved.
        if error.is_damage()
            && let Ok(Some(aside)) = store::mend(&self.path, self.clock.wall())
        {
            let aside = aside.display();
            self.tell_warning(&format!("is broken ({error}): it was moved to {aside}"));
        }
        let since = match &self.failing {
            _ if error.is_final() => now.checked_sub(MAX_SILENCE).unwrap_or(now),
            Some((since, _)) => *since,
            None => now,
        };
        let wait = if error.is_final() { MAX_RETRY } else { self.retry };
        self.failing = Some((since, error.to_string()));
        self.retry_at = now + wait;
        if since + MAX_SILENCE <= now {
            self.retry = (self.retry * 2).min(MAX_RETRY);
        }
    }

    /// Puts the backlog into a file, and tells what waits to be told, whether that works or not.
    fn set_aside(&mut self) {
        self.backlog.count_rows();
        let spilled = if self.backlog.is_empty() { Ok(()) } else { self.write_aside() };
        let why = self.failing.as_ref().map_or("", |(_, why)| why.as_str());
        let what = match &spilled {
            Ok(()) => format!("cannot be written ({why}): a file beside it takes its place"),
            Err(error) => {
                format!("cannot be written ({why}), nor can a file beside it ({error})")
            }
        };
        if !std::mem::replace(&mut self.has_warned, true) {
            self.tell_warning(&what);
        }
        self.shared.tell_up_to(self.last_seq);
    }

    fn write_aside(&mut self) -> std::io::Result<()> {
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => {
                let spill = Spill::create(&self.path, &self.session, self.spills)?;
                self.spills += 1;
                spill
            }
        };
        let taken = spill.take(&mut self.backlog);
        self.spill = Some(spill);
        taken
    }

    /// Ends the session: in the database if it can be written in time, else in the file.
    fn end(mut self, patience: Duration) {
        let until = self.clock.now() + patience / 2;
        while let Some((since, _)) = &self.failing {
            let now = self.clock.now();
            if until <= now || *since + MAX_SILENCE <= now {
                break;
            }
            sleep(RETRY.min(patience / 4));
            self.write();
        }
        if self.failing.is_none() {
            return;
        }
        self.set_aside();
        let count: u64 = self.backlog.findings.iter().map(|it| it.count).sum();
        if 0 < count {
            self.tell_warning(&format!("could not take these findings, {count} in all:"));
            let findings = self.backlog.findings.iter().map(ToString::to_string).collect();
            self.shared.tell(Tell::Unkept(findings));
        }
    }

    /// Drops a little of what is too old or too much, if it is our turn.
    fn prune(&mut self) {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        self.prune_at = now + LOOK;
        // A database that is busy is pruned another time.
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
        if self.is_pruning {
            self.prune_at = now;
        }
    }

    fn tell_warning(&self, what: &str) {
        let path = self.path.display();
        self.shared.tell(Tell::Warning(format!("the audit database {path} {what}")));
    }
}
