//! Orphaned descendants whose keeper is gone, and the list of children that this process started.
//!
//! A server runs as the same user as we do, so it can kill its [keeper](super::Keeper). The kernel
//! then moves the keeper's processes to the next reaper above it: to us, if [`adopt_orphans`] was
//! called. A child of ours that we did not start is such an orphan, and is killed.
//!
//! Invariants:
//! - A child is in the list from its start until it is reaped, under one lock: a process that we
//!   started is never mistaken for an orphan.
//! - An orphan is signalled only while it is not reaped, and no other process reaps it.

use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hardline_wire::backoff::Backoff;
use rustix::process::{Pid, WaitOptions, WaitStatus};
#[cfg(target_os = "linux")]
use rustix::process::{WaitId, WaitIdOptions};

use super::now;
#[cfg(target_os = "linux")]
use super::{
    proc::{self, Entry},
    tree,
};

/// Time for killed orphans to disappear before we give up: longer than a search for them takes.
#[cfg(target_os = "linux")]
const KILL_TIME: Duration = Duration::from_secs(2);
/// Pauses between two checks.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(2), Duration::from_millis(50));

#[derive(Debug)]
struct Children {
    /// Children that we started and did not reap. Never more than are alive at once.
    started: Vec<Pid>,
    /// Children that existed before we adopted orphans, started by code that ran in this process
    /// before. They are not reaped here, so that no other child gets their ids.
    #[cfg(target_os = "linux")]
    foreign: Vec<Pid>,
    adopts: bool,
}

static CHILDREN: Mutex<Children> = Mutex::new(Children {
    started: Vec::new(),
    #[cfg(target_os = "linux")]
    foreign: Vec::new(),
    adopts: false,
});

/// Makes this process the parent of every descendant that loses its own (Linux), and kills those
/// that lose their [keeper](super::Keeper).
///
/// For programs that start children with [`Command`](super::Command) alone: any other child that
/// did not exist before is taken for an orphan, and killed when a keeper ends. The effect is
/// process-wide and permanent. On other systems this function does nothing.
///
/// # Errors
///
/// If the kernel is older than Linux 3.4.
pub fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let this = rustix::process::getpid();
        let mut children = lock();
        if children.adopts {
            return Ok(());
        }
        // The search through all processes costs more than the rest of a start.
        let all = if has_children() { proc::snapshot() } else { Vec::new() };
        let foreign = all.iter().filter(|it| is_orphan(&children, it)).map(|it| it.process.pid);
        children.foreign = foreign.collect();
        // After the snapshot: from here on, a new child may be an orphan.
        rustix::process::set_child_subreaper(Some(this))?;
        children.adopts = true;
    }
    Ok(())
}

/// Returns true if this process has children, or might have some.
#[cfg(target_os = "linux")]
fn has_children() -> bool {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::All, any), Err(rustix::io::Errno::CHILD))
}

/// Ends every descendant, if [`adopt_orphans`] was called. Call it last, when no more processes
/// will be started. Children that were told to end have `patience` to do so.
pub fn end_descendants(patience: Duration) {
    if !lock().adopts {
        return;
    }
    let start = now();
    while !lock().started.is_empty() && start.elapsed() < patience {
        end_orphans();
        thread::sleep(PAUSES.peek());
    }
    #[cfg(target_os = "linux")]
    if !lock().started.is_empty() {
        let is_root = |it: &Entry| {
            let children = lock();
            is_orphan(&children, it) || children.started.contains(&it.process.pid)
        };
        tree::stop_and_kill(|| proc::family(&proc::snapshot(), is_root));
    }
    end_orphans();
}

/// Starts a child.
pub(super) fn spawn(command: &mut std::process::Command) -> io::Result<Child> {
    // The lock spans start and insertion, so that no search sees the child in between.
    let mut children = lock();
    let child = command.spawn()?;
    children.started.push(Pid::from_child(&child));
    Ok(child)
}

/// Reaps a child that has ended.
pub(super) fn reap(child: Pid) -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    let mut children = lock();
    // One lock covers both steps, so that no search finds the id in between.
    children.started.retain(|it| *it != child);
    rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), WaitOptions::empty()))
}

/// Forgets a child that other code in this program has reaped.
pub(super) fn forget(child: Pid) {
    lock().started.retain(|it| *it != child);
}

/// Kills all orphans. Returns true if there was one.
#[cfg(target_os = "linux")]
pub(super) fn end_orphans() -> bool {
    if !lock().adopts {
        return false;
    }
    let start = now();
    let mut pauses = PAUSES;
    let mut has_found = false;
    // Repeated, because killing one orphan may orphan its own children.
    while !find(&lock()).is_empty() {
        has_found = true;
        tree::stop_and_kill(|| find(&lock()));
        reap_orphans(&lock());
        if start.elapsed() > KILL_TIME {
            tracing::debug!("an orphan survived SIGKILL: giving up");
            break;
        }
        thread::sleep(pauses.next_delay());
    }
    has_found
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end_orphans() -> bool {
    false
}

/// Returns the orphans and their descendants.
#[cfg(target_os = "linux")]
fn find(children: &Children) -> Vec<Entry> {
    proc::family(&proc::snapshot(), |it| is_orphan(children, it))
}

/// Reaps the orphans that have ended: no other code does.
#[cfg(target_os = "linux")]
fn reap_orphans(children: &Children) {
    for orphan in proc::snapshot().iter().filter(|it| is_orphan(children, it)) {
        // NOHANG, because the lock must not be held while a process is still dying.
        let _ = rustix::process::waitpid(Some(orphan.process.pid), WaitOptions::NOHANG);
    }
}

#[cfg(target_os = "linux")]
fn is_orphan(children: &Children, entry: &Entry) -> bool {
    let this = rustix::process::getpid().as_raw_pid();
    let is_known = |list: &[Pid]| list.contains(&entry.process.pid);
    entry.parent == this && !is_known(&children.started) && !is_known(&children.foreign)
}

fn lock() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}
