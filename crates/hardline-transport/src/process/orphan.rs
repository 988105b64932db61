//! Descendants whose keeper is gone, and the children that this process has started.
//!
//! A server runs as the user that we run as, so it can kill its [keeper](super::Keeper). The kernel then
//! gives what the keeper kept to the next reaper above it: to us, if [`adopt_orphans`] was called. A child of
//! ours that we did not start is such an orphan, and is ended.
//!
//! Invariants:
//! - A child is in the list of children from its start until it is reaped, under one lock: nothing that we
//!   started is taken for an orphan.
//! - An orphan is signalled only as long as it is not reaped, and no other process reaps it.

use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::now;
#[cfg(target_os = "linux")]
use super::{
    proc::{self, Entry},
    tree,
};

/// Time in which killed orphans must be gone before they are given up: longer than a search for them takes.
#[cfg(target_os = "linux")]
const KILL_TIME: Duration = Duration::from_secs(2);
/// Pause between two looks at what is left: the first, then twice as long each time, up to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

#[derive(Debug)]
struct Children {
    /// Those that we started and did not reap. No more than are alive at once.
    started: Vec<Pid>,
    /// Those that were there when orphans became ours, started by what ran in this process before. They are not
    /// reaped here, so that no other child gets their ids.
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

/// Makes this process the parent of every descendant that loses its own, on Linux, and ends those that lose
/// their [keeper](super::Keeper).
///
/// For programs that start children with [`Command`](super::Command) alone: any other child that was not
/// there before is taken for an orphan, and killed when a keeper ends. It holds for the whole process until its end. On other systems this
/// does nothing.
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
        let all = proc::snapshot();
        let foreign = all.iter().filter(|it| is_orphan(&children, it)).map(|it| it.process.pid);
        children.foreign = foreign.collect();
        rustix::process::set_child_subreaper(Some(this))?;
        children.adopts = true;
    }
    Ok(())
}

/// Ends every descendant, if [`adopt_orphans`] was called: to be called last, when nothing is to be started any
/// more. Children that were told to end have `patience` for that.
pub fn end_descendants(patience: Duration) {
    if !lock().adopts {
        return;
    }
    let start = now();
    while !lock().started.is_empty() && start.elapsed() < patience {
        end_orphans();
        thread::sleep(PAUSES.0);
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
    let mut children = lock();
    let child = command.spawn()?;
    children.started.push(Pid::from_child(&child));
    Ok(child)
}

/// Reaps a child that has ended.
pub(super) fn reap(child: Pid) -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    let mut children = lock();
    children.started.retain(|it| *it != child);
    rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), WaitOptions::empty()))
}

/// Forgets a child that another part of this program has reaped.
pub(super) fn forget(child: Pid) {
    lock().started.retain(|it| *it != child);
}

/// Ends all orphans. Returns whether there was one.
#[cfg(target_os = "linux")]
pub(super) fn end_orphans() -> bool {
    if !lock().adopts {
        return false;
    }
    let start = now();
    let mut pause = PAUSES.0;
    let mut has_found = false;
    while !find(&lock()).is_empty() {
        has_found = true;
        tree::stop_and_kill(|| find(&lock()));
        reap_orphans(&lock());
        if KILL_TIME < start.elapsed() {
            tracing::debug!("an orphan does not end");
            break;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
    has_found
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end_orphans() -> bool {
    false
}

/// The orphans and their descendants.
#[cfg(target_os = "linux")]
fn find(children: &Children) -> Vec<Entry> {
    proc::family(&proc::snapshot(), |it| is_orphan(children, it))
}

/// Reaps those that have ended: no one else does.
#[cfg(target_os = "linux")]
fn reap_orphans(children: &Children) {
    for orphan in proc::snapshot().iter().filter(|it| is_orphan(children, it)) {
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
