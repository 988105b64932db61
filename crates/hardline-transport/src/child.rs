//! A session with a server that we start, and end.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::Instant;

use crate::process::{Child, Command, Exit, ExitWatch, SpawnError};
use crate::{Config, Connection, Role, SendError};

/// How long a server that has closed its standard output may take to end, before its requests are told
/// no more than that.
const EXIT_TIME: Duration = Duration::from_secs(1);

/// A session with a server in a process of its own, over its standard streams.
///
/// Requests that wait when the server goes fail at once, with its exit status and the last lines of its
/// standard error. [`close`](Self::close) ends the process and all that it started; so does dropping
/// this, in a hurry.
#[derive(Debug)]
pub struct ChildConnection {
    pub(crate) connection: Connection,
    child: Option<Child>,
    /// How long what was sent may take to be read when the session is closed.
    close_time: Duration,
}

impl ChildConnection {
    /// Starts the server. Must be called inside a runtime.
    ///
    /// # Errors
    ///
    /// [`SpawnError`], if it cannot be started.
    pub fn spawn(command: &Command, config: Config) -> Result<Self, SpawnError> {
        Self::spawn_through(command, config, |output, input| (output, input))
    }

    /// Starts the server, with something between its standard streams and the session: `through` is given
    /// what the server writes to and reads from, and gives what the session reads from and writes to.
    /// Must be called inside a runtime.
    ///
    /// # Errors
    ///
    /// [`SpawnError`], if it cannot be started.
    pub fn spawn_through<R, W>(
        command: &Command,
        config: Config,
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
                Connection::new(Role::Client, output, input, config)
            }
            // Nobody has taken them before.
            _ => Connection::new(Role::Client, tokio::io::empty(), tokio::io::sink(), config),
        };
        let mut this = Self { connection, child: Some(child), close_time };
        this.connection.server = this.child.as_ref().map(|child| Server::new(child.watch()));
        Ok(this)
    }

    /// The session, to receive from and send to.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The process id: of the keeper, if there is one. `None` after the end.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Something to wait with for the end of the process.
    pub fn watch(&self) -> Option<ExitWatch> {
        self.child.as_ref().map(Child::watch)
    }

    /// Writes what was sent, closes the server's standard input, and ends the process if it does not
    /// end by itself: see [`Child::close`]. Returns `None` if that was done before.
    pub async fn close(&mut self) -> Option<Exit> {
        // Whether it reads the last of it or not, it is told to end.
        let _: Result<(), SendError> = self.connection.close_within(self.close_time).await;
        Some(self.child.take()?.close().await)
    }
}

/// What a connection knows of the process at its other end.
#[derive(Debug)]
pub(crate) struct Server {
    watch: ExitWatch,
    /// When the end of the process is not waited for any longer.
    known_by: Option<Instant>,
    /// Whether it is gone, and what requests are told.
    farewell: Option<(bool, String)>,
}

impl Server {
    fn new(watch: ExitWatch) -> Self {
        Self { watch, known_by: None, farewell: None }
    }

    /// Waits until the process is gone.
    pub(crate) async fn gone(&mut self) {
        self.watch.wait().await;
    }

    /// Finds out how it ended, once its output has: whether it is gone, and what to tell requests.
    pub(crate) async fn farewell(&mut self) -> (bool, &str) {
        if self.farewell.is_none() {
            let by = *self.known_by.get_or_insert(Instant::now() + EXIT_TIME);
            let farewell = match tokio::time::timeout_at(by, self.watch.wait()).await {
                Ok(exit) => (true, format!("the server {exit}")),
                Err(_) => (false, "the server closed its standard output but has not ended".into()),
            };
            self.farewell = Some(farewell);
        }
        match &self.farewell {
            Some((is_gone, reason)) => (*is_gone, reason),
            None => (false, crate::connection::CLOSED),
        }
    }
}
