//! The thread that waits for a child, and the only hands that signal it.
//!
//! Invariants:
//! - The thread exists before the child does, so that no child is ever without one.
//! - It needs no runtime, and ends when the child is reaped.
//! - The child is signalled and reaped under one lock: after it is reaped, its id is not used.
//! - A kept child is signalled through its keeper alone. Only a keeper that does not do its work within
//!   [`KEEPER_TIME`] is killed, after all it keeps.
//! - What outlives a keeper is ended before the keeper's end is told, where orphans come to us.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process};
use tokio::sync::watch;

use super::exit::Status;
use super::keeper::KILL_SIGNAL;
use super::tree::Tree;
use super::{now, orphan};

/// How long a keeper may take to kill the tree.
const KEEPER_TIME: Duration = Duration::from_secs(1);
/// How long a killed process may take to be gone before it is given up.
const KILL_TIME: Duration = Duration::from_secs(1);
/// Between two looks at what is left: the first, then twice as long each time, up to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));
/// Enough for whatever listens to `tracing`; only what is used takes memory.
const STACK_BYTES: usize = 256 << 10;

/// A child until it is reaped.
#[derive(Debug)]
pub(super) struct Supervisor {
    leader: Pid,
    is_kept: bool,
    /// How long what the child leaves behind may take after `SIGTERM`.
    leftovers: Duration,
    state: Mutex<State>,
    /// Told when the child is reaped.
    reaped: Condvar,
    status: watch::Sender<Option<Status>>,
}

#[derive(Debug)]
struct State {
    /// Whether the id may be somebody else's.
    is_reaped: bool,
    is_killed: bool,
    tree: Tree,
}

/// A thread that waits for a child to wait for.
#[derive(Debug)]
pub(super) struct Seat {
    sender: SyncSender<Arc<Supervisor>>,
}

impl Seat {
    pub(super) fn new() -> io::Result<Self> {
        let (sender, receiver) = sync_channel::<Arc<Supervisor>>(1);
        let body = move || {
            // Nobody comes if the child could not be started.
            if let Ok(supervisor) = receiver.recv() {
                supervisor.supervise();
            }
        };
        thread::Builder::new().name("hardline-child".into()).stack_size(STACK_BYTES).spawn(body)?;
        Ok(Self { sender })
    }

    /// Begins to supervise a child that was just started as the leader of its group.
    pub(super) fn take(self, leader: Pid, is_kept: bool, leftovers: Duration) -> Arc<Supervisor> {
        let state = State { is_reaped: false, is_killed: false, tree: Tree::new(leader) };
        let supervisor = Arc::new(Supervisor {
            leader,
            is_kept,
            leftovers,
            state: Mutex::new(state),
            reaped: Condvar::new(),
            status: watch::Sender::new(None),
        });
        // The thread holds the receiver until it has received.
        let _ = self.sender.send(Arc::clone(&supervisor));
        supervisor
    }
}

