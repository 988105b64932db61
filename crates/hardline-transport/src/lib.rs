//! Resilient MCP transports for tokio.
//!
//! A [`Connection`] is one end of a session over standard streams, sockets, or anything else that
//! tokio can read from and write to. Whatever arrives, it keeps the session alive, and every request
//! that has an id and was not cancelled gets exactly one answer:
//! - a line that is no message is answered with the ids that can be recovered from it, and so is one
//!   that is too large;
//! - a request whose id is already in use, or one too many, is refused, and the others are not
//!   harmed;
//! - after the end of the input the service has time to answer what was accepted.
//!
//! With the feature `rmcp` a connection is a `Transport` of [rmcp](https://docs.rs/rmcp) for servers
//! and clients. [`process`] starts servers as child processes, and leaves none behind. With the feature
//! `http` there are clients' transports over HTTP.
//!
//! The rules are in a part of their own with no I/O in it, as is all framing and parsing
//! ([`hardline_wire`]); there is no policy here.

mod budget;
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

/// A session over standard input and output, for a server or a client.
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
/// On Unix, SIGTERM and SIGINT end the session after a short grace: see
/// [`Config::with_signal_grace`].
///
/// # Panics
///
/// If it is called outside of a tokio runtime with I/O and time enabled.
pub fn stdio() -> Connection {
    stdio_with(Config::default())
}

/// A session over standard input and output, with settings.
///
/// If the system has neither descriptors nor threads left, the session is at its end from the start;
/// [`Connection::stdio`] gives the error instead.
///
/// # Panics
///
/// If it is called outside of a tokio runtime with I/O and time enabled.
pub fn stdio_with(config: Config) -> Connection {
    Connection::stdio(Role::Server, config.clone()).unwrap_or_else(|error| {
        tracing::error!(target: "hardline::transport", %error, "cannot use the standard streams");
        Connection::new(Role::Server, tokio::io::empty(), tokio::io::sink(), config)
    })
}

/// A session with a server that is started for it, and ended with it.
///
/// # Errors
///
/// [`SpawnError`](process::SpawnError), if it cannot be started.
///
/// # Panics
///
/// If the tokio runtime that it is called in was made without I/O or time.
#[cfg(unix)]
pub fn spawn(command: &process::Command) -> Result<ChildConnection, process::SpawnError> {
    spawn_with(command, Config::default())
}

/// A session with a server that is started for it, and ended with it, with settings.
///
/// # Errors
///
/// [`SpawnError`](process::SpawnError), if it cannot be started.
///
/// # Panics
///
/// If the tokio runtime that it is called in was made without I/O or time.
#[cfg(unix)]
pub fn spawn_with(
    command: &process::Command,
    config: Config,
) -> Result<ChildConnection, process::SpawnError> {
    ChildConnection::spawn(command, config)
}

/// A session over a socket or anything else that is read and written.
///
/// # Panics
///
/// If it is called outside of a tokio runtime with time enabled.
pub fn over(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Connection {
    over_with(stream, Config::default())
}

/// A session over a socket or anything else that is read and written, with settings.
///
/// # Panics
///
/// If it is called outside of a tokio runtime with time enabled.
pub fn over_with(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    config: Config,
) -> Connection {
    let (input, output) = tokio::io::split(stream);
    Connection::new(Role::Server, input, output, config)
}
