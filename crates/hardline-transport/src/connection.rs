//! One end of a session over a stream of bytes.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hardline_wire::json::Value;
use hardline_wire::line::LineFramer;
use hardline_wire::message::Message;
use hardline_wire::version::Version;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::Config;
use crate::endpoint::{Endpoint, Incoming, Role, Unfit};
use crate::event::{Event, IoDirection};
use crate::mistyped::Overtime;
use crate::outbox::{FOREVER, Outbox};
use crate::output::Output;
use crate::stdio::{Probes, Streams};
use crate::wait::until;
#[cfg(unix)]
use crate::wait::{gone, heard};

mod send;

pub use send::Sending;

/// Size of the read buffer.
const READ_BYTES: usize = 64 << 10;

/// Time in which remaining output still counts after the peer exited or stopped reading.
const LAST_OUTPUT_TIME: Duration = Duration::from_millis(500);

/// Interval of checks whether the peer still reads its answers.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// One end of a session: lines of JSON-RPC over anything that tokio can read from and write to.
///
/// With the feature `rmcp` it is a `Transport` of rmcp for both roles. Without it, receive messages
/// with [`receive_with`](Self::receive_with) and send them line by line.
///
/// The connection reads only when the service asks for a message, so a busy service applies
/// backpressure to its peer. Outgoing messages pass through a bounded queue and a separate writer
/// task. Dropping the future of a receive or a send loses nothing.
pub struct Connection {
    input: Box<dyn AsyncRead + Send + Unpin>,
    buffer: Box<[u8]>,
    /// The part of `buffer` that was read and not yet framed.
    unframed: std::ops::Range<usize>,
    framer: LineFramer,
    pub(crate) endpoint: Endpoint,
    outbox: Arc<Outbox>,
    /// Checks on the streams that need no reading or writing.
    probes: Option<Probes>,
    #[cfg(unix)]
    signal: Option<crate::signal::Listener>,
    /// The process at the other end, if this side started it.
    #[cfg(unix)]
    pub(crate) server: Option<crate::child::Server>,
    config: Config,
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

/// Event that ended a wait.
enum Wake {
    Read(io::Result<usize>),
    #[cfg(unix)]
    Signal,
    /// Writing failed, so no more output can leave.
    WriteFailed,
    /// The process at the other end exited, or its remaining output took too long.
    Gone,
    /// A request to the peer reached its deadline, and all input from before the deadline was read.
    Expired,
}

impl Connection {
    /// Starts a session over a pair of streams, such as the halves of a socket. Must be called
    /// inside a tokio runtime.
    pub fn new(
        role: Role,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        config: Config,
    ) -> Self {
        Self::start(role, Box::new(input), Output::Async(Box::new(output)), config)
    }

    /// Starts a session over the standard streams. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// If a standard stream is closed, or the system cannot start a thread.
    pub fn stdio(role: Role, config: Config) -> io::Result<Self> {
        let streams = crate::stdio::open()?;
        #[cfg(unix)]
        let signal = config.signal_grace.map(crate::signal::Listener::new).transpose()?;
        let connection = Self::over_streams(role, streams, config);
        #[cfg(unix)]
        let connection = connection.with_signal(signal);
        Ok(connection)
    }

    #[cfg(unix)]
    fn with_signal(mut self, signal: Option<crate::signal::Listener>) -> Self {
        self.signal = signal;
        self
    }

    pub(crate) fn over_streams(role: Role, streams: Streams, config: Config) -> Self {
        let mut connection = Self::start(role, streams.input, streams.output, config);
        connection.probes = streams.probes;
        connection
    }

