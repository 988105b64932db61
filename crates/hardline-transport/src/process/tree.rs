//! A child with all its descendants, as a target for signals.
//!
//! Valid only until the leader is reaped: until then, no other process can get its id, which is
//! also the id of its group.

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
    /// Descendants found so far. Once their parent is gone, only this set shows that they belong
    /// here.
    #[cfg(target_os = "linux")]
    known: HashSet<Process>,
}

/// Time limit on the search for processes that were started during the previous search. The search
/// repeats until every process has stopped.
#[cfg(target_os = "linux")]
const MAX_SEARCH: Duration = Duration::from_millis(500);
/// Pause between two checks of processes that were told to stop.
#[cfg(target_os = "linux")]
const PAUSE: Duration = Duration::from_millis(1);

#[cfg(target_os = "linux")]
impl Tree {
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader, known: HashSet::new() }
    }

    /// Sends every process `SIGTERM` once.
    pub(super) fn terminate(&mut self) {
        let leader = self.leader.as_raw_pid();
        let outside: Vec<_> = self.members().into_iter().filter(|it| it.group != leader).collect();
        // A stopped process handles SIGTERM only after SIGCONT.
        for signal in [Signal::TERM, Signal::CONT] {
            let _ = kill_process_group(self.leader, signal);
            for member in &outside {
                member.process.signal(signal);
            }
        }
    }

    /// Kills every process. Stops them first, so that none escapes by starting another.
    pub(super) fn kill(&mut self) {
        stop_and_kill(|| self.all_processes());
        let _ = kill_process_group(self.leader, Signal::KILL);
        let _ = kill_process(self.leader, Signal::KILL);
    }

    /// Looks for a process besides the leader that is alive. Returns true if there is one.
    pub(super) fn find_others(&mut self) -> bool {
        self.members().iter().any(|it| !it.is_zombie)
    }

    /// Returns all processes but the leader: its group, its descendants, the known ones, and their
    /// descendants.
    fn members(&mut self) -> Vec<Entry> {
        let mut members = self.all_processes();
        members.retain(|it| it.process.pid != self.leader);
        members
    }

    fn all_processes(&mut self) -> Vec<Entry> {
        let leader = self.leader.as_raw_pid();
        let all = proc::family(&proc::snapshot(), |it| {
            it.process.pid == self.leader || it.group == leader || self.known.contains(&it.process)
        });
        self.known = all.iter().map(|it| it.process).collect();
        all
    }
}

/// Kills every process that `find` returns. Stops them first, and searches again until none can
/// start another.
#[cfg(target_os = "linux")]
pub(super) fn stop_and_kill(mut find: impl FnMut() -> Vec<Entry>) {
    let start = now();
    let mut told: HashSet<Process> = HashSet::new();
    // Processes that were seen stopped after they were told to. A stop takes effect only when the
    // process is next scheduled, and a fork in progress is finished first.
    let mut quiet: HashSet<Process> = HashSet::new();
    loop {
        let members = find();
        if members.iter().all(|it| quiet.contains(&it.process)) || start.elapsed() > MAX_SEARCH {
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

/// Sends the signals, in turn, to every descendant of this process. Returns true if there is one.
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

    /// Sends every process of the group `SIGTERM`.
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

    /// Returns true if a process of the group can be signalled. The BSDs do not count a dead
    /// leader.
    pub(super) fn find_others(&mut self) -> bool {
        rustix::process::test_kill_process_group(self.leader).is_ok()
    }
}
