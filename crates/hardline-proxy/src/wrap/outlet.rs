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

/// Output to one peer, for frames that may be sent. Everything but writing is that of
/// [`lines::Outlet`].
#[derive(Debug)]
pub(super) struct Outlet<W> {
    lines: lines::Outlet<W>,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { lines: lines::Outlet::new(writer) }
    }

    /// Takes the error that broke the output. `None` if the peer merely stopped reading.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.lines.take_error()
    }

    /// Writes waiting bytes.
    pub(super) fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.lines.poll_drain(context)
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
                if let Some(server) = &mut self.server {
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
