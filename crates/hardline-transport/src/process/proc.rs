//! Parents and children of processes, from Linux' `/proc`.
//!
//! A process id alone may belong to another process by the time it is used. So a [`Process`] is an
//! id with a start time, and [`Process::signal`] checks both while a descriptor holds the process.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// Identity of a process, unique even if its id is reused.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    /// Start time, in clock ticks since boot.
    start: u64,
}

/// Content of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) process: Process,
    /// Id of the parent; 0 if it is in another namespace.
    pub(super) parent: i32,
    /// Process group; 0 if it is in another namespace.
    pub(super) group: i32,
    /// True if the process only waits to be reaped.
    pub(super) is_zombie: bool,
    /// True if a signal stopped the process, so that it cannot start another.
    pub(super) is_stopped: bool,
}

/// Longer than any `/proc/PID/stat`: some 50 numbers and a name of up to 64 bytes.
const MAX_STAT_BYTES: usize = 2048;

/// Returns all processes that `/proc` shows; none if it is not mounted.
pub(super) fn snapshot() -> Vec<Entry> {
    let Ok(directory) = fs::read_dir("/proc") else { return Vec::new() };
    let pid = |name: &str| name.parse().ok().and_then(Pid::from_raw);
    let pids = directory.flatten().filter_map(|entry| pid(entry.file_name().to_str()?));
    pids.filter_map(look_up).collect()
}

/// Returns the processes that `is_root` selects and all their descendants.
pub(super) fn family(all: &[Entry], is_root: impl Fn(&Entry) -> bool) -> Vec<Entry> {
    let mut children: HashMap<i32, Vec<usize>> = HashMap::new();
    for (index, entry) in all.iter().enumerate() {
        children.entry(entry.parent).or_default().push(index);
    }
    // Each process is taken once, so the loop ends even if the snapshot shows a cycle.
    let mut left: Vec<_> = all.iter().map(Some).collect();
    let mut queue: Vec<_> =
        (0..all.len()).filter(|&at| all.get(at).is_some_and(&is_root)).collect();
    let mut family = Vec::new();
    while let Some(index) = queue.pop() {
        let Some(entry) = left.get_mut(index).and_then(Option::take) else { continue };
        family.push(*entry);
        queue.extend(children.remove(&entry.process.pid.as_raw_pid()).unwrap_or_default());
    }
    family
}

impl Process {
    /// Sends a signal if the process is still the same. Errors are ignored: a process that we may
    /// not signal is not ours.
    pub(super) fn signal(self, signal: Signal) {
        // Open the descriptor before the check: after it, the id cannot change hands unnoticed.
        let held = pidfd_open(self.pid, PidfdFlags::empty());
        if look_up(self.pid).is_none_or(|entry| entry.process != self) {
            return;
        }
        let _ = match held {
            Ok(descriptor) => pidfd_send_signal(descriptor, signal),
            // A kernel before 5.3, or no descriptor left. The remaining race needs the system to
            // hand out all its ids within microseconds.
            Err(_) => kill_process(self.pid, signal),
        };
    }
}

fn look_up(pid: Pid) -> Option<Entry> {
    let mut stat = [0; MAX_STAT_BYTES];
    let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
    // One read returns the whole line, because the kernel generates it at that moment.
    let length = file.read(&mut stat).ok()?;
    parse(pid, stat.get(..length)?)
}

/// Parses `PID (NAME) STATE PARENT GROUP …`. The name may contain any bytes, even parentheses.
fn parse(pid: Pid, stat: &[u8]) -> Option<Entry> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // Fields 20 and 22 of the line, counted from 1 as in the manual; the group is field 5.
    let threads: u32 = fields.nth(14)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    // If the main thread ended before the others, the process is shown as a zombie but lives.
    let is_zombie = matches!(state, "Z" | "X") && threads <= 1;
    // Other threads of a stopped process may not have stopped yet. Once they have, they cannot
    // fork, so the caller must check twice.
    let is_stopped = matches!(state, "T" | "t");
    Some(Entry { process: Process { pid, start }, parent, group, is_zombie, is_stopped })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: i32, parent: i32) -> Entry {
        let process = Process { pid: Pid::from_raw(pid).unwrap(), start: 0 };
        Entry { process, parent, group: 0, is_zombie: false, is_stopped: false }
    }

    #[test]
    fn reads_a_line_whatever_the_name() {
        let numbers = "7 9 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 123456 1 2 3";
        for name in ["sh", "a b) S 1 1", "\u{1b}[2J", "(", ""] {
            let line = format!("42 ({name}) S {numbers}\n");
            let entry = parse(Pid::from_raw(42).unwrap(), line.as_bytes()).unwrap();
            assert_eq!((entry.parent, entry.group, entry.process.start), (7, 9, 123_456));
            assert!(!entry.is_zombie);
        }
        let zombie = |threads| {
            let line = format!("42 (sh) Z 7 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 5 0");
            parse(Pid::from_raw(42).unwrap(), line.as_bytes()).unwrap().is_zombie
        };
        assert!(zombie(1) && zombie(0) && !zombie(2));
        for bad in ["", "42 (sh", "42 (sh) S", "42 (sh) S x 1", "42 (sh) S 1 1 1"] {
            assert_eq!(parse(Pid::INIT, bad.as_bytes()), None);
        }
    }

    #[test]
    fn finds_itself() {
        let pid = rustix::process::getpid();
        let entry = look_up(pid).unwrap();
        assert_eq!(Pid::from_raw(entry.parent), rustix::process::getppid());
        assert!(!entry.is_zombie);
        assert!(snapshot().iter().any(|it| it.process == entry.process));
    }

    #[test]
    fn finds_a_family_and_survives_a_cycle() {
        let all = [entry(2, 1), entry(3, 2), entry(4, 3), entry(5, 1), entry(6, 7), entry(7, 6)];
        let found = |root: i32| {
            let family = family(&all, |it| it.process.pid.as_raw_pid() == root);
            let mut pids: Vec<_> = family.iter().map(|it| it.process.pid.as_raw_pid()).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(found(2), [2, 3, 4]);
        assert_eq!(found(5), [5]);
        assert_eq!(found(6), [6, 7]);
        assert!(found(9).is_empty());
    }
}
