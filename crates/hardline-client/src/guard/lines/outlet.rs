//! The two outputs of a guarded link.
//!
//! Invariant: nothing but what the guard inspected, or a reply of our own, reaches a peer.

use std::borrow::Cow;
use std::io;
use std::ops::Deref;
use std::task::{Context, Poll};

use hardline_guard::session::Reply;
use hardline_guard::{Delivery, Inspected};
use hardline_transport::lines;
use tokio::io::{AsyncWrite, ReadBuf};

/// Capacity that the buffer to the client keeps when it is empty.
const MIN_CAPACITY: usize = 128 << 10;

/// Output to the server, for deliveries of the guard.
pub(super) struct ServerOutlet<W> {
    lines: lines::Outlet<W>,
}

impl<W: AsyncWrite + Unpin> ServerOutlet<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { lines: lines::Outlet::new(writer) }
    }

    /// Queues a delivery. Replies count on their own: they have a limit of their own, so that a server cannot
    /// fill the queue with them and thereby block the client.
    pub(super) fn send(&mut self, delivery: &Delivery<'_>, context: &mut Context<'_>) {
        self.lines.send(delivery.frame.get(), delivery.is_reply(), context);
    }

    /// Takes the error that broke the output. `None` if the server merely stopped reading.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.lines.take_error()
    }

    /// Writes waiting bytes.
    pub(super) fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.lines.poll_drain(context)
    }

    /// Writes waiting bytes and closes the stream.
    pub(super) fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.lines.poll_close(context)
    }
}

/// Only shared access: raw bytes cannot be sent through it.
impl<W> Deref for ServerOutlet<W> {
    type Target = lines::Outlet<W>;

    fn deref(&self) -> &lines::Outlet<W> {
        &self.lines
    }
}

/// Output that the client has not read yet.
#[derive(Default)]
pub(super) struct ClientOutlet {
    buffer: Vec<u8>,
    /// Bytes of the buffer that the client has read.
    read: usize,
}

impl ClientOutlet {
    /// Queues a frame of the guard.
    pub(super) fn send(&mut self, frame: &Inspected<Cow<'_, [u8]>>) {
        self.buffer.extend_from_slice(frame.get());
        self.buffer.push(b'\n');
    }

    /// Queues a reply of our own.
    pub(super) fn reply(&mut self, reply: &Reply) {
        self.buffer.extend_from_slice(reply.to_line().as_bytes());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Moves output into `buffer`. Returns true if there was any.
    pub(super) fn take(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let unread = self.buffer.get(self.read..).unwrap_or_default();
        if unread.is_empty() {
            return false;
        }
        let (now, _) = unread.split_at(unread.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.read += now.len();
        if self.read == self.buffer.len() {
            self.buffer.clear();
            self.buffer.shrink_to(MIN_CAPACITY);
            self.read = 0;
        }
        true
    }
}
