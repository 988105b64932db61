//! Where lines leave: a stream that is written to as far as it takes, and a buffer for the rest.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// A line from here on is written from where it is, if there is room, and not copied.
const LARGE: usize = 32 << 10;
/// Most bytes kept allocated when there is nothing to write.
const KEPT: usize = 128 << 10;

/// The way out to one peer.
#[derive(Debug)]
pub struct Outlet<W> {
    writer: W,
    buffer: Vec<u8>,
    /// Written so far.
    done: usize,
    /// Bytes in the buffer that were added against the stream, or fewer.
    own_bytes: usize,
    is_broken: bool,
    /// Why, if it is not just that nobody reads any more.
    error: Option<io::Error>,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    /// A way out that is a stream.
    pub fn new(writer: W) -> Self {
        Self { writer, buffer: Vec::new(), done: 0, own_bytes: 0, is_broken: false, error: None }
    }

    /// The stream.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Whether nobody reads any more.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Why it is broken, once, if there is a reason worth telling.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.done
    }

    /// Bytes that wait and were added against the stream.
    pub fn waiting_own(&self) -> usize {
        self.own_bytes
    }

    /// Adds a line, which has no end yet. `is_own` says that it goes against the stream that it comes
    /// from.
    pub fn send(&mut self, frame: &[u8], is_own: bool, context: &mut Context<'_>) {
        if self.is_broken {
            return;
        }
        let mut rest = (frame, b"\n".as_slice());
        if LARGE <= frame.len() {
            rest = self.write_through(frame, context);
        }
        self.buffer.extend_from_slice(rest.0);
        self.buffer.extend_from_slice(rest.1);
        if is_own {
            self.own_bytes += rest.0.len() + rest.1.len();
        }
    }

    /// Writes what waits and then `frame`. Returns what is left of the frame and its end.
    fn write_through<'a>(
        &mut self,
        frame: &'a [u8],
        context: &mut Context<'_>,
    ) -> (&'a [u8], &'a [u8]) {
        let mut rest: (&[u8], &[u8]) = (frame, b"\n");
        while !rest.1.is_empty() {
            let waiting = self.buffer.get(self.done..).unwrap_or_default();
            let parts = [IoSlice::new(waiting), IoSlice::new(rest.0), IoSlice::new(rest.1)];
            let mut written = match Pin::new(&mut self.writer).poll_write_vectored(context, &parts)
            {
                Poll::Ready(Ok(0)) => return self.give_up(None),
                Poll::Ready(Ok(written)) => written,
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Poll::Ready(Err(error)) => return self.give_up(Some(error)),
                Poll::Pending => return rest,
            };
            let first = written.min(waiting.len());
            self.done += first;
            written -= first;
            let second = written.min(rest.0.len());
            rest.0 = rest.0.get(second..).unwrap_or_default();
            rest.1 = rest.1.get(written - second..).unwrap_or_default();
            self.tidy();
        }
        rest
    }

    fn give_up(&mut self, error: Option<io::Error>) -> (&'static [u8], &'static [u8]) {
        self.is_broken = true;
        self.error = error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        (self.buffer, self.done, self.own_bytes) = (Vec::new(), 0, 0);
        (&[], &[])
    }

    /// Writes what waits.
    pub fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.done < self.buffer.len() {
            let waiting = self.buffer.get(self.done..).unwrap_or_default();
            match ready!(Pin::new(&mut self.writer).poll_write(context, waiting)) {
                Ok(written) if 0 < written => self.done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => {
                    self.give_up(outcome.err());
                }
            }
            self.tidy();
        }
        if let Err(error) = ready!(Pin::new(&mut self.writer).poll_flush(context)) {
            self.give_up(Some(error));
        }
        Poll::Ready(())
    }

    /// Writes what waits, and closes the stream.
    pub fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_drain(context));
        // It is of no use any more, whether that works or not.
        Pin::new(&mut self.writer).poll_shutdown(context).map(drop)
    }

    /// Makes room once everything is written.
    fn tidy(&mut self) {
        if self.done < self.buffer.len() {
            return;
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT);
        (self.done, self.own_bytes) = (0, 0);
    }
}
