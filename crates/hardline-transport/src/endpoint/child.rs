//! A session with a server process that this side starts and ends.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::Instant;

use crate::process::{Child, Command, Exit, ExitWatch, SpawnError};
use crate::{Endpoint, EndpointSettings, Role, SendError};

/// Time for a server that closed its standard output to exit. After it, requests fail with a reason
/// that does not include the exit status.
const EXIT_TIME: Duration = Duration::from_secs(1);

/// A session with a server in its own process, over the server's standard streams.
///
/// If the server exits, requests that wait for an answer fail at once, with its exit status and the
/// last lines of its standard error. [`close`](Self::close) ends the process and every process it
/// started. Dropping the connection does the same, but without waiting for a clean exit.
#[derive(Debug)]
pub struct ChildEndpoint {
    pub(crate) connection: Endpoint,
    child: Option<Child>,
    /// Time for the server to read the remaining output when the session is closed.
    close_time: Duration,
}

impl ChildEndpoint {
    /// Starts the server. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`SpawnError`], if the server cannot be started.
    pub fn spawn(command: &Command, settings: EndpointSettings) -> Result<Self, SpawnError> {
        Self::spawn_through(command, settings, |output, input| (output, input))
    }

    /// Starts the server with an adapter between its standard streams and the session. `through`
    /// receives the server's standard output and standard input, and returns the streams that the
    /// session reads from and writes to. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`SpawnError`], if the server cannot be started.
    pub fn spawn_through<R, W>(
        command: &Command,
        settings: EndpointSettings,
        through: impl FnOnce(Receiver, Sender) -> (R, W),
    ) -> Result<Self, SpawnError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let mut child = command.spawn()?;
        let close_time = child.exit_time();
        let connection = match (child.take_stdout(), child.take_stdin()) {
            (Some(output), Some(input)) => {
                let (output, input) = through(output, input);
                Endpoint::new(Role::Client, output, input, settings)
            }
            // Unreachable: a child that was just started still has both streams.
            _ => Endpoint::new(Role::Client, tokio::io::empty(), tokio::io::sink(), settings),
        };
        let mut this = Self { connection, child: Some(child), close_time };
        this.connection.server = this.child.as_ref().map(|child| ServerProcess::new(child.watch()));
        Ok(this)
    }

    /// Returns the session, for receiving and sending messages.
    pub fn connection(&mut self) -> &mut Endpoint {
        &mut self.connection
    }

    /// Returns the process id, which is the keeper's if there is one. `None` after
    /// [`close`](Self::close).
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Returns a handle to wait for the end of the process.
    pub fn watch(&self) -> Option<ExitWatch> {
        self.child.as_ref().map(Child::watch)
    }

    /// Writes the queued messages, closes the server's standard input, and ends the process if it
    /// does not exit by itself: see [`Child::close`]. Returns `None` if the server was already
    /// closed.
    pub async fn close(&mut self) -> Option<Exit> {
        // The server must end even if it did not read the last messages.
        let _: Result<(), SendError> = self.connection.close_within(self.close_time).await;
        Some(self.child.take()?.close().await)
    }
}

/// The process at the other end of a connection.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    watch: ExitWatch,
    /// Deadline for learning the exit status. Set when the server's output ends.
    known_by: Option<Instant>,
    /// True if the process is gone, and the failure reason for its requests.
    farewell: Option<(bool, String)>,
}

impl ServerProcess {
    fn new(watch: ExitWatch) -> Self {
        Self { watch, known_by: None, farewell: None }
    }

    /// Waits until the process is gone.
    pub(crate) async fn gone(&mut self) {
        self.watch.wait().await;
    }

    /// Learns how the process ended, once its output has ended. Returns true if it is gone, and the
    /// failure reason for its requests.
    pub(crate) async fn farewell(&mut self) -> (bool, &str) {
        if self.farewell.is_none() {
            // The deadline is kept across calls, so that dropping this future does not restart the
            // wait.
            let by = *self.known_by.get_or_insert(Instant::now() + EXIT_TIME);
            let farewell = match tokio::time::timeout_at(by, self.watch.wait()).await {
                Ok(exit) => (true, format!("the server {exit}")),
                Err(_) => (false, "the server closed its standard output but has not ended".into()),
            };
            self.farewell = Some(farewell);
        }
        match &self.farewell {
            Some((is_gone, reason)) => (*is_gone, reason),
            None => (false, crate::endpoint::CLOSED),
        }
    }
}
