//! Resilient MCP transports for tokio.
//!
//! A [`Connection`] is one end of a session over standard streams, sockets, or anything else that
//! tokio can read from and write to. No input ends the session, and every request that has an id
//! and was not cancelled gets exactly one answer:
//! - a line that is not a message, or that is too large, is answered with an error for each request
//!   id that can be recovered from it;
//! - a request whose id is already in use, or that exceeds the limit on requests in flight, is
//!   refused without affecting other requests;
//! - after the end of the input, the service has time to answer the requests that were accepted.
//!
//! With the feature `rmcp`, a connection is a `Transport` of [rmcp](https://docs.rs/rmcp) for
//! servers and clients. [`process`] starts servers as child processes and leaves none behind. With
//! the feature `http`, there are client transports over HTTP.
//!
//! The session rules are in a module without I/O. Framing and parsing, also without I/O, are in
//! [`hardline_wire`]. This crate contains no policy.

#[cfg(unix)]
mod child;
pub mod client;
mod config;
mod connection;
mod endpoint;
pub mod event;
pub mod file;
#[cfg(feature = "http")]
pub mod http;
mod input;
pub mod lines;
mod mistyped;
mod outbox;
mod output;
#[cfg(unix)]
pub mod process;
mod report;
#[cfg(feature = "rmcp")]
mod rmcp;
mod secrets;
#[cfg(unix)]
mod signal;
mod stdio;
mod wait;

#[cfg(unix)]
pub use child::ChildConnection;
pub use config::Config;
pub use connection::{Connection, Sending};
pub use endpoint::{Failure, Incoming, Role, Unfit};
pub use outbox::SendError;
#[cfg(feature = "rmcp")]
pub use rmcp::{CatchPanics, catch_panics};
pub use secrets::Secrets;
#[cfg(unix)]
pub use signal::Signals;
pub use stdio::{StandardInput, StandardOutput, standard_streams};

use tokio::io::{AsyncRead, AsyncWrite};

/// Opens a session over standard input and output, for a server or a client.
///
/// ```no_run
/// # use rmcp::{ServerHandler, ServiceExt};
/// # struct Service;
/// # impl ServerHandler for Service {}
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// Service.serve(hardline_transport::stdio()).await?.waiting().await?;
/// # Ok(())
/// # }
/// ```
///
/// On Unix, SIGTERM and SIGINT end the session after a short grace period: see
/// [`Config::with_signal_grace`].
///
/// # Panics
///
/// If called outside of a tokio runtime with I/O and time enabled.
pub fn stdio() -> Connection {
    stdio_with(Config::default())
}

/// Opens a session over standard input and output with the given settings.
///
/// If the system has no descriptors or threads left, the error is logged and the session has ended
/// from the start. [`Connection::stdio`] returns the error instead.
///
/// # Panics
///
/// If called outside of a tokio runtime with I/O and time enabled.
pub fn stdio_with(config: Config) -> Connection {
    Connection::stdio(Role::Server, config.clone()).unwrap_or_else(|error| {
        tracing::error!(target: "hardline::transport", %error, "cannot use the standard streams");
        // The signature has no error, so the service sees an input that has already ended.
        Connection::new(Role::Server, tokio::io::empty(), tokio::io::sink(), config)
    })
}

/// Starts a server and opens a session with it. The server ends with the session.
///
/// # Errors
///
/// [`SpawnError`](process::SpawnError), if the server cannot be started.
///
/// # Panics
///
/// If called in a tokio runtime without I/O or time enabled.
#[cfg(unix)]
pub fn spawn(command: &process::Command) -> Result<ChildConnection, process::SpawnError> {
    spawn_with(command, Config::default())
}

/// Starts a server and opens a session with it, with the given settings. The server ends with the
/// session.
///
/// # Errors
///
/// [`SpawnError`](process::SpawnError), if the server cannot be started.
///
/// # Panics
///
/// If called in a tokio runtime without I/O or time enabled.
#[cfg(unix)]
pub fn spawn_with(
    command: &process::Command,
    config: Config,
) -> Result<ChildConnection, process::SpawnError> {
    ChildConnection::spawn(command, config)
}

/// Opens a session over a socket or any other bidirectional stream.
///
/// # Panics
///
/// If called outside of a tokio runtime with time enabled.
pub fn over(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Connection {
    over_with(stream, Config::default())
}

/// Opens a session over a socket or any other bidirectional stream, with the given settings.
///
/// # Panics
///
/// If called outside of a tokio runtime with time enabled.
pub fn over_with(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    config: Config,
) -> Connection {
    let (input, output) = tokio::io::split(stream);
    Connection::new(Role::Server, input, output, config)
}
