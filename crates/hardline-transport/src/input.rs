//! Where lines come from: anything that tokio can read from, or a thread that reads and may block.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// How much the thread reads at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads in a thread of its own, which may block without anybody else noticing.
///
/// Tokio's own standard input does that in its pool, and then a runtime that shuts down waits for
/// one more line. The thread reads at most two chunks ahead.
#[derive(Debug)]
pub(crate) struct ThreadReader {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    current: Vec<u8>,
    taken: usize,
}

impl ThreadReader {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If the system gives no thread.
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
