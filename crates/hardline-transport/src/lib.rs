//! Resilient MCP transports for tokio.
//!
//! An [`Endpoint`] is one end of a session over standard streams, sockets, or anything else that
//! tokio can read from and write to. No input ends the session, and every request that has an id
//! and was not cancelled gets exactly one answer:
//! - a line that is not a message, or that is too large, is answered with an error for each request
//!   id that can be recovered from it;
//! - a request whose id is already in use, or that exceeds the limit on requests in flight, is
//!   refused without affecting other requests;
//! - after the end of the input, the service has time to answer the requests that were accepted.
//!
//! With the features `rmcp-server` and `rmcp-client`, an endpoint is a `Transport` of
//! [rmcp](https://docs.rs/rmcp) in these roles. [`process`] starts servers as child processes and leaves none behind. With
//! the feature `http`, there are client transports over HTTP.
//!
//! A [`LineTransport`](client::LineTransport) opens the client's side of a session over a pair of streams:
//!
//! ```
//! use hardline_transport::EndpointSettings;
//! use hardline_transport::client::{AnswerOutcome, LineTransport, OutgoingRequest, Transport};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (here, mut server) = tokio::io::duplex(1024);
//! let (input, output) = tokio::io::split(here);
//! let session = LineTransport::new(input, output, EndpointSettings::default());
//!
//! let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
//! let answering = async {
//!     let mut line = vec![0; ping.len() + 1];
//!     server.read_exact(&mut line).await?;
//!     // The second line is no message. It does not end the session.
//!     server.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nwarning: ...\n").await
//! };
//! let request = OutgoingRequest::new(1, "ping", ping);
//! let (answer, answered) = tokio::join!(session.request(request), answering);
//! answered?;
//! assert_eq!(answer?.outcome(), AnswerOutcome::Result("{}"));
//! session.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! The session rules are in a module without I/O. Framing and parsing, also without I/O, are in
//! [`hardline_wire`]. This crate contains no policy.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod client;
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
mod settings;
#[cfg(unix)]
mod signal;
mod state;
mod stdio;

#[cfg(unix)]
pub use endpoint::ChildEndpoint;
pub use endpoint::{Endpoint, SendError, Sending};

#[cfg(feature = "rmcp")]
pub use rmcp::{CatchPanics, catch_panics};
#[cfg(feature = "rmcp-server")]
pub use rmcp::{ServeError, serve, serve_stdio, serve_stdio_with};
pub use secrets::Secrets;
pub use settings::EndpointSettings;
#[cfg(unix)]
pub use signal::Signals;
pub use state::{Failure, Incoming, Role, Unfit};
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
/// [`EndpointSettings::with_signal_grace`].
///
/// # Panics
///
/// If called outside of a tokio runtime with I/O and time enabled.
pub fn stdio() -> Endpoint {
    stdio_with(EndpointSettings::default())
}

/// Opens a session over standard input and output with the given settings.
///
/// If the system has no descriptors or threads left, the error is logged and the session has ended
/// from the start. [`Endpoint::stdio`] returns the error instead.
///
/// # Panics
///
/// If called outside of a tokio runtime with I/O and time enabled.
pub fn stdio_with(settings: EndpointSettings) -> Endpoint {
    Endpoint::stdio(Role::Server, settings.clone()).unwrap_or_else(|error| {
        tracing::error!(target: "hardline::transport", %error, "cannot use the standard streams");
        // The signature has no error, so the service sees an input that has already ended.
        Endpoint::new(Role::Server, tokio::io::empty(), tokio::io::sink(), settings)
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
pub fn spawn(command: &process::Command) -> Result<ChildEndpoint, process::SpawnError> {
    spawn_with(command, EndpointSettings::default())
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
    settings: EndpointSettings,
) -> Result<ChildEndpoint, process::SpawnError> {
    ChildEndpoint::spawn(command, settings)
}

/// Opens a session over a socket or any other bidirectional stream.
///
/// # Panics
///
/// If called outside of a tokio runtime with time enabled.
pub fn over(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Endpoint {
    over_with(stream, EndpointSettings::default())
}

/// Opens a session over a socket or any other bidirectional stream, with the given settings.
///
/// # Panics
///
/// If called outside of a tokio runtime with time enabled.
pub fn over_with(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    settings: EndpointSettings,
) -> Endpoint {
    let (input, output) = tokio::io::split(stream);
    Endpoint::new(Role::Server, input, output, settings)
}
