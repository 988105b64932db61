//! The server's process, as long as it runs.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hardline_transport::lines::{Outlet, Source};
use hardline_transport::process::{Child, Command, Exit, SpawnError};
use hardline_wire::limits::Limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long standard output may stay open after the process is gone: somebody who got away holds it.
const LINGER: Duration = Duration::from_millis(250);

/// A running server.
pub(super) struct Server {
    pub(super) input: Option<Outlet<Sender>>,
    pub(super) output: Source<Receiver>,
    life: Life,
    exit: Option<Exit>,
    linger: Option<Pin<Box<Sleep>>>,
}

type Ending = Pin<Box<dyn Future<Output = Exit>>>;

/// Who waits for the process.
enum Life {
    Running(Child, Ending),
    Closing(Ending),
}

impl Server {
    pub(super) fn start(command: &Command, limits: &Limits) -> Result<Option<Self>, SpawnError> {
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Ok(None);
        };
        let mut watch = child.watch();
        let ending: Ending = Box::pin(async move { watch.wait().await });
        Ok(Some(Self {
            input: Some(Outlet::new(input)),
            output: Source::new(output, limits),
            life: Life::Running(child, ending),
            exit: None,
            linger: None,
        }))
    }

    /// Closes its standard input, and ends it if that does not.
    pub(super) fn close(self) -> Self {
        let life = match self.life {
            Life::Running(child, _) => Life::Closing(Box::pin(child.close())),
            closing @ Life::Closing(_) => closing,
        };
        Self { input: None, life, ..self }
    }

    /// Kills it.
    pub(super) fn kill(&self) {
        if let Life::Running(child, _) = &self.life {
            child.kill();
        }
    }

    /// Whether there is something to read, asked of the system itself: the runtime may not know yet.
    pub(super) fn has_bytes(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut polled = [PollFd::new(self.output.reader(), PollFlags::IN)];
        !self.output.is_ended() && poll(&mut polled, Some(&at_once)).is_ok_and(|count| 0 < count)
    }

    pub(super) fn is_closing(&self) -> bool {
        matches!(self.life, Life::Closing(_))
    }

    /// How it ended, once it has and all that it wrote was read.
    pub(super) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Exit> {
        if self.exit.is_none() {
            let (Life::Running(_, ending) | Life::Closing(ending)) = &mut self.life;
            if let Poll::Ready(exit) = ending.as_mut().poll(context) {
                self.exit = Some(exit);
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
