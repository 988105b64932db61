//! The guarded link: both directions of a byte stream, and the guard between them.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use hardline_guard::session::Reply;
use hardline_guard::{Direction, Inspection};
use hardline_transport::lines::{Outlet, Source};
use hardline_wire::frame::{Decoder, is_truncated};
use hardline_wire::line::LineFramer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::outlet::{ClientOutlet, ServerOutlet};
use super::wakers::Wakers;
use crate::guard::judge::{Judge, closed_by};
use crate::guard::{GuardEvent, GuardSettings};

/// Quiet time required after a guard deadline before it fires. Bytes that arrived before the deadline may
/// not have been polled yet.
const QUIET: Duration = Duration::from_millis(5);

pub(super) struct Link<R, W> {
    judge: Judge,
    decoder: Decoder,
    source: Source<R>,
    /// Splits what the client writes into lines.
    written: LineFramer,
    outputs: Outputs<W>,
    timer: Pin<Box<Sleep>>,
    /// Time since which a guard deadline has passed without new bytes.
    quiet_since: Option<Duration>,
    /// True once the end of the server's stream was handled.
    is_finished: bool,
}

/// The buffered outputs to the client and to the server.
struct Outputs<W> {
    /// `None` once the server's input is closed.
    server: Option<ServerOutlet<W>>,
    max_bytes: usize,
    client: ClientOutlet,
    /// Reason for which the policy ended the session, if it did.
    closed: Option<String>,
    wakers: Arc<Wakers>,
    /// `wakers` as a single waker, for polling the server's input.
    waker: Waker,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Link<R, W> {
    pub(super) fn new(input: R, output: W, settings: &GuardSettings) -> Self {
        let limits = settings.limits();
        let wakers = Arc::new(Wakers::default());
        Self {
            judge: Judge::new(settings.build(), settings),
            decoder: Decoder::new(&limits),
            source: Source::new(input, &limits),
            written: LineFramer::new(&limits),
            outputs: Outputs {
                server: Some(ServerOutlet::new(output)),
                max_bytes: limits.max_queue_bytes(),
                client: ClientOutlet::default(),
                closed: None,
                waker: Waker::from(Arc::clone(&wakers)),
                wakers,
            },
            timer: Box::pin(sleep_until(Instant::now())),
            quiet_since: None,
            is_finished: false,
        }
    }

    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.outputs.wakers.set_reader(context.waker());
        loop {
            if self.outputs.client.take(buffer) {
                return Poll::Ready(Ok(()));
            }
            if let Some(reason) = &self.outputs.closed {
                return Poll::Ready(Err(io::Error::other(reason.clone())));
            }
            if self.is_finished {
                return Poll::Ready(Ok(()));
            }
            // The server does not read our errors; reading more from it would produce more of them.
            if !self.outputs.try_drain(Outlet::waiting_own) {
                return Poll::Pending;
            }
            if self.poll_source(context).is_ready() {
                self.quiet_since = None;
            } else if !self.handle_timeout(context) {
                let _ = self.outputs.drain();
                return Poll::Pending;
            }
        }
    }

