//! The guard on a stream of lines, as `hardline wrap` has it between a client and a server.
//!
//! There is no task in it: whoever reads moves what the server sends and keeps the time, whoever writes
//! moves what goes to the server. What comes of a line is put into a buffer in the same turn.
//!
//! Invariants:
//! - Every line of both directions is shown to one guard, in the order in which it came.
//! - Nothing more is read from the server while anything of it waits to be read here, or while
//!   `max_queue_bytes` of errors for it wait to be written; what is written here waits while as much waits for
//!   the server. Neither direction waits for the other.
//! - The end of the server's stream is passed on after what was held is settled and read.
//! - What our side is owed for requests that were stopped is not bounded here: it is one error for each, and
//!   our side bounds its requests.

mod link;
mod wakers;

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::GuardSettings;
use link::Link;

/// Puts a guard on a stream: `input` is what the server writes, `output` what it reads. Returns what our side
/// reads from and writes to instead. Must be called inside a runtime with time enabled.
///
/// When the policy ends the session, requests under way get an error, the server's input is closed, and
/// reading fails with the reason.
pub fn lines<R, W>(
    input: R,
    output: W,
    settings: &GuardSettings,
) -> (GuardedInput<R, W>, GuardedOutput<R, W>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let link = Arc::new(Mutex::new(Link::new(input, output, settings)));
    (GuardedInput(Shared(Arc::clone(&link))), GuardedOutput(Shared(link)))
}

/// What our side reads from.
pub struct GuardedInput<R, W>(Shared<R, W>);

/// What our side writes to. The server's input is closed when it is shut down or dropped.
pub struct GuardedOutput<R, W>(Shared<R, W>);

struct Shared<R, W>(Arc<Mutex<Link<R, W>>>);

impl<R, W> Shared<R, W> {
    fn lock(&self) -> MutexGuard<'_, Link<R, W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> AsyncRead for GuardedInput<R, W> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.lock().poll_read(context, buffer)
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> AsyncWrite for GuardedOutput<R, W> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.lock().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.lock().poll_shutdown(context).map(Ok)
    }
}

impl<R, W> Drop for GuardedOutput<R, W> {
    fn drop(&mut self) {
        self.0.lock().close_server();
    }
}

impl<R, W> fmt::Debug for GuardedInput<R, W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GuardedInput").finish_non_exhaustive()
    }
}

impl<R, W> fmt::Debug for GuardedOutput<R, W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GuardedOutput").finish_non_exhaustive()
    }
}
