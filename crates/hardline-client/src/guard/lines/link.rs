//! Both directions of a guarded stream.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use hardline_guard::session::Reply;
use hardline_guard::{Carries, Direction, Verdict};
use hardline_transport::lines::{Outlet, Source};
use hardline_wire::frame::Decoder;
use hardline_wire::line::{Line, LineEnd, LineFramer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::wakers::Wakers;
use crate::guard::judge::{Judge, closed_by};
use crate::guard::{GuardSettings, Note};

/// How long it must be quiet after something is due: the runtime may not know yet what has arrived.
const MOMENT: Duration = Duration::from_millis(5);
/// Most bytes kept allocated when nothing waits to be read.
const KEPT: usize = 128 << 10;

pub(super) struct Link<R, W> {
    judge: Judge,
    decoder: Decoder,
    source: Source<R>,
    /// What our side writes.
    written: LineFramer,
    ways: Ways<W>,
    timer: Pin<Box<Sleep>>,
    /// Since when something is due and nothing came.
    quiet_since: Option<Duration>,
    /// Whether the end of the server's stream is dealt with.
    is_finished: bool,
}

/// The ways out to both sides.
struct Ways<W> {
    /// `None` once the server's input is closed.
    server: Option<Outlet<W>>,
    max_bytes: usize,
    /// What our side has not read yet, from `read` on.
    unread: Vec<u8>,
    read: usize,
    /// Why the session was ended, if the policy did.
    closed: Option<String>,
    wakers: Arc<Wakers>,
    /// Those, as the server's input is given it.
    waker: Waker,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Link<R, W> {
    pub(super) fn new(input: R, output: W, settings: &GuardSettings) -> Self {
        let limits = settings.limits();
        let wakers = Arc::new(Wakers::default());
        Self {
            judge: Judge::new(settings),
            decoder: Decoder::new(&limits),
            source: Source::new(input, &limits),
            written: LineFramer::new(&limits),
            ways: Ways {
                server: Some(Outlet::new(output)),
                max_bytes: limits.max_queue_bytes(),
                unread: Vec::new(),
                read: 0,
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
        self.ways.wakers.set_reader(context.waker());
        loop {
            if self.ways.take_unread(buffer) {
                return Poll::Ready(Ok(()));
            }
            if let Some(reason) = &self.ways.closed {
                return Poll::Ready(Err(io::Error::other(reason.clone())));
            }
            if self.is_finished {
                return Poll::Ready(Ok(()));
            }
            if self.ways.is_full(Outlet::waiting_own) {
                return Poll::Pending;
            }
            if self.poll_source(context).is_ready() {
                self.quiet_since = None;
            } else if !self.keep_time(context) {
                let _ = self.ways.drain();
                return Poll::Pending;
            }
        }
    }

    /// Reads from the server once, and judges what came.
    fn poll_source(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Self { judge, decoder, source, ways, .. } = self;
        let count = ready!(source.poll_lines(context, |line, _| {
            if ways.closed.is_some() {
                return;
            }
            if line.end == LineEnd::Eof && is_cut_short(line, decoder) {
                // How the server ended says more than what it left behind.
                judge.tell(&Note::Noise(line.whole().unwrap_or_default()));
                return;
            }
            let verdict = judge.inspect(Direction::ServerToClient, line);
            ways.dispatch(verdict, judge);
        }));
        if source.is_ended() {
            self.is_finished = true;
            let verdict = judge.finish_server();
            ways.dispatch(verdict, judge);
        } else if count == 0 {
            let now = judge.now();
            judge.guard.handle_bytes(source.unfinished(), now);
        }
        Poll::Ready(())
    }

    /// Does what is due, while nothing can be read. Returns whether something was.
    fn keep_time(&mut self, context: &mut Context<'_>) -> bool {
        loop {
            let Some(due) = self.judge.guard.poll_timeout() else { return false };
            let now = self.judge.now();
            let wake_at = if now < due {
                due
            } else {
                let since = *self.quiet_since.get_or_insert(now);
                if since + MOMENT <= now {
                    self.quiet_since = None;
                    let verdict = self.judge.handle_timeout();
                    self.ways.dispatch(verdict, &mut self.judge);
                    return true;
                }
                since + MOMENT
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
        self.ways.wakers.set_writer(context.waker());
        self.ways.check_server()?;
        if self.ways.is_full(Outlet::waiting) {
            return Poll::Pending;
        }
        let mut input = bytes;
        while let Some(line) = self.written.next_line(&mut input) {
            let verdict = self.judge.inspect(Direction::ClientToServer, &line);
            self.ways.dispatch(verdict, &mut self.judge);
        }
        let _ = self.ways.drain();
        self.ways.wake_reader();
        Poll::Ready(Ok(bytes.len()))
    }

    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.ways.wakers.set_writer(context.waker());
        ready!(self.ways.drain());
        Poll::Ready(self.ways.check_server())
    }

    pub(super) fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.ways.wakers.set_writer(context.waker());
        if let Some(line) = self.written.finish() {
            let verdict = self.judge.inspect(Direction::ClientToServer, &line);
            self.ways.dispatch(verdict, &mut self.judge);
            self.ways.wake_reader();
        }
        if let Some(server) = &mut self.ways.server {
            ready!(server.poll_close(&mut Context::from_waker(&self.ways.waker)));
        }
        self.ways.server = None;
        Poll::Ready(())
    }
}

impl<R, W> Link<R, W> {
    /// Closes the server's input, whatever waits for it.
    pub(super) fn close_server(&mut self) {
        self.ways.server = None;
    }
}

impl<W: AsyncWrite + Unpin> Ways<W> {
    /// Puts what comes of a line where it belongs.
    fn dispatch(&mut self, verdict: Verdict<'_>, judge: &mut Judge) {
        if self.closed.is_some() {
            return;
        }
        for delivery in verdict.deliveries {
            let frame = &**delivery.frame.get();
            match delivery.direction {
                Direction::ServerToClient => self.send(frame),
                Direction::ClientToServer => {
                    let is_own = matches!(delivery.carries, Carries::Reply(_) | Carries::Complaint);
                    if let Some(server) = &mut self.server {
                        server.send(frame, is_own, &mut Context::from_waker(&self.waker));
                    }
                }
            }
        }
        if let Some(rule) = verdict.close {
            let reason = closed_by(rule);
            for orphan in judge.guard.settle_all(Direction::ClientToServer) {
                let line = Reply::new(orphan.id, rule, reason.clone()).to_line();
                self.send(line.trim_end().as_bytes());
            }
            self.closed = Some(reason);
            self.server = None;
        }
    }

    fn send(&mut self, frame: &[u8]) {
        self.unread.extend_from_slice(frame);
        self.unread.push(b'\n');
    }

    /// Gives our side what waits for it. Returns whether there was something.
    fn take_unread(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let unread = self.unread.get(self.read..).unwrap_or_default();
        if unread.is_empty() {
            return false;
        }
        let (now, _) = unread.split_at(unread.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.read += now.len();
        if self.read == self.unread.len() {
            self.unread.clear();
            self.unread.shrink_to(KEPT);
            self.read = 0;
        }
        true
    }

    fn wake_reader(&self) {
        if !self.unread.is_empty() || self.closed.is_some() {
            self.wakers.wake_reader();
        }
    }

    /// Writes what waits for the server.
    fn drain(&mut self) -> Poll<()> {
        match &mut self.server {
            Some(server) => server.poll_drain(&mut Context::from_waker(&self.waker)),
            None => Poll::Ready(()),
        }
    }

    /// Whether too much of what `count` counts waits for the server, also after what it takes is written.
    fn is_full(&mut self, count: impl Fn(&Outlet<W>) -> usize) -> bool {
        let max = self.max_bytes;
        let is_full = |it: &Self| it.server.as_ref().is_some_and(|server| max <= count(server));
        is_full(self) && self.drain().is_pending() && is_full(self)
    }

    /// Whether the server's input can be written to.
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

/// Whether the last line of a server that is gone is no message.
fn is_cut_short(line: &Line<'_>, decoder: &mut Decoder) -> bool {
    !line.is_blank() && line.whole().is_none_or(|text| decoder.decode(text).is_err())
}
