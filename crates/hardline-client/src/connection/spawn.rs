//! A server that is started for its connection.

use std::sync::Arc;

use hardline_transport::Config;
use hardline_transport::client::{Stream, TransportError};
use hardline_transport::process::Command;

use super::Connection;
use crate::guard::lines;
use crate::{Error, Settings, Versions};

impl Connection {
    /// Starts a server and opens a session with it. The server ends with the session.
    ///
    /// A server that ends because it is asked which version it speaks is started once more, and greeted
    /// with `initialize`.
    ///
    /// # Errors
    ///
    /// [`Error`], if it cannot be started, or as for [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime with I/O and time enabled.
    pub async fn spawn(command: &Command, settings: Settings) -> Result<Self, Error> {
        Self::spawn_with(command, settings, Config::default()).await
    }

    /// The same, with settings for the transport: limits, an observer, a name in logs.
    ///
    /// # Errors
    ///
    /// [`Error`], if it cannot be started, or as for [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime with I/O and time enabled.
    pub async fn spawn_with(
        command: &Command,
        mut settings: Settings,
        config: Config,
    ) -> Result<Self, Error> {
        // On the lines it sees all that it would see of the messages.
        let guard = settings.guard.take();
        let secrets = settings.secrets.clone();
        let start = || {
            let config = config.clone();
            let started = match &guard {
                Some(guard) => Stream::spawn_through(command, config, |output, input| {
                    lines(output, input, guard)
                }),
                None => Stream::spawn(command, config),
            };
            let started = started.map_err(|error| Error::Start(error.to_string()));
            started.map(Arc::new).map_err(|error| error.hidden(&secrets))
        };
        let is_asked = settings.versions == Versions::Any;
        match Self::open(start()?, settings.clone()).await {
            Err(Error::Transport(TransportError::Closed(_)))
                if is_asked && !settings.is_closing() =>
            {
                Self::open(start()?, settings.with_versions(Versions::WithHandshake)).await
            }
            outcome => outcome,
        }
    }
}
