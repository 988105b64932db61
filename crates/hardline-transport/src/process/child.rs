//! A running child process.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;

use super::command::Times;
use super::exit::{Exit, Status};
use super::stderr::{self, Stderr, Tail};
use super::supervisor::Supervisor;

/// A running child process. Dropping it kills its whole tree.
#[derive(Debug)]
pub struct Child {
    supervisor: Arc<Supervisor>,
    stdin: Option<pipe::Sender>,
    stdout: Option<pipe::Receiver>,
    times: Times,
    watch: ExitWatch,
}

/// Handle to learn how a child ended, for tasks that do not own it.
#[derive(Clone, Debug)]
pub struct ExitWatch {
    status: watch::Receiver<Option<Status>>,
    /// Closed once standard error was read to its end.
    drained: watch::Receiver<()>,
    tail: Arc<Mutex<Tail>>,
}

/// Our ends of a child's pipes, as std created them.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}

/// Time for the last lines of standard error to arrive after the child has ended.
const DRAIN_TIME: Duration = Duration::from_millis(200);
/// Time for a killed tree to disappear before we give up.
const KILL_TIME: Duration = Duration::from_secs(10);

impl Child {
    /// Takes over a child. If that fails, the child is killed.
    pub(super) fn new(
        supervisor: Arc<Supervisor>,
        pipes: Pipes,
        output: Stderr,
        times: Times,
    ) -> io::Result<Self> {
        let tail = Arc::default();
        let (done, drained) = watch::channel(());
        let watch = ExitWatch { status: supervisor.subscribe(), drained, tail };
        // From here on, an early return drops the child and so kills it.
        let mut child = Self { supervisor, stdin: None, stdout: None, times, watch };
        child.stdin = pipes.stdin.map(pipe::Sender::from_owned_fd).transpose()?;
        child.stdout = pipes.stdout.map(pipe::Receiver::from_owned_fd).transpose()?;
        if let Some(stderr) = pipes.stderr.map(pipe::Receiver::from_owned_fd).transpose()? {
            let (tail, status) = (Arc::clone(&child.watch.tail), child.watch.status.clone());
            tokio::spawn(stderr::drain(stderr, output, tail, status, done));
        }
        Ok(child)
    }

    /// Returns the process id, which is the keeper's if there is one.
    pub fn id(&self) -> u32 {
        self.supervisor.id()
    }

    /// Takes the pipe to the child's standard input. Dropping it tells the child to exit. If it was
    /// not taken, [`close`](Self::close) drops it.
    pub fn take_stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// Takes the pipe from the child's standard output.
    pub fn take_stdout(&mut self) -> Option<pipe::Receiver> {
        self.stdout.take()
    }

    /// Returns the time for the child to exit once its standard input is closed.
    pub(crate) fn exit_time(&self) -> Duration {
        self.times.exit
    }

    /// Returns how the child ended, or `None` while it runs. The tail may still lack the last lines
    /// of standard error.
    pub fn exit(&self) -> Option<Exit> {
        self.watch.exit()
    }

    /// Waits until the child and its whole tree have ended. Dropping the future loses nothing.
    pub async fn wait(&self) -> Exit {
        self.watch.clone().wait().await
    }

    /// Returns a handle to wait for the end, for tasks that do not own the child.
    pub fn watch(&self) -> ExitWatch {
        self.watch.clone()
    }

    /// Ends the child: closes its standard input and waits, sends `SIGTERM` to the whole tree and
    /// waits, sends `SIGKILL` to the whole tree. Each step happens only if the one before was not
    /// enough.
    ///
    /// If standard input was taken, drop it first: otherwise the child never sees its end, and the
    /// first wait is in vain. Dropping the future kills the tree at once.
    pub async fn close(mut self) -> Exit {
        self.stdin = None;
        if self.ends_within(self.times.exit).await {
            return self.wait().await;
        }
        self.supervisor.terminate();
        if self.ends_within(self.times.terminate).await {
            return self.wait().await;
        }
        self.supervisor.kill();
        if self.ends_within(KILL_TIME).await {
            return self.wait().await;
        }
        // A process in an uninterruptible system call survives even SIGKILL.
        Exit { status: Status::Survived, stderr_tail: stderr::lines(&self.watch.tail) }
    }

    /// Sends `SIGKILL` to the whole tree without waiting for its end.
    pub fn kill(&self) {
        self.supervisor.kill();
    }

    async fn ends_within(&self, time: Duration) -> bool {
        let mut status = self.watch.status.clone();
        timeout(time, status.wait_for(Option::is_some)).await.is_ok()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.supervisor.kill();
    }
}

impl ExitWatch {
    /// Returns how the child ended, or `None` while it runs. The tail may still lack the last lines
    /// of standard error.
    pub fn exit(&self) -> Option<Exit> {
        let status = (*self.status.borrow())?;
        Some(Exit { status, stderr_tail: stderr::lines(&self.tail) })
    }

    /// Waits until the child and its whole tree have ended. Dropping the future loses nothing.
    pub async fn wait(&mut self) -> Exit {
        // The supervisor always sends a status before it goes.
        let status = self.status.wait_for(Option::is_some).await.ok().and_then(|it| *it);
        // No value is ever sent: the channel closes when standard error was read to its end. An
        // escaped process may hold the pipe open, so the wait is limited.
        let _ = timeout(DRAIN_TIME, self.drained.changed()).await;
        let status = status.unwrap_or(Status::Taken);
        Exit { status, stderr_tail: stderr::lines(&self.tail) }
    }
}