    /// Reads from the server once and judges the complete lines.
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Self { judge, decoder, source, outputs, .. } = self;
        let was_unfinished = !source.unfinished().is_empty();
        let count = ready!(source.poll_lines(context, |line, _| {
            if outputs.closed.is_some() {
                return;
            }
            if is_truncated(line, decoder) {
                // A half-written last line is noise: that the server exited says more than a framing error.
                judge.report(&GuardEvent::Noise(line.whole().unwrap_or_default()));
                return;
            }
            let inspection = judge.inspect(Direction::ServerToClient, line);
            outputs.dispatch(inspection, judge);
        }));
        if source.is_ended() {
            self.is_finished = true;
            let inspection = judge.finish_server();
            outputs.dispatch(inspection, judge);
        } else if count == 0 || was_unfinished || !source.unfinished().is_empty() {
            // Part of a line is a sign of life too: the guard goes on waiting for the rest of a torn message.
            // It also has to know when a line begins, and that none has.
            let now = judge.now();
            judge.guard.handle_bytes(source.unfinished(), now);
        }
        Poll::Ready(())
    }

    /// Calls the guard if its deadline has passed and the server stays quiet. Returns true if the guard ran.
    fn handle_timeout(&mut self, context: &mut Context<'_>) -> bool {
        loop {
            let Some(due) = self.judge.guard.poll_timeout() else { return false };
            let now = self.judge.now();
            let wake_at = if now < due {
                due
            } else {
                let since = *self.quiet_since.get_or_insert(now);
                if since + QUIET <= now {
                    self.quiet_since = None;
                    let inspection = self.judge.handle_timeout();
                    self.outputs.dispatch(inspection, &mut self.judge);
                    return true;
                }
                since + QUIET
            };
            let wake_at = self.judge.instant(wake_at);
            if self.timer.deadline() != wake_at {
                self.timer.as_mut().reset(wake_at);
            }
            if self.timer.as_mut().poll(context).is_pending() {
                return false;
            }
        }
    }

    pub(super) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.outputs.wakers.set_writer(context.waker());
        self.outputs.check_server()?;
        if !self.outputs.try_drain(Outlet::waiting) {
            return Poll::Pending;
        }
        let mut input = bytes;
        while let Some(line) = self.written.next_line(&mut input) {
            let inspection = self.judge.inspect(Direction::ClientToServer, &line);
            self.outputs.dispatch(inspection, &mut self.judge);
        }
        // The whole buffer was judged, so it counts as written even if the server reads it later.
        let _ = self.outputs.drain();
        // A blocked request is answered through the reading half, which may be asleep.
        self.outputs.wake_reader();
        Poll::Ready(Ok(bytes.len()))
    }

    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outputs.wakers.set_writer(context.waker());
        ready!(self.outputs.drain());
        Poll::Ready(self.outputs.check_server())
    }

    pub(super) fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.outputs.wakers.set_writer(context.waker());
        if let Some(line) = self.written.finish() {
            let inspection = self.judge.inspect(Direction::ClientToServer, &line);
            self.outputs.dispatch(inspection, &mut self.judge);
            self.outputs.wake_reader();
        }
        if let Some(server) = &mut self.outputs.server {
            ready!(server.poll_close(&mut Context::from_waker(&self.outputs.waker)));
        }
        self.outputs.server = None;
        Poll::Ready(())
    }
}

impl<R, W> Link<R, W> {
    /// Closes the server's input and drops output that still waits for it.
    pub(super) fn close_server(&mut self) {
        self.outputs.server = None;
    }
}

impl<W: AsyncWrite + Unpin> Outputs<W> {
    /// Moves the deliveries of an inspection to the outputs, and ends the session if it says so.
    fn dispatch(&mut self, inspection: Inspection<'_>, judge: &mut Judge) {
        if self.closed.is_some() {
            return;
        }
        for delivery in inspection.deliveries {
            match delivery.direction {
                Direction::ServerToClient => self.client.send(&delivery.frame),
                Direction::ClientToServer => {
                    if let Some(server) = &mut self.server {
                        server.send(&delivery, &mut Context::from_waker(&self.waker));
                    }
                }
            }
        }
        if let Some(rule) = inspection.close {
            let reason = closed_by(rule);
            // The client must not wait for answers that the closed server can no longer give.
            for orphan in judge.guard.settle_all(Direction::ClientToServer) {
                self.client.reply(&Reply::new(orphan.id, rule, reason.clone()));
            }
            self.closed = Some(reason);
            self.server = None;
        }
    }

    fn wake_reader(&self) {
        if !self.client.is_empty() || self.closed.is_some() {
            self.wakers.wake_reader();
        }
    }

    /// Writes buffered output to the server.
    fn drain(&mut self) -> Poll<()> {
        match &mut self.server {
            Some(server) => server.poll_drain(&mut Context::from_waker(&self.waker)),
            None => Poll::Ready(()),
        }
    }

    /// Writes to the server if at least `max_bytes` of what `count` counts wait for it. Returns false if as many
    /// still wait.
    fn try_drain(&mut self, count: impl Fn(&Outlet<W>) -> usize) -> bool {
        let max = self.max_bytes;
        let is_full = |it: &Self| it.server.as_ref().is_some_and(|server| max <= count(server));
        !is_full(self) || self.drain().is_ready() || !is_full(self)
    }

    /// Returns an error if the server's input can no longer be written to.
    fn check_server(&mut self) -> io::Result<()> {
        if let Some(reason) = &self.closed {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, reason.clone()));
        }
        match &mut self.server {
            Some(server) if server.is_broken() => {
                Err(server.take_error().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()))
            }
            Some(_) => Ok(()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}
