//! A child and all that came out of it, as something that can be signalled.
//!
//! Only for the time before the leader is reaped: until then its id, which is its group's too, is
//! nobody else's.

#[cfg(target_os = "linux")]
use std::{collections::HashSet, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

#[cfg(target_os = "linux")]
use super::now;
#[cfg(target_os = "linux")]
use super::proc::{self, Entry, Process};

/// A leader and its descendants.
#[derive(Debug)]
pub(super) struct Tree {
    leader: Pid,
    /// Descendants seen so far: once their parent is gone, only this tells whose they were.
    #[cfg(target_os = "linux")]
    known: HashSet<Process>,
}

/// How long a tree is searched for processes that were started during the search before: for as
/// long as somebody in it has not stopped.
#[cfg(target_os = "linux")]
const MAX_SEARCH: Duration = Duration::from_millis(500);
/// Between two looks at processes that were told to stop.
#[cfg(target_os = "linux")]
const PAUSE: Duration = Duration::from_millis(1);

#[cfg(target_os = "linux")]
impl Tree {
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader, known: HashSet::new() }
    }

    /// Asks every process to end, once each.
    pub(super) fn terminate(&mut self) {
        let leader = self.leader.as_raw_pid();
        let outside: Vec<_> = self.members().into_iter().filter(|it| it.group != leader).collect();
        // A stopped process takes its SIGTERM only when it goes on.
        for signal in [Signal::TERM, Signal::CONT] {
            let _ = kill_process_group(self.leader, signal);
            for member in &outside {
                member.process.signal(signal);
            }
        }
    }

    /// Kills every process, stopping them first, so that none gets away by starting another.
    pub(super) fn kill(&mut self) {
        stop_and_kill(|| self.everybody());
        let _ = kill_process_group(self.leader, Signal::KILL);
        let _ = kill_process(self.leader, Signal::KILL);
    }

    /// Whether somebody besides the leader is alive.
    pub(super) fn has_others(&mut self) -> bool {
        self.members().iter().any(|it| !it.is_zombie)
    }

    /// Everybody but the leader: its group, its descendants, those known, and theirs.
    fn members(&mut self) -> Vec<Entry> {
        let mut members = self.everybody();
        members.retain(|it| it.process.pid != self.leader);
        members
    }

    fn everybody(&mut self) -> Vec<Entry> {
        let leader = self.leader.as_raw_pid();
        let all = proc::family(&proc::snapshot(), |it| {
            it.process.pid == self.leader || it.group == leader || self.known.contains(&it.process)
        });
        self.known = all.iter().map(|it| it.process).collect();
        all
    }
}

/// Kills every process that `find` finds. It stops them first, and looks again until none starts another.
#[cfg(target_os = "linux")]
pub(super) fn stop_and_kill(mut find: impl FnMut() -> Vec<Entry>) {
    let start = now();
    let mut told: HashSet<Process> = HashSet::new();
    // Those that an earlier look has shown to start nobody any more. A stop takes effect only
    // when the process is next scheduled, and a fork that has begun is finished first.
    let mut quiet: HashSet<Process> = HashSet::new();
    loop {
        let members = find();
        if members.iter().all(|it| quiet.contains(&it.process)) || MAX_SEARCH < start.elapsed() {
            break;
        }
        let mut is_waiting = false;
        for member in members {
            if told.insert(member.process) {
                member.process.signal(Signal::STOP);
            } else if member.is_stopped || member.is_zombie {
                quiet.insert(member.process);
            } else {
                is_waiting = true;
            }
        }
        if is_waiting {
            thread::sleep(PAUSE);
        }
    }
    for process in told {
        process.signal(Signal::KILL);
    }
}

/// Sends the signals, in turn, to every descendant of this process. Returns whether there is one.
#[cfg(target_os = "linux")]
pub(super) fn signal_descendants(signals: &[Signal]) -> bool {
    let this = rustix::process::getpid();
    let mut family = proc::family(&proc::snapshot(), |it| it.process.pid == this);
    family.retain(|it| it.process.pid != this);
    for signal in signals {
        for member in &family {
            member.process.signal(*signal);
        }
    }
    !family.is_empty()
}

#[cfg(not(target_os = "linux"))]
impl Tree {
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader }
    }

    /// Asks every process of the group to end.
    pub(super) fn terminate(&mut self) {
        for signal in [Signal::TERM, Signal::CONT] {
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// Kills every process of the group.
    pub(super) fn kill(&mut self) {
        let _ = kill_process(self.leader, Signal::KILL);
        let _ = kill_process_group(self.leader, Signal::KILL);
    }

    /// Whether somebody in the group can be signalled; the BSDs do not count a dead leader.
    pub(super) fn has_others(&mut self) -> bool {
        rustix::process::test_kill_process_group(self.leader).is_ok()
    }
}
