//! The main loop of a keeper.
//!
//! Invariants:
//! - It installs signal handlers before the program exists; only `SIGKILL` and `SIGSTOP` can end or
//!   stop it. On Linux, the end of its parent continues a stopped keeper.
//! - The program starts with the default action for every signal that the keeper handles, and with
//!   none blocked: `exec` resets handlers, and std unblocks signals and resets `SIGPIPE`.
//! - Only the program's tree holds its pipes.
//! - The keeper ends when it has no child left. It is the reaper of its descendants, so then there
//!   is no descendant either.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hardline_wire::backoff::Backoff;
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

/// A keeper with a running program.
#[derive(Debug)]
pub(super) struct Watch {
    program: Pid,
    /// Exit status of the program, once it is reaped.
    status: Option<WaitStatus>,
    parent: Parent,
    signals: SignalDelivery<UnixStream, SignalOnly>,
    leftovers: Duration,
    /// Deadline for processes that outlived the program. They are killed then.
    kill_at: Option<Instant>,
    is_killing: bool,
}

/// Signals that other processes may send, and whose default action would end or stop the keeper.
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

/// Pauses between two rounds of killing.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(2), Duration::from_secs(1));

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
        // The program may have stopped the keeper when the parent dies. Only the kernel can wake it then.
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(Signal::CONT)).map_err(|error| {
            own("cannot ask for a signal at the end of the parent")(error.into())
        })?;
        let null = OpenOptions::new().read(true).write(true).open("/dev/null");
        let null = null.map_err(own("cannot open /dev/null"))?;
        let parent = Parent::find(orders.parent)
            .ok_or_else(|| Failure::own("the parent process is already gone"))?;

        let program = start_program(orders)?;
        // The reader of the program's output waits until all writers have closed it, and the keeper
        // is one. If this fails, the pipes close when the keeper ends.
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
        // A working directory could not be unmounted while it is in use.
        let _ = rustix::process::chdir("/");

        let (status, kill_at, is_killing) = (None, None, false);
        let leftovers = orders.leftovers;
        Ok(Self { program, status, parent, signals, leftovers, kill_at, is_killing })
    }

    /// Runs until no process is left, and returns the program's exit code. If a signal ended the
    /// program, the same signal ends this process.
    pub(super) fn run(mut self) -> ExitCode {
        let mut pauses = PAUSES;
        loop {
            // First, so that a signal that arrives later wakes the poll below.
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
                self.sleep(Some(pauses.next_delay()));
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

    /// Reaps every child that has ended. Returns true if a child is left.
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

    /// Sends the signals, in turn, to all descendants.
    fn signal_all(&self, signals: &[Signal]) {
        #[cfg(target_os = "linux")]
        let found = tree::signal_descendants(signals);
        #[cfg(not(target_os = "linux"))]
        let found = false;
        // Without `/proc`, signal the program's group. Its id cannot be reused until the program is
        // reaped.
        if !found && self.status.is_none() {
            for signal in signals {
                let _ = rustix::process::kill_process_group(self.program, *signal);
            }
        }
    }

    /// Ends as the program did.
    fn finish(self) -> ExitCode {
        // Without reapers, the group may have members that are not our children. Only they keep its
        // id from being reused, but no other group gets it in this moment.
        if cfg!(not(target_os = "linux")) {
            let _ = rustix::process::kill_process_group(self.program, Signal::KILL);
        }
        self.status.map_or(ExitCode::from(OWN_FAILURE), end_like)
    }

    /// Waits for a signal, the end of the parent, or a timeout.
    fn sleep(&self, time: Option<Duration>) {
        let time = time.and_then(|it| Timespec::try_from(it).ok());
        let mut sources = vec![PollFd::new(self.signals.get_read(), PollFlags::IN)];
        let parent = self.parent.descriptor().filter(|_| !self.is_killing);
        sources.extend(parent.as_ref().map(|it| PollFd::new(it, PollFlags::IN)));
        // A failure is an interruption; one more round does no harm.
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
    // The keeper waits for all children at once. Dropping std's handle does nothing.
    child.map(|child| Pid::from_child(&child)).map_err(|error| {
        let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        Failure { code, reason: format!("cannot start {}: {error}", Path::new(name).display()) }
    })
}

/// Ends this process as the program ended.
fn end_like(status: WaitStatus) -> ExitCode {
    if let Some(signal) = status.terminating_signal() {
        // The program has already written its core dump, if any.
        #[cfg(target_os = "linux")]
        let _ =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        // signal-hook does not know this signal, so use the exit code of a shell.
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(OWN_FAILURE));
    }
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(OWN_FAILURE))
}