impl Supervisor {
    pub(super) fn id(&self) -> u32 {
        self.leader.as_raw_nonzero().get().unsigned_abs()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Option<Status>> {
        self.status.subscribe()
    }

    /// Asks the whole tree to end.
    pub(super) fn terminate(&self) {
        let mut state = self.lock();
        if state.is_reaped {
            return;
        }
        tracing::debug!(pid = self.id(), "terminating a child");
        if self.is_kept {
            let _ = kill_process(self.leader, Signal::TERM);
        } else {
            state.tree.terminate();
        }
    }

    /// Kills the whole tree, without waiting for its end.
    pub(super) fn kill(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.is_reaped {
            return;
        }
        let is_first = !state.is_killed;
        state.is_killed = true;
        if !self.is_kept {
            tracing::debug!(pid = self.id(), "killing a child");
            state.tree.kill();
            return;
        }
        tracing::debug!(pid = self.id(), "telling a keeper to kill");
        let _ = kill_process(self.leader, KILL_SIGNAL);
        if is_first {
            let this = Arc::clone(self);
            let builder = thread::Builder::new().name("hardline-kill".into());
            if builder.stack_size(STACK_BYTES).spawn(move || this.check_keeper()).is_err() {
                state.tree.kill();
            }
        }
    }

    /// Kills the tree and its keeper if the keeper does not.
    fn check_keeper(&self) {
        let state = self.lock();
        let wait = self.reaped.wait_timeout_while(state, KEEPER_TIME, |it| !it.is_reaped);
        let (mut state, timeout) = wait.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && !state.is_reaped {
            tracing::debug!(pid = self.id(), "a keeper does not kill: killing it as well");
            state.tree.kill();
        }
    }

    fn supervise(&self) {
        let status = match self.wait_for_leader() {
            Ok(()) => {
                // A keeper ends after all that it keeps, unless something killed it.
                let is_lost = self.is_kept && orphan::end_orphans();
                if !self.is_kept {
                    self.end_leftovers();
                }
                self.reap(is_lost)
            }
            Err(_) => {
                self.lock().is_reaped = true;
                orphan::forget(self.leader);
                Status::Taken
            }
        };
        self.reaped.notify_all();
        tracing::debug!(pid = self.id(), %status, "a child ended");
        self.status.send_replace(Some(status));
    }

    /// Blocks until the leader has ended, and leaves it unreaped, so that its id stays its own.
    fn wait_for_leader(&self) -> Result<(), Errno> {
        let mut options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if self.is_kept {
            options |= WaitIdOptions::STOPPED;
        }
        loop {
            match rustix::process::waitid(WaitId::Pid(self.leader), options) {
                Err(Errno::INTR) => {}
                Ok(Some(status)) if status.stopped() => self.resume_keeper(),
                outcome => return outcome.map(|_| ()),
            }
        }
    }

    /// Has a keeper go on that was stopped: it could not end its tree if we were killed now.
    fn resume_keeper(&self) {
        // The stop is told only once if it is taken note of without `NOWAIT`.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let _ = rustix::process::waitid(WaitId::Pid(self.leader), options);
        tracing::debug!(pid = self.id(), "a keeper was stopped: continuing it");
        let _ = kill_process(self.leader, Signal::CONT);
    }

    /// Ends what outlived its leader.
    fn end_leftovers(&self) {
        let start = now();
        let mut pause = PAUSES.0;
        let mut is_terminated = false;
        loop {
            let mut state = self.lock();
            if !state.tree.has_others() {
                break;
            }
            let elapsed = start.elapsed();
            if self.leftovers.saturating_add(KILL_TIME) < elapsed {
                tracing::debug!(pid = self.id(), "a descendant does not end");
                break;
            }
            if state.is_killed || self.leftovers < elapsed {
                state.tree.kill();
            } else if !is_terminated {
                is_terminated = true;
                state.tree.terminate();
            }
            drop(state);
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Reaps the leader. `is_lost` says that a keeper left something behind.
    fn reap(&self, is_lost: bool) -> Status {
        let mut state = self.lock();
        if !self.is_kept {
            // Where nobody can be seen, somebody may still be there.
            let _ = rustix::process::kill_process_group(self.leader, Signal::KILL);
        }
        state.is_reaped = true;
        match orphan::reap(self.leader) {
            // The keeper died of its orders: it did not listen yet, and had started nothing.
            Ok(Some((_, status)))
                if self.is_kept
                    && state.is_killed
                    && status.terminating_signal() == Some(KILL_SIGNAL.as_raw()) =>
            {
                Status::Known(ExitStatus::from_raw(Signal::KILL.as_raw()))
            }
            Ok(Some((_, status))) => {
                let known = ExitStatus::from_raw(status.as_raw());
                let is_lost = is_lost && !state.is_killed;
                if is_lost { Status::KeeperLost(known) } else { Status::Known(known) }
            }
            Ok(None) | Err(_) => Status::Taken,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
