//! The process of a running server.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hardline_transport::lines::Source;
use hardline_transport::process::{Child, Command, Exit, SpawnError};
use hardline_wire::limits::Limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, Sleep, sleep_until};

use super::outlet::Outlet;

/// Time for which standard output may stay open after the process has exited. A descendant that
/// escaped may hold it open.
const LINGER: Duration = Duration::from_millis(250);

/// A running server.
pub(super) struct ServerProcess {
    pub(super) input: Option<Outlet<Sender>>,
    pub(super) output: Source<Receiver>,
    /// Last time at which everything for the server had been written.
    pub(super) written_at: Duration,
    life: Life,
    exit: Option<Exit>,
    linger: Option<Pin<Box<Sleep>>>,
}

type Ending = Pin<Box<dyn Future<Output = Exit>>>;

/// Owner of the process, and the future of its end.
enum Life {
    Running(Child, Ending),
    Closing(Ending),
}

impl ServerProcess {
    pub(super) fn start(
        command: &Command,
        limits: &Limits,
        now: Duration,
    ) -> Result<Option<Self>, SpawnError> {
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Ok(None);
        };
        // Separate from the child, so that the child can still be killed while this waits.
        let mut watch = child.watch();
        let ending: Ending = Box::pin(async move { watch.wait().await });
        Ok(Some(Self {
            input: Some(Outlet::new(input)),
            output: Source::new(output, limits),
            written_at: now,
            life: Life::Running(child, ending),
            exit: None,
            linger: None,
        }))
    }

    /// Closes its standard input, and kills it if it does not exit.
    pub(super) fn close(self) -> Self {
        let life = match self.life {
            Life::Running(child, _) => Life::Closing(Box::pin(child.close())),
            closing @ Life::Closing(_) => closing,
        };
        // Dropping the pipe is what closes the server's standard input.
        Self { input: None, life, ..self }
    }

    /// Kills the process.
    pub(super) fn kill(&self) {
        if let Life::Running(child, _) = &self.life {
            child.kill();
        }
    }

    /// Returns true if there are bytes to read. Asks the kernel, because the runtime may not know
    /// yet.
    pub(super) fn has_bytes(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut polled = [PollFd::new(self.output.reader(), PollFlags::IN)];
        !self.output.is_ended() && poll(&mut polled, Some(&at_once)).is_ok_and(|count| count > 0)
    }

    pub(super) fn is_closing(&self) -> bool {
        matches!(self.life, Life::Closing(_))
    }

    /// Returns the exit status once the process has ended and all its output was read.
    pub(super) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Exit> {
        if self.exit.is_none() {
            let (Life::Running(_, ending) | Life::Closing(ending)) = &mut self.life;
            if let Poll::Ready(exit) = ending.as_mut().poll(context) {
                self.exit = Some(exit);
                // The last output may still be in the pipe.
                self.linger = Some(Box::pin(sleep_until(Instant::now() + LINGER)));
            }
        }
        let Some(exit) = &self.exit else { return Poll::Pending };
        let is_over = match &mut self.linger {
            Some(linger) => linger.as_mut().poll(context).is_ready(),
            None => true,
        };
        if self.output.is_ended() || is_over { Poll::Ready(exit.clone()) } else { Poll::Pending }
    }
}
