//! Detects the end of a keeper's parent.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::process::{Pid, getppid};

/// The process that started the keeper.
#[derive(Debug)]
pub(super) struct Parent {
    pid: Pid,
    /// Becomes readable when the parent has ended.
    held: Option<OwnedFd>,
}

/// Interval of checks where the system has no descriptor for a process.
const PERIOD: Duration = Duration::from_millis(100);

impl Parent {
    /// Finds the parent. `None` if it is gone: then another process than `expected` has taken its
    /// place.
    pub(super) fn find(expected: Option<Pid>) -> Option<Self> {
        let pid = getppid()?;
        if expected.is_some_and(|expected| expected != pid) {
            return None;
        }
        let parent = Self { pid, held: hold(pid) };
        // If it ended before the descriptor was opened, the descriptor could be another process.
        (!parent.is_gone()).then_some(parent)
    }

    pub(super) fn is_gone(&self) -> bool {
        getppid() != Some(self.pid)
    }

    /// Returns a descriptor that becomes readable when the parent ends.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.held.as_ref().map(AsFd::as_fd)
    }

    /// Returns the interval of checks if there is no descriptor to poll.
    pub(super) fn period(&self) -> Option<Duration> {
        self.held.is_none().then_some(PERIOD)
    }
}

#[cfg(target_os = "linux")]
fn hold(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn hold(_pid: Pid) -> Option<OwnedFd> {
    None
}
