//! The guard on a pair of byte streams, as `hardline wrap` applies it between a client and a server.
//!
//! There is no task. Polling the read half moves bytes from the server and runs the guard's timer; polling
//! the write half moves bytes to the server. The guard's output is buffered within the same poll.
//!
//! Invariants:
//! - One guard sees every line of both directions, in order of arrival.
//! - The server's stream is not read while guarded output waits to be read here, or while `max_queue_bytes`
//!   of errors wait to be written to the server. Writes here wait while as many bytes wait for the server.
//!   Neither direction waits for the other.
//! - The end of the server's stream is passed on after the guard has settled what it held back and the
//!   reader has consumed it.
//! - Errors for blocked requests are not bounded here: there is one per request, and the client limits its
//!   requests.

mod link;
mod outlet;
mod wakers;

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::GuardSettings;
use link::Link;

/// Puts a guard between the client and a server that writes `input` and reads `output`. Returns the streams
/// that the client uses instead. Must be called inside a runtime with time enabled.
///
/// When the policy ends the session, pending requests get an error, the server's input is closed, and
/// reads fail with the reason.
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

/// The stream that the client reads from.
pub struct GuardedInput<R, W>(Shared<R, W>);

/// The stream that the client writes to. Shutting it down or dropping it closes the server's input.
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
