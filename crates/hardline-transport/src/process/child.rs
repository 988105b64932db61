//! A running child, as its owner sees it.

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

/// Tells how a child ended, to others than its owner.
#[derive(Clone, Debug)]
pub struct ExitWatch {
    status: watch::Receiver<Option<Status>>,
    /// Closed when standard error was read to its end.
    drained: watch::Receiver<()>,
    tail: Arc<Mutex<Tail>>,
}

/// Our ends of a child's pipes, as std made them.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}

/// How long the last lines of standard error may take to arrive when the child is gone.
const DRAIN_TIME: Duration = Duration::from_millis(200);
/// How long a killed tree may take to be gone before it is given up.
const KILL_TIME: Duration = Duration::from_secs(10);

impl Child {
    /// Takes over a child. If that fails, it is killed.
    pub(super) fn new(
        supervisor: Arc<Supervisor>,
        pipes: Pipes,
        output: Stderr,
        times: Times,
    ) -> io::Result<Self> {
        let tail = Arc::default();
        let (done, drained) = watch::channel(());
        let watch = ExitWatch { status: supervisor.subscribe(), drained, tail };
        // From here on, returning drops the child.
        let mut child = Self { supervisor, stdin: None, stdout: None, times, watch };
        child.stdin = pipes.stdin.map(pipe::Sender::from_owned_fd).transpose()?;
        child.stdout = pipes.stdout.map(pipe::Receiver::from_owned_fd).transpose()?;
        if let Some(stderr) = pipes.stderr.map(pipe::Receiver::from_owned_fd).transpose()? {
            let (tail, status) = (Arc::clone(&child.watch.tail), child.watch.status.clone());
            tokio::spawn(stderr::drain(stderr, output, tail, status, done));
        }
        Ok(child)
    }

    /// The process id: of the keeper, if there is one.
    pub fn id(&self) -> u32 {
        self.supervisor.id()
    }

    /// Takes the pipe to its standard input. Dropping it is how a child is told to end;
    /// [`close`](Self::close) does that if it was not taken.
    pub fn take_stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// Takes the pipe from its standard output.
    pub fn take_stdout(&mut self) -> Option<pipe::Receiver> {
        self.stdout.take()
    }

    /// How long it may take to end once its standard input is closed.
    pub(crate) fn exit_time(&self) -> Duration {
        self.times.exit
    }

    /// How it ended, if it did. The tail may still lack the last lines of standard error.
    pub fn exit(&self) -> Option<Exit> {
        self.watch.exit()
    }

    /// Waits until it has ended, and nothing of its tree is left. May be cancelled.
    pub async fn wait(&self) -> Exit {
        self.watch.clone().wait().await
    }

    /// Something to wait with, for others than the owner.
    pub fn watch(&self) -> ExitWatch {
        self.watch.clone()
    }

    /// Ends it: closes its standard input and waits, sends `SIGTERM` to the whole tree and waits,
    /// sends `SIGKILL` to the whole tree, each step only if the one before did not do.
    ///
    /// If standard input was taken, drop it first: this cannot, and would wait in vain. Dropping
    /// the future kills the tree at once.
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
        Exit { status: Status::Survived, stderr_tail: stderr::lines(&self.watch.tail) }
    }

    /// Sends `SIGKILL` to the whole tree, and does not wait for its end.
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
    /// How the child ended, if it did. The tail may still lack the last lines of standard error.
    pub fn exit(&self) -> Option<Exit> {
        let status = (*self.status.borrow())?;
        Some(Exit { status, stderr_tail: stderr::lines(&self.tail) })
    }

    /// Waits until the child has ended, and nothing of its tree is left. May be cancelled.
    pub async fn wait(&mut self) -> Exit {
        // The supervisor tells a status before it goes.
        let status = self.status.wait_for(Option::is_some).await.ok().and_then(|it| *it);
        // Nothing is ever sent: this is the end of what reads standard error. Somebody who got
        // away may hold that open, so it is not waited for without limit.
        let _ = timeout(DRAIN_TIME, self.drained.changed()).await;
        let status = status.unwrap_or(Status::Taken);
        Exit { status, stderr_tail: stderr::lines(&self.tail) }
    }
}