    fn start(
        role: Role,
        input: Box<dyn AsyncRead + Send + Unpin>,
        output: Output,
        config: Config,
    ) -> Self {
        let endpoint = Endpoint::new(role, &config);
        Self {
            input,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            unframed: 0..0,
            framer: LineFramer::new(&config.limits),
            outbox: Outbox::start(&config.limits, output, endpoint.reporter().clone()),
            endpoint,
            probes: None,
            #[cfg(unix)]
            signal: None,
            #[cfg(unix)]
            server: None,
            config,
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
        self.endpoint.set_version(version);
    }

    /// Receives the next message or event for the service. `decode` turns a message into the type
    /// that the service takes. A request that it refuses is answered with an error; an answer that
    /// it refuses fails its request.
    ///
    /// Returns `None` at the end: the peer closed its side, and each of its requests was answered
    /// or given up at the end of the grace period. Dropping the future loses nothing.
    pub async fn receive_with<T>(
        &mut self,
        mut decode: impl FnMut(&Message<'_>, Value<'_>) -> Result<T, Unfit>,
    ) -> Option<Incoming<T>> {
        loop {
            if let Some(failure) = self.endpoint.next_failure() {
                return Some(Incoming::Failed(failure));
            }
            // Replies go first: they may be what fills the queue.
            self.send_replies();
            // A peer that does not read its answers must not make us queue more of them.
            if self.phase == Phase::Open && self.outbox.holds_reading() {
                self.hold_reading().await;
                continue;
            }
            // The rest of a batch comes before the next line.
            let taken = match self.endpoint.handle_element(&mut decode) {
                Some(taken) => taken,
                None => self.step(&mut decode).await?,
            };
            if let Some(incoming) = taken {
                self.send_replies();
                return Some(incoming);
            }
        }
    }

    /// Waits until more input may be read, or until it is clear that the peer will not read its
    /// answers.
    async fn hold_reading(&mut self) {
        let probe = tokio::time::sleep(PROBE_INTERVAL);
        #[cfg(unix)]
        tokio::select! {
            biased;
            () = heard(&mut self.signal) => {
                self.signal = None;
                self.drain_for(self.config.signal_grace.unwrap_or_default());
                return;
            }
            () = self.outbox.until_readable() => {
                self.held_until = None;
                return;
            }
            () = gone(&mut self.server) => self.drain_for(Duration::ZERO),
            () = probe => {}
        }
        #[cfg(not(unix))]
        tokio::select! {
            () = self.outbox.until_readable() => {
                self.held_until = None;
                return;
            }
            () = probe => {}
        }
        // A connection that does not read cannot see the end of the input, so probe for it.
        let now = Instant::now();
        let (is_closed, is_unread) =
            self.probes.as_ref().map_or((false, false), |it| ((it.is_closed)(), (it.is_unread)()));
        if is_closed && self.held_until.is_none() {
            self.held_until = Some(now + self.config.grace.min(FOREVER));
        }
        if is_unread || self.held_until.is_some_and(|until| until <= now) {
            self.drain_for(Duration::ZERO);
        }
    }

    /// Takes one line from the buffer, fills the buffer, or waits for the end. Returns `None` once
    /// no more messages can come.
    async fn step<T>(
        &mut self,
        decode: &mut impl FnMut(&Message<'_>, Value<'_>) -> Result<T, Unfit>,
    ) -> Option<Option<Incoming<T>>> {
        match self.phase {
            Phase::Open if self.unframed.is_empty() => match self.read().await {
                #[cfg(unix)]
                Wake::Signal => {
                    self.signal = None;
                    self.drain_for(self.config.signal_grace.unwrap_or_default());
                }
                // A server has no work left. The peer of a client may have answered before it
                // stopped reading.
                Wake::WriteFailed if self.endpoint.role() == Role::Server => {
                    self.drain_for(Duration::ZERO);
                }
                Wake::WriteFailed => self.read_until = Some(Instant::now() + LAST_OUTPUT_TIME),
                Wake::Gone if self.read_until.is_some() => self.drain_for(Duration::ZERO),
                // Remaining output of an exited process may still be in the pipe, so read on for a
                // while.
                Wake::Gone => self.read_until = Some(Instant::now() + LAST_OUTPUT_TIME),
                Wake::Expired => {
                    self.overtime = Overtime::default();
                    self.endpoint.expire();
                }
                // The last line may lack its newline.
                Wake::Read(Ok(0)) => {
                    let line = self.framer.finish();
                    let last = line.and_then(|line| self.endpoint.handle_line(&line, decode));
                    self.drain_for(self.end_grace());
                    return Some(last);
                }
                Wake::Read(Ok(length)) => {
                    self.overtime.found();
                    self.unframed = 0..length;
                }
                Wake::Read(Err(error)) => {
                    let event = Event::Io { direction: IoDirection::Read, error: &error };
                    self.endpoint.reporter().report(&event);
                    self.read_error = Some(error.to_string());
                    self.drain_for(self.end_grace());
                }
            },
            Phase::Open => {
                let chunk = self.buffer.get(self.unframed.clone()).unwrap_or_default();
                let mut rest = chunk;
                let line = self.framer.next_line(&mut rest);
                let taken = line.and_then(|line| self.endpoint.handle_line(&line, decode));
                self.unframed.start = self.unframed.end - rest.len();
                return Some(taken);
            }
            Phase::Draining { until } => self.drain(until).await,
            Phase::Ended => {
                return self.endpoint.next_abandoned().map(Incoming::Abandoned).map(Some);
            }
        }
        Some(None)
    }

    /// Waits for input, or for an event that ends reading. Dropping the future loses nothing: bytes
    /// are in the buffer only once this has returned.
    async fn read(&mut self) -> Wake {
        let Self { input, buffer, outbox, read_until, overtime, endpoint, .. } = self;
        let read = poll_fn(|context| {
            let mut buffer = ReadBuf::new(buffer);
            let poll = Pin::new(&mut *input).poll_read(context, &mut buffer);
            poll.map_ok(|()| buffer.filled().len())
        });
        if let Some(until) = *read_until {
            let read = tokio::time::timeout_at(until, read);
            return read.await.map_or(Wake::Gone, Wake::Read);
        }
        let deadline = endpoint.next_deadline();
        let end = deadline.and_then(|it| overtime.end(it));
        if deadline.is_some() && end.is_none() {
            return Wake::Expired;
        }
        #[cfg(unix)]
        let others = {
            let (signal, server) = (&mut self.signal, &mut self.server);
            async move {
                tokio::select! {
                    biased;
                    () = heard(signal) => Wake::Signal,
                    () = gone(server) => Wake::Gone,
                }
            }
        };
        #[cfg(not(unix))]
        let others = std::future::pending::<Wake>();
        tokio::select! {
            biased;
            wake = others => wake,
            () = outbox.failure() => Wake::WriteFailed,
            result = read => Wake::Read(result),
            () = until(end) => Wake::Expired,
        }
    }

    /// Returns the time for accepted requests to finish after the end of the input. For a client it
    /// is short: a server that closed its output waits for nothing.
    fn end_grace(&self) -> Duration {
        match self.endpoint.role() {
            Role::Server => self.config.grace,
            Role::Client => self.config.grace.min(LAST_OUTPUT_TIME),
        }
    }

    /// Stops reading and gives accepted requests `grace` to finish.
    fn drain_for(&mut self, grace: Duration) {
        self.unframed = 0..0;
        // `FOREVER` keeps the sum within the range of the clock.
        self.phase = Phase::Draining { until: Instant::now() + grace.min(FOREVER) };
    }

    /// Waits for accepted requests, and ends the session if there is no reason to wait longer.
    async fn drain(&mut self, until: Instant) {
        #[cfg(unix)]
        let (is_gone, reason) = match (&self.read_error, &mut self.server) {
            (Some(error), _) => (false, error.as_str()),
            (None, Some(server)) => server.farewell().await,
            (None, None) => (false, CLOSED),
        };
        #[cfg(not(unix))]
        let (is_gone, reason) = (false, self.read_error.as_deref().unwrap_or(CLOSED));
        // Failures of our own requests are handed to the service first; `drain` is called again
        // after.
        if self.endpoint.fail_all(reason) {
            return;
        }
        let now = Instant::now();
        let is_unread = is_gone || self.probes.as_ref().is_some_and(|it| (it.is_unread)());
        if self.endpoint.is_settled() || until <= now || is_unread || self.outbox.has_failed() {
            self.abandon();
            self.phase = Phase::Ended;
            return;
        }
        // Without probes only the deadline or a failed write can end the wait.
        let next_look = if self.probes.is_some() { now + PROBE_INTERVAL } else { until };
        let probe = tokio::time::sleep_until(until.min(next_look));
        #[cfg(unix)]
        tokio::select! {
            () = heard(&mut self.signal) => {
                self.signal = None;
                let sooner = now + self.config.signal_grace.unwrap_or_default().min(FOREVER);
                self.phase = Phase::Draining { until: until.min(sooner) };
            }
            () = self.outbox.failure() => {}
            () = probe => {}
        }
        #[cfg(not(unix))]
        tokio::select! {
            () = self.outbox.failure() => {}
            () = probe => {}
        }
    }

    /// Returns the reason why no more input comes, if known: reading failed, or the process at the
    /// other end exited.
    pub(crate) async fn farewell(&mut self) -> Option<&str> {
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
        self.endpoint.abandon("the connection was closed before the request was done");
        self.send_replies();
    }
}

/// Failure reason for requests when the session has ended.
pub(crate) const CLOSED: &str = "the connection is closed";

impl Drop for Connection {
    fn drop(&mut self) {
        self.abandon();
        self.outbox.finish(self.config.grace);
    }
}

/// Waits until the peer stops reading the output. Never returns without probes.
async fn until_unread(probes: Option<&Probes>) {
    let Some(probes) = probes else { return std::future::pending().await };
    while !(probes.is_unread)() {
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("phase", &self.phase)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
