//! The two output streams, as the sink of a relay.
//!
//! Invariant: nothing but an [`Outgoing`] reaches a peer.

use std::io;
use std::ops::Deref;
use std::task::{Context, Poll};
use std::time::Duration;

use hardline_guard::Direction;
use hardline_transport::{StandardOutput, lines};
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe::Sender;

use super::Observer;
use crate::notice::Notice;
use crate::relay::{Outgoing, Sink};

/// Time for a peer to read any of the replies that fill its buffer, before its own messages are read
/// nevertheless. A peer that writes much and reads only then would wait for us, as we for it.
const MAX_UNREAD: Duration = Duration::from_secs(5);

/// Output to one peer, for frames that may be sent. Everything but writing is that of
/// [`lines::Outlet`].
#[derive(Debug)]
pub(super) struct Outlet<W> {
    lines: lines::Outlet<W>,
    /// Time since which replies fill the buffer and the peer reads nothing.
    full_since: Option<Duration>,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { lines: lines::Outlet::new(writer), full_since: None }
    }

    /// Returns true if the peer's messages must not be read now, because replies to them fill the
    /// buffer. If the peer reads nothing for [`MAX_UNREAD`], they are read again, and further replies
    /// are dropped.
    pub(super) fn wait_for_reader(&mut self, max_bytes: usize, now: Duration) -> bool {
        if self.lines.waiting_own() < max_bytes {
            self.full_since = None;
        } else {
            self.full_since.get_or_insert(now);
        }
        self.full_since.is_some_and(|since| now < since + MAX_UNREAD)
    }

    /// Returns the time at which the peer's messages are read again, although it reads nothing.
    pub(super) fn end_of_wait(&self) -> Option<Duration> {
        Some(self.full_since? + MAX_UNREAD)
    }

    /// Takes the error that broke the output. `None` if the peer merely stopped reading.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.lines.take_error()
    }

    /// Writes waiting bytes.
    pub(super) fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let before = self.lines.waiting();
        let polled = self.lines.poll_drain(context);
        if self.lines.waiting() < before {
            self.full_since = None;
        }
        polled
    }
}

/// Only shared access: a frame that is no [`Outgoing`] cannot be sent through it.
impl<W> Deref for Outlet<W> {
    type Target = lines::Outlet<W>;

    fn deref(&self) -> &lines::Outlet<W> {
        &self.lines
    }
}

/// Writes the frames of a relay to the right stream.
pub(super) struct Outlets<'a, 'b, 'c> {
    pub(super) client: &'a mut Outlet<StandardOutput>,
    pub(super) server: Option<&'a mut Outlet<Sender>>,
    pub(super) context: &'a mut Context<'b>,
    pub(super) observer: &'c mut dyn Observer,
    pub(super) now: Duration,
}

impl Sink for Outlets<'_, '_, '_> {
    fn send(&mut self, outgoing: Outgoing<'_>) {
        let (frame, is_own) = (outgoing.frame(), outgoing.is_own());
        match outgoing.direction() {
            Direction::ServerToClient => self.client.lines.send(frame, is_own, self.context),
            Direction::ClientToServer => {
                // Between two servers there is no stream; the relay then keeps or fails the
                // requests.
                // A server that does not read its replies gets no more of them; its answers count.
                if let Some(server) = &mut self.server
                    && !(is_own && server.full_since.is_some())
                {
                    server.lines.send(frame, is_own, self.context);
                }
            }
        }
    }

    fn notify(&mut self, notice: &Notice<'_>) {
        self.observer.notify(self.now, notice);
    }

    fn wants_lines(&self) -> bool {
        self.observer.wants_lines()
    }
}
