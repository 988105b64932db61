//! Input of a connection: a reader thread for streams that tokio cannot poll.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// Size of one read of the thread.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads in a separate thread, so that a blocking read stops no other task.
///
/// Tokio's standard input reads in the blocking pool, and a runtime that shuts down then waits for
/// one more line. The thread reads at most two chunks ahead.
#[derive(Debug)]
pub(crate) struct ThreadReader {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    current: Vec<u8>,
    taken: usize,
}

impl ThreadReader {
    /// Starts the reader thread.
    ///
    /// # Errors
    ///
    /// If the system cannot start a thread.
    pub(crate) fn start(mut input: impl Read + Send + 'static) -> io::Result<Self> {
        let (outbox, chunks) = mpsc::channel(1);
        std::thread::Builder::new().name("hardline-stdin".into()).spawn(move || {
            loop {
                let mut chunk = vec![0; CHUNK_BYTES];
                let message = match input.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(length) => {
                        chunk.truncate(length);
                        Ok(chunk)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                // After an error the stream is broken, so it is the last message.
                let is_last = message.is_err();
                if outbox.blocking_send(message).is_err() || is_last {
                    break;
                }
            }
        })?;
        Ok(Self { chunks, current: Vec::new(), taken: 0 })
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.current.len() <= this.taken {
            match ready!(this.chunks.poll_recv(context)) {
                // The thread closed the channel at the end of the input.
                None => return Poll::Ready(Ok(())),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                Some(Ok(chunk)) => {
                    this.current = chunk;
                    this.taken = 0;
                }
            }
        }
        let rest = this.current.get(this.taken..).unwrap_or_default();
        let (now, _) = rest.split_at(rest.len().min(buffer.remaining()));
        buffer.put_slice(now);
        this.taken += now.len();
        Poll::Ready(Ok(()))
    }
}
