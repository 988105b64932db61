//! Output of a connection: an async stream, or a writer thread for blocking streams.

use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::sync::mpsc as blocking;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// Output of a connection.
pub(crate) enum Output {
    Async(Box<dyn AsyncWrite + Send + Unpin>),
    Thread(ThreadWriter),
}

impl Output {
    /// Writes all of `bytes` and returns the buffer for reuse.
    pub(crate) async fn write_all(&mut self, bytes: Vec<u8>) -> (Vec<u8>, io::Result<()>) {
        match self {
            Self::Async(output) => {
                let result = output.write_all(&bytes).await;
                match result {
                    Ok(()) => {
                        let result = output.flush().await;
                        (bytes, result)
                    }
                    Err(error) => (bytes, Err(error)),
                }
            }
            Self::Thread(writer) => writer.write_all(bytes).await,
        }
    }

    /// Closes the output. Bytes handed to a writer thread may still be on their way.
    pub(crate) async fn close(&mut self) {
        if let Self::Async(output) = self {
            // The output is dropped next, so an error has no consequence.
            let _ = output.shutdown().await;
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Async(output) => Pin::new(output).poll_write(context, bytes),
            Self::Thread(writer) => writer.poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Async(output) => Pin::new(output).poll_write_vectored(context, parts),
            // The thread takes one chunk at a time, so a short write is all it can offer.
            Self::Thread(writer) => {
                let first = parts.iter().find(|part| !part.is_empty());
                writer.poll_write(context, first.map_or(&[], |part| part))
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Async(output) => output.is_write_vectored(),
            Self::Thread(_) => false,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Async(output) => Pin::new(output).poll_flush(context),
            Self::Thread(writer) => writer.poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Async(output) => Pin::new(output).poll_shutdown(context),
            Self::Thread(writer) => writer.poll_flush(context),
        }
    }
}

/// Writes in a separate thread, so that a blocking write stops no other task.
///
/// Tokio's standard output writes in the blocking pool, and a runtime that shuts down then waits
/// for a peer that does not read.
pub(crate) struct ThreadWriter {
    /// Carries at most one chunk at a time.
    chunks: blocking::SyncSender<Vec<u8>>,
    results: mpsc::Receiver<(Vec<u8>, io::Result<()>)>,
    /// True if a chunk was sent whose result was not received yet.
    is_writing: bool,
}

/// Size limit of a chunk that is copied for the thread.
const CHUNK_BYTES: usize = 64 << 10;

impl ThreadWriter {
    /// Starts the writer thread.
    ///
    /// # Errors
    ///
    /// If the system cannot start a thread.
    pub(crate) fn start(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (chunks, inbox) = blocking::sync_channel::<Vec<u8>>(1);
        let (outbox, results) = mpsc::channel(1);
        std::thread::Builder::new().name("hardline-stdout".into()).spawn(move || {
            for chunk in inbox {
                let result = output.write_all(&chunk).and_then(|()| output.flush());
                if outbox.blocking_send((chunk, result)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { chunks, results, is_writing: false })
    }

    async fn write_all(&mut self, bytes: Vec<u8>) -> (Vec<u8>, io::Result<()>) {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        // The channel is never full: each write waits for the result of the one before.
        if let Err(error) = self.chunks.try_send(bytes) {
            let (blocking::TrySendError::Full(bytes) | blocking::TrySendError::Disconnected(bytes)) =
                error;
            return (bytes, Err(gone()));
        }
        self.results.recv().await.unwrap_or_else(|| (Vec::new(), Err(gone())))
    }

    /// Hands a copy to the thread, once it has finished the previous chunk.
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(context))?;
        // A bounded copy: the caller offers the rest again.
        let (now, _) = bytes.split_at(bytes.len().min(CHUNK_BYTES));
        if self.chunks.try_send(now.to_vec()).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.is_writing = true;
        Poll::Ready(Ok(now.len()))
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_writing {
            return Poll::Ready(Ok(()));
        }
        let result = ready!(self.results.poll_recv(context));
        self.is_writing = false;
        Poll::Ready(match result {
            Some((_, result)) => result,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        })
    }
}
