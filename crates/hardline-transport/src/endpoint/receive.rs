//! Receiving: reading lines, holding back while the peer does not read, and the end of the input.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use hardline_wire::json::Value;
use hardline_wire::message::Message;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

use super::{CLOSED, Endpoint, PROBE_INTERVAL, Phase};
use crate::event::{EndpointEvent, IoDirection};
use crate::mistyped::Overtime;
use crate::state::{Incoming, Role, Unfit};
use hardline_wire::limits::FOREVER;

/// Time in which remaining output still counts after the peer exited or stopped reading.
const LAST_OUTPUT_TIME: Duration = Duration::from_millis(500);

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

impl Endpoint {
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
            if let Some(failure) = self.state.next_failure() {
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
            let taken = match self.state.handle_element(&mut decode) {
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
                self.drain_for(self.settings.signal_grace.unwrap_or_default());
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
            self.held_until = Some(now + self.settings.grace.min(FOREVER));
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
                    self.drain_for(self.settings.signal_grace.unwrap_or_default());
                }
                // A server has no work left. The peer of a client may have answered before it
                // stopped reading.
                Wake::WriteFailed if self.state.role() == Role::Server => {
                    self.drain_for(Duration::ZERO);
                }
                Wake::WriteFailed => self.read_until = Some(Instant::now() + LAST_OUTPUT_TIME),
                Wake::Gone if self.read_until.is_some() => self.drain_for(Duration::ZERO),
                // Remaining output of an exited process may still be in the pipe, so read on for a
                // while.
                Wake::Gone => self.read_until = Some(Instant::now() + LAST_OUTPUT_TIME),
                Wake::Expired => {
                    self.overtime = Overtime::default();
                    self.state.expire();
                }
                // The last line may lack its newline.
                Wake::Read(Ok(0)) => {
                    let line = self.framer.finish();
                    let last = line.and_then(|line| self.state.handle_line(&line, decode));
                    self.drain_for(self.end_grace());
                    return Some(last);
                }
                Wake::Read(Ok(length)) => {
                    self.overtime.found();
                    self.unframed = 0..length;
                }
                Wake::Read(Err(error)) => {
                    let event = EndpointEvent::Io { direction: IoDirection::Read, error: &error };
                    self.state.reporter().report(&event);
                    self.read_error = Some(error.to_string());
                    self.drain_for(self.end_grace());
                }
            },
            Phase::Open => {
                let chunk = self.buffer.get(self.unframed.clone()).unwrap_or_default();
                let mut rest = chunk;
                let line = self.framer.next_line(&mut rest);
                let taken = line.and_then(|line| self.state.handle_line(&line, decode));
                self.unframed.start = self.unframed.end - rest.len();
                return Some(taken);
            }
            Phase::Draining { until } => self.drain(until).await,
            Phase::Ended => {
                return self.state.next_abandoned().map(Incoming::Abandoned).map(Some);
            }
        }
        Some(None)
    }

    /// Waits for input, or for an event that ends reading. Dropping the future loses nothing: bytes
    /// are in the buffer only once this has returned.
    async fn read(&mut self) -> Wake {
        let Self { input, buffer, outbox, read_until, overtime, state, .. } = self;
        let read = poll_fn(|context| {
            let mut buffer = ReadBuf::new(buffer);
            let poll = Pin::new(&mut *input).poll_read(context, &mut buffer);
            poll.map_ok(|()| buffer.filled().len())
        });
        if let Some(until) = *read_until {
            let read = tokio::time::timeout_at(until, read);
            return read.await.map_or(Wake::Gone, Wake::Read);
        }
        let deadline = state.next_deadline();
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
        match self.state.role() {
            Role::Server => self.settings.grace,
            Role::Client => self.settings.grace.min(LAST_OUTPUT_TIME),
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
        if self.state.fail_all(reason) {
            return;
        }
        let now = Instant::now();
        let is_unread = is_gone || self.probes.as_ref().is_some_and(|it| (it.is_unread)());
        if self.state.is_settled() || until <= now || is_unread || self.outbox.has_failed() {
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
                let sooner = now + self.settings.signal_grace.unwrap_or_default().min(FOREVER);
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
}

/// Waits for a signal. Never returns without a listener.
#[cfg(unix)]
async fn heard(signal: &mut Option<crate::signal::Listener>) {
    match signal {
        Some(signal) => signal.heard().await,
        None => std::future::pending().await,
    }
}

/// Waits for a deadline. Never returns without one.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of a process. Never returns without one.
#[cfg(unix)]
async fn gone(server: &mut Option<super::child::ServerProcess>) {
    match server {
        Some(server) => server.gone().await,
        None => std::future::pending().await,
    }
}
