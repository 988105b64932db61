//! What a keeper does once it knows its orders.
//!
//! Invariants:
//! - It listens to signals before the program exists, and none but `SIGKILL` and `SIGSTOP` ends or
//!   stops it.
//! - The program starts with the default action for every signal that the keeper listens to, and
//!   with none blocked: `exec` resets handlers, and std unblocks signals and resets `SIGPIPE`.
//! - Nothing but the program's tree holds its pipes.
//! - It goes when it has no child left. It is the reaper of its descendants, so that then there
//!   is no descendant either.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use super::parent::Parent;
use super::{Failure, KILL_SIGNAL, OWN_FAILURE, Orders};
use crate::process::command::new_std;
use crate::process::now;
#[cfg(target_os = "linux")]
use crate::process::tree;

/// A keeper with something to keep.
#[derive(Debug)]
pub(super) struct Watch {
    program: Pid,
    /// How the program ended, once it is reaped.
    status: Option<WaitStatus>,
    parent: Parent,
    signals: SignalDelivery<UnixStream, SignalOnly>,
    leftovers: Duration,
    /// When what the program left behind is killed.
    kill_at: Option<Instant>,
    is_killing: bool,
}

/// Signals that somebody may send to a process, and that would end or stop one that does not
/// listen.
const SIGNALS: [Signal; 13] = [
    Signal::CHILD,
    Signal::TERM,
    KILL_SIGNAL,
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::PIPE,
    Signal::ALARM,
    Signal::USR2,
    Signal::IO,
    Signal::TSTP,
    Signal::TTIN,
    Signal::TTOU,
];

/// Between two rounds of killing: the first, then twice as long each time, up to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_secs(1));

impl Watch {
    /// Starts the program.
    pub(super) fn start(orders: &Orders) -> Result<Self, Failure> {
        let own = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| Failure::own(format!("{what}: {error}"))
        };
        let signals = listen().map_err(own("cannot listen to signals"))?;
        #[cfg(target_os = "linux")]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| own("cannot become a reaper")(error.into()))?;
        let null = OpenOptions::new().read(true).write(true).open("/dev/null");
        let null = null.map_err(own("cannot open /dev/null"))?;
        let parent = Parent::find(orders.parent)
            .ok_or_else(|| Failure::own("whoever started this is gone already"))?;

        let program = start_program(orders)?;
        // Whoever reads the program's output waits for all writers to be gone, and we are one.
        // Should that fail, the pipes end when we do.
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
        // Keeps no directory in use.
        let _ = rustix::process::chdir("/");

        let (status, kill_at, is_killing) = (None, None, false);
        let leftovers = orders.leftovers;
        Ok(Self { program, status, parent, signals, leftovers, kill_at, is_killing })
    }

    /// Stays until nothing is left, and says how the program ended. If that was by a signal, this
    /// process ends by the same.
    pub(super) fn run(mut self) -> ExitCode {
        let mut pause = PAUSES.0;
        loop {
            // First, so that a signal that comes after this wakes the poll below.
            self.take_signals();
            if !self.reap() {
                return self.finish();
            }
            if self.status.is_some() && self.kill_at.is_none() {
                self.kill_at = Some(now() + self.leftovers);
                self.signal_all(&[Signal::TERM, Signal::CONT]);
            }
            let is_overdue = self.kill_at.is_some_and(|at| at <= now());
            self.is_killing = self.is_killing || is_overdue || self.parent.is_gone();
            if self.is_killing {
                self.signal_all(&[Signal::KILL]);
                self.sleep(Some(pause));
                pause = (pause * 2).min(PAUSES.1);
            } else {
                let until_kill = self.kill_at.map(|at| at.saturating_duration_since(now()));
                self.sleep([until_kill, self.parent.period()].into_iter().flatten().min());
            }
        }
    }

    fn take_signals(&mut self) {
        let mut is_termination = false;
        for signal in self.signals.pending() {
            is_termination |= signal == Signal::TERM.as_raw();
            self.is_killing |= signal == KILL_SIGNAL.as_raw();
        }
        if is_termination {
            self.signal_all(&[Signal::TERM, Signal::CONT]);
        }
    }

    /// Reaps everybody who has ended. Returns whether there is a child left.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => self.status = Some(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Sends the signals to all descendants, in turn.
    fn signal_all(&self, signals: &[Signal]) {
        #[cfg(target_os = "linux")]
        let found = tree::signal_descendants(signals);
        #[cfg(not(target_os = "linux"))]
        let found = false;
        // Where descendants cannot be seen, there is the program's group, whose id is nobody
        // else's until the program is reaped.
        if !found && self.status.is_none() {
            for signal in signals {
                let _ = rustix::process::kill_process_group(self.program, *signal);
            }
        }
    }

    /// Ends as the program did.
    fn finish(self) -> ExitCode {
        // Where there are no reapers, the group may have members that are not our children. Only
        // while it has does its id stay what it was, but no other gets it in this moment.
        if cfg!(not(target_os = "linux")) {
            let _ = rustix::process::kill_process_group(self.program, Signal::KILL);
        }
        self.status.map_or(ExitCode::from(OWN_FAILURE), end_like)
    }

    /// Waits for a signal, the parent's end, or a time.
    fn sleep(&self, time: Option<Duration>) {
        let time = time.and_then(|it| Timespec::try_from(it).ok());
        let mut sources = vec![PollFd::new(self.signals.get_read(), PollFlags::IN)];
        let parent = self.parent.descriptor().filter(|_| !self.is_killing);
        sources.extend(parent.as_ref().map(|it| PollFd::new(it, PollFlags::IN)));
        // A failure is an interruption, and looking once more does no harm.
        let _ = rustix::event::poll(&mut sources, time.as_ref());
    }
}

fn listen() -> io::Result<SignalDelivery<UnixStream, SignalOnly>> {
    let (reader, writer) = UnixStream::pair()?;
    let signals = SIGNALS.map(Signal::as_raw);
    SignalDelivery::with_pipe(reader, writer, SignalOnly, signals)
}

/// Starts the program with our own standard streams.
fn start_program(orders: &Orders) -> Result<Pid, Failure> {
    let Some((name, args)) = orders.command.split_first() else {
        return Err(Failure::own("no command to start"));
    };
    let child = new_std(Path::new(name)).args(args).process_group(0).spawn();
    // Waiting is done for all children at once, and dropping std's handle does nothing.
    child.map(|child| Pid::from_child(&child)).map_err(|error| {
        let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        Failure { code, reason: format!("cannot start {}: {error}", Path::new(name).display()) }
    })
}

/// Ends like the program did.
fn end_like(status: WaitStatus) -> ExitCode {
    if let Some(signal) = status.terminating_signal() {
        // The core, if any, was the program's to write.
        #[cfg(target_os = "linux")]
        let _ =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        // The signal is one that signal-hook does not know: what a shell would say.
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(OWN_FAILURE));
    }
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(OWN_FAILURE))
}
