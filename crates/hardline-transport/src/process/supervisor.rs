//! The thread that waits for a child, and the only code that signals it.
//!
//! Invariants:
//! - The thread exists before the child does, so that no child is ever without one.
//! - It needs no runtime, and ends when the child is reaped.
//! - The child is signalled and reaped under one lock: after it is reaped, its id is not used.
//! - A child with a keeper is signalled through the keeper alone. Only a keeper that does not do
//!   its work within [`KEEPER_TIME`] is killed, after all processes it keeps.
//! - Where orphans are adopted, processes that outlive a keeper are killed before the keeper's end
//!   is reported.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hardline_wire::backoff::Backoff;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process};
use tokio::sync::watch;

use super::exit::Status;
use super::keeper::KILL_SIGNAL;
use super::tree::Tree;
use super::{now, orphan};

/// Time for a keeper to kill the tree.
const KEEPER_TIME: Duration = Duration::from_secs(1);
/// Time for a killed process to disappear before we give up.
const KILL_TIME: Duration = Duration::from_secs(1);
/// Pauses between two checks.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(2), Duration::from_millis(100));
/// Stack size of the thread: enough for any `tracing` subscriber. Only used pages take memory.
const STACK_BYTES: usize = 256 << 10;

/// A child until it is reaped.
#[derive(Debug)]
pub(super) struct Supervisor {
    leader: Pid,
    is_kept: bool,
    /// Time between `SIGTERM` and `SIGKILL` for processes that outlive the child.
    leftovers: Duration,
    state: Mutex<State>,
    /// Notified when the child is reaped.
    reaped: Condvar,
    status: watch::Sender<Option<Status>>,
}

#[derive(Debug)]
struct State {
    /// True if another process may have the id.
    is_reaped: bool,
    is_killed: bool,
    tree: Tree,
}

/// A thread that waits for its child to be started.
#[derive(Debug)]
pub(super) struct Seat {
    sender: SyncSender<Arc<Supervisor>>,
}

impl Seat {
    pub(super) fn new() -> io::Result<Self> {
        let (sender, receiver) = sync_channel::<Arc<Supervisor>>(1);
        let body = move || {
            // If the child cannot be started, the sender is dropped.
            if let Ok(supervisor) = receiver.recv() {
                supervisor.supervise();
            }
        };
        thread::Builder::new().name("hardline-child".into()).stack_size(STACK_BYTES).spawn(body)?;
        Ok(Self { sender })
    }

    /// Starts to supervise a child that was just started as the leader of its group.
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
        // Cannot fail: the thread holds the receiver until it has received.
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

    /// Sends `SIGTERM` to the whole tree.
    pub(super) fn terminate(&self) {
        let mut state = self.lock();
        if state.is_reaped {
            return;
        }
        tracing::debug!(pid = self.id(), "terminating a child");
        if self.is_kept {
            // The keeper passes the signal on to all that it keeps.
            let _ = kill_process(self.leader, Signal::TERM);
        } else {
            state.tree.terminate();
        }
    }

    /// Kills the whole tree without waiting for its end.
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
        // One thread is enough, however often the child is killed.
        if is_first {
            let this = Arc::clone(self);
            let builder = thread::Builder::new().name("hardline-kill".into());
            if builder.stack_size(STACK_BYTES).spawn(move || this.check_keeper()).is_err() {
                // Without a thread to check the keeper, kill the tree at once.
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
            tracing::debug!(
                pid = self.id(),
                "a keeper did not kill its tree in time: killing both"
            );
            state.tree.kill();
        }
    }

    fn supervise(&self) {
        let status = match self.wait_for_leader() {
            Ok(()) => {
                // A keeper ends after all processes it keeps, unless it was killed itself.
                let is_lost = self.is_kept && orphan::end_orphans();
                if !self.is_kept {
                    self.end_leftovers();
                }
                self.reap(is_lost)
            }
            // Other code in this process reaped the child, so its id may be reused any time.
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

    /// Blocks until the leader has ended. Leaves it unreaped, so that its id is not reused.
    fn wait_for_leader(&self) -> Result<(), Errno> {
        // `NOWAIT` leaves the child unreaped, so that its id cannot be used again meanwhile.
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

    /// Continues a keeper that was stopped: while stopped, it could not end its tree if we were
    /// killed.
    fn resume_keeper(&self) {
        // Waiting without `NOWAIT` consumes the notification, so the stop is reported only once.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let _ = rustix::process::waitid(WaitId::Pid(self.leader), options);
        tracing::debug!(pid = self.id(), "a keeper was stopped: continuing it");
        let _ = kill_process(self.leader, Signal::CONT);
    }

    /// Ends the processes that outlived their leader.
    fn end_leftovers(&self) {
        let start = now();
        let mut pauses = PAUSES;
        let mut is_terminated = false;
        loop {
            let mut state = self.lock();
            if !state.tree.find_others() {
                break;
            }
            let elapsed = start.elapsed();
            if elapsed > self.leftovers.saturating_add(KILL_TIME) {
                tracing::debug!(pid = self.id(), "a descendant survived SIGKILL: giving up");
                break;
            }
            if state.is_killed || elapsed > self.leftovers {
                state.tree.kill();
            } else if !is_terminated {
                is_terminated = true;
                state.tree.terminate();
            }
            drop(state);
            thread::sleep(pauses.next_delay());
        }
    }

    /// Reaps the leader. `is_lost` means that the keeper left processes behind.
    fn reap(&self, is_lost: bool) -> Status {
        let mut state = self.lock();
        if !self.is_kept {
            // Without `/proc`, the group may still have members that we cannot see.
            let _ = rustix::process::kill_process_group(self.leader, Signal::KILL);
        }
        state.is_reaped = true;
        match orphan::reap(self.leader) {
            // The kill signal ended the keeper itself: it had not installed its handler yet, and
            // had started no program.
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
