//! Starts a server as a child process and opens a session with it.

use std::sync::Arc;

use hardline_transport::EndpointSettings;
use hardline_transport::client::{LineTransport, TransportError};
use hardline_transport::process::Command;

use tokio::io::{AsyncRead, AsyncWrite};

use super::Connection;
use crate::guard::lines;
use crate::{ConnectionSettings, Error, StartError, Versions};

impl Connection {
    /// Opens a session over a socket, a pipe or any other bidirectional stream of lines. For anything that carries
    /// whole messages, use [`LineTransport::over_messages`] and [`open`](Self::open).
    ///
    /// ```
    /// use hardline_client::{Connection, ConnectionSettings};
    /// use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (stream, server) = tokio::io::duplex(4096);
    /// # tokio::spawn(async move {
    /// #     let (input, mut output) = tokio::io::split(server);
    /// #     let mut lines = BufReader::new(input).lines();
    /// #     lines.next_line().await.unwrap();
    /// #     let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    /// #     output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    /// #     while let Ok(Some(_)) = lines.next_line().await {}
    /// # });
    /// let connection = Connection::over(stream, ConnectionSettings::default()).await?;
    /// assert!(!connection.version().has_handshake());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] in the same cases as [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with time enabled.
    pub async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        settings: ConnectionSettings,
    ) -> Result<Self, Error> {
        let (input, output) = tokio::io::split(stream);
        let transport = LineTransport::new(input, output, EndpointSettings::default());
        Self::open(Arc::new(transport), settings).await
    }

    /// Starts a server and opens a session with it. The server exits with the session.
    ///
    /// If the server exits on the probe for 2026-07-28, it is started once more and gets `initialize` only.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the server cannot be started, and in the same cases as [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with I/O and time enabled.
    pub async fn spawn(command: &Command, settings: ConnectionSettings) -> Result<Self, Error> {
        // Boxed, because a caller would otherwise carry the settings of both attempts in its own future.
        Box::pin(Self::spawn_with(command, settings, EndpointSettings::default())).await
    }

    /// Like [`spawn`](Self::spawn), with settings of the transport: limits, an observer, a name in logs.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the server cannot be started, and in the same cases as [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with I/O and time enabled.
    pub async fn spawn_with(
        command: &Command,
        mut settings: ConnectionSettings,
        config: EndpointSettings,
    ) -> Result<Self, Error> {
        // The guard on the raw lines sees every message, so a second guard on the messages is not needed.
        let guard = settings.guard.take();
        let secrets = settings.secrets.clone();
        let start = || {
            let config = config.clone();
            let started = match &guard {
                Some(guard) => LineTransport::spawn_through(command, config, |output, input| {
                    lines(output, input, guard)
                }),
                None => LineTransport::spawn(command, config),
            };
            let started = started.map_err(|error| Error::from(StartError::new(error)));
            started.map(Arc::new).map_err(|error| error.hidden(&secrets))
        };
        let is_probed = settings.versions == Versions::Any;
        match Self::open(start()?, settings.clone()).await {
            Err(Error::Transport(TransportError::Closed(_)))
                if is_probed && !settings.is_closing() =>
            {
                Self::open(start()?, settings.with_versions(Versions::WithHandshake)).await
            }
            outcome => outcome,
        }
    }
}
