//! Where lines go: anything that tokio can write to, or a thread that writes and may block.

use std::io::{self, Write};
use std::sync::mpsc as blocking;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// The writing end of a connection.
pub(crate) enum Output {
    Async(Box<dyn AsyncWrite + Send + Unpin>),
    Thread(ThreadWriter),
}

impl Output {
    /// Writes all of `bytes`, and gives the buffer back.
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

    /// Closes it. What was written may still be on its way.
    pub(crate) async fn close(&mut self) {
        if let Self::Async(output) = self {
            // It is dropped in any case.
            let _ = output.shutdown().await;
        }
    }
}

/// Writes in a thread of its own, which may block without anybody else noticing.
///
/// Tokio's own standard output does that in its pool, and then a runtime that shuts down waits for
/// a peer that does not read.
pub(crate) struct ThreadWriter {
    /// At most one chunk is on its way.
    chunks: blocking::SyncSender<Vec<u8>>,
    results: mpsc::Receiver<(Vec<u8>, io::Result<()>)>,
}

impl ThreadWriter {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If the system gives no thread.
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
        Ok(Self { chunks, results })
    }

    async fn write_all(&mut self, bytes: Vec<u8>) -> (Vec<u8>, io::Result<()>) {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        if let Err(error) = self.chunks.try_send(bytes) {
            let (blocking::TrySendError::Full(bytes) | blocking::TrySendError::Disconnected(bytes)) =
                error;
            return (bytes, Err(gone()));
        }
        self.results.recv().await.unwrap_or_else(|| (Vec::new(), Err(gone())))
    }
}
