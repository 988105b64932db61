//! Whether a keeper's parent is still there.

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

/// How often the parent is asked for where it cannot be held.
const PERIOD: Duration = Duration::from_millis(100);

impl Parent {
    /// Finds the parent, unless it is gone: then somebody else than `expected` has taken its place.
    pub(super) fn find(expected: Option<Pid>) -> Option<Self> {
        let pid = getppid()?;
        if expected.is_some_and(|expected| expected != pid) {
            return None;
        }
        let parent = Self { pid, held: hold(pid) };
        // Had it ended before it was held, what is held could be a stranger.
        (!parent.is_gone()).then_some(parent)
    }

    pub(super) fn is_gone(&self) -> bool {
        getppid() != Some(self.pid)
    }

    /// What to poll for its end.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.held.as_ref().map(AsFd::as_fd)
    }

    /// How often to look if there is nothing to poll.
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
