//! One end of a session over a stream of bytes.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hardline_wire::line::LineFramer;
use hardline_wire::version::Version;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::EndpointSettings;
use crate::mistyped::Overtime;
use crate::outbox::Outbox;
use crate::output::Output;
use crate::state::{EndpointState, Role};
use crate::stdio::{Probes, Streams};

#[cfg(unix)]
pub(crate) mod child;
mod receive;
mod send;

#[cfg(unix)]
pub use child::ChildEndpoint;
pub use send::{SendError, Sending};

/// Size of the read buffer.
const READ_BYTES: usize = 64 << 10;

/// Interval of checks whether the peer still reads its answers.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// One end of a session: lines of JSON-RPC over anything that tokio can read from and write to.
///
/// With the features `rmcp-server` and `rmcp-client` it is a `Transport` of rmcp. Without them, receive messages
/// with [`receive_with`](Self::receive_with) and send them line by line.
///
/// The connection reads only when the service asks for a message, so a busy service applies
/// backpressure to its peer. Outgoing messages pass through a bounded queue and a separate writer
/// task. Dropping the future of a receive or a send loses nothing.
pub struct Endpoint {
    input: Box<dyn AsyncRead + Send + Unpin>,
    buffer: Box<[u8]>,
    /// The part of `buffer` that was read and not yet framed.
    unframed: std::ops::Range<usize>,
    framer: LineFramer,
    pub(crate) state: EndpointState,
    outbox: Arc<Outbox>,
    /// Checks on the streams that need no reading or writing.
    probes: Option<Probes>,
    #[cfg(unix)]
    signal: Option<crate::signal::Listener>,
    /// The process at the other end, if this side started it.
    #[cfg(unix)]
    pub(crate) server: Option<child::ServerProcess>,
    settings: EndpointSettings,
    phase: Phase,
    /// Reason why reading failed; `None` if the peer ended the input.
    read_error: Option<String>,
    /// Deadline for reading more. Set once the peer exited or stopped reading.
    read_until: Option<Instant>,
    /// Extra time after the deadline of a request, for input that arrived before it.
    overtime: Overtime,
    /// Deadline for a peer that closed its side and does not read its answers.
    held_until: Option<Instant>,
    #[cfg(feature = "rmcp")]
    pub(crate) opening: crate::rmcp::Opening,
    /// Buffer for the next outgoing line.
    spare: Vec<u8>,
}

/// Phase of the session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Open,
    /// Reading has ended; accepted requests may finish until then.
    Draining {
        until: Instant,
    },
    /// Every request is answered. Requests that were given up are still handed to the service.
    Ended,
}

impl Endpoint {
    /// Starts a session over a pair of streams, such as the halves of a socket. Must be called
    /// inside a tokio runtime.
    pub fn new(
        role: Role,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        settings: EndpointSettings,
    ) -> Self {
        Self::start(role, Box::new(input), Output::Async(Box::new(output)), settings)
    }

    /// Starts a session over the standard streams. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// If a standard stream is closed, or the system cannot start a thread.
    pub fn stdio(role: Role, settings: EndpointSettings) -> io::Result<Self> {
        let streams = crate::stdio::open()?;
        #[cfg(unix)]
        let signal = settings.signal_grace.map(crate::signal::Listener::new).transpose()?;
        let connection = Self::over_streams(role, streams, settings);
        #[cfg(unix)]
        let connection = connection.with_signal(signal);
        Ok(connection)
    }

    #[cfg(unix)]
    fn with_signal(mut self, signal: Option<crate::signal::Listener>) -> Self {
        self.signal = signal;
        self
    }

    pub(crate) fn over_streams(role: Role, streams: Streams, settings: EndpointSettings) -> Self {
        let mut connection = Self::start(role, streams.input, streams.output, settings);
        connection.probes = streams.probes;
        connection
    }

    fn start(
        role: Role,
        input: Box<dyn AsyncRead + Send + Unpin>,
        output: Output,
        settings: EndpointSettings,
    ) -> Self {
        let state = EndpointState::new(role, &settings);
        Self {
            input,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            unframed: 0..0,
            framer: LineFramer::new(&settings.limits),
            outbox: Outbox::start(&settings.limits, output, state.reporter().clone()),
            state,
            probes: None,
            #[cfg(unix)]
            signal: None,
            #[cfg(unix)]
            server: None,
            settings,
            phase: Phase::Open,
            read_error: None,
            read_until: None,
            overtime: Overtime::default(),
            held_until: None,
            #[cfg(feature = "rmcp")]
            opening: crate::rmcp::Opening::default(),
            spare: Vec::new(),
        }
    }

    /// Sets the version that `initialize` negotiated. It decides whether batches are allowed and
    /// how a line without an id is answered. The rmcp transport calls this itself.
    pub fn set_version(&mut self, version: Version) {
        self.state.set_version(version);
    }

    /// Returns the reason why no more input comes, if known: reading failed, or the process at the
    /// other end exited.
    pub(crate) async fn farewell(&mut self) -> Option<&str> {
        // The error explains the end better than the exit of the server that follows it.
        if let Some(error) = &self.read_error {
            return Some(error);
        }
        #[cfg(unix)]
        if let Some(server) = &mut self.server {
            return Some(server.farewell().await.1);
        }
        None
    }

    /// Answers every open request with an error, because the service no longer will.
    fn abandon(&mut self) {
        // Each request in flight gets an error, even if the service was dropped.
        self.state.abandon("the connection was closed before the request was done");
        self.send_replies();
    }
}

/// Failure reason for requests when the session has ended.
pub(crate) const CLOSED: &str = "the connection is closed";

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.abandon();
        self.outbox.finish(self.settings.grace);
    }
}

/// Waits until the peer stops reading the output. Never returns without probes.
async fn until_unread(probes: Option<&Probes>) {
    let Some(probes) = probes else { return std::future::pending().await };
    // Polled, because an idle connection writes nothing that would fail.
    while !(probes.is_unread)() {
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("phase", &self.phase)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
