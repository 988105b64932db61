//! Line output: writes as much as the stream accepts and buffers the rest.
//!
//! Invariant: written bytes are freed although the peer never takes all that waits. The buffer is at
//! most twice as long as the bytes that wait, plus one line.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// Lines of at least this size are written directly instead of being copied to the buffer first.
const LARGE: usize = 32 << 10;
/// Capacity limit of the empty buffer.
const KEPT: usize = 128 << 10;

/// Line output to one peer.
#[derive(Debug)]
pub struct Outlet<W> {
    writer: W,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were already written.
    done: usize,
    /// Upper bound on the bytes in the buffer that were added with `is_own`.
    own_bytes: usize,
    is_broken: bool,
    /// Reason of the failure, unless the peer merely stopped reading.
    error: Option<io::Error>,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    /// Creates an output to a stream.
    pub fn new(writer: W) -> Self {
        Self { writer, buffer: Vec::new(), done: 0, own_bytes: 0, is_broken: false, error: None }
    }

    /// Returns the stream.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Returns true if the peer stopped reading or writing failed.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Takes the error that broke the output. `None` if the peer merely stopped reading.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Returns the number of bytes that wait to be written.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.done
    }

    /// Returns the number of waiting bytes that were added with `is_own`.
    pub fn waiting_own(&self) -> usize {
        self.own_bytes
    }

    /// Queues a line without its newline. `is_own` marks a line that goes back to the peer it was
    /// read from, such as a reply to a refused request.
    pub fn send(&mut self, frame: &[u8], is_own: bool, context: &mut Context<'_>) {
        if self.is_broken {
            return;
        }
        let mut rest = (frame, b"\n".as_slice());
        // Large frames are offered to the stream first, which saves copying what it takes at once.
        if frame.len() >= LARGE {
            rest = self.write_through(frame, context);
        }
        self.buffer.extend_from_slice(rest.0);
        self.buffer.extend_from_slice(rest.1);
        if is_own {
            self.own_bytes += rest.0.len() + rest.1.len();
        }
    }

    /// Writes the buffer and then `frame`. Returns the unwritten rest of the frame and its newline.
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
                // A stream that accepts no bytes will not accept any later.
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
        // A broken pipe is the normal way for a peer to leave.
        self.error = error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        // Nothing that waits can be sent any more.
        (self.buffer, self.done, self.own_bytes) = (Vec::new(), 0, 0);
        (&[], &[])
    }

    /// Writes the buffered bytes.
    pub fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.done < self.buffer.len() {
            let waiting = self.buffer.get(self.done..).unwrap_or_default();
            match ready!(Pin::new(&mut self.writer).poll_write(context, waiting)) {
                Ok(written) if written > 0 => self.done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => {
                    self.give_up(outcome.err());
                }
            }
            self.tidy();
        }
        // A writer thread reports its errors only when it is flushed.
        if let Err(error) = ready!(Pin::new(&mut self.writer).poll_flush(context)) {
            self.give_up(Some(error));
        }
        Poll::Ready(())
    }

    /// Writes the buffered bytes and closes the stream.
    pub fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.poll_drain(context));
        // The stream is dropped next, so an error has no consequence.
        Pin::new(&mut self.writer).poll_shutdown(context).map(drop)
    }

    /// Frees the bytes that are written.
    fn tidy(&mut self) {
        let waiting = self.waiting();
        if waiting > 0 {
            // A slow peer never empties the buffer. Each byte moves at most once for each byte that
            // was written, so the cost stays linear.
            if self.done >= waiting {
                self.buffer.drain(..self.done);
                self.done = 0;
            }
            self.own_bytes = self.own_bytes.min(waiting);
            return;
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT);
        (self.done, self.own_bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Reader that takes a number of bytes and then no more until it is given another number.
    struct SlowReader(usize);

    impl AsyncWrite for SlowReader {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken > 0 { Poll::Ready(Ok(taken)) } else { Poll::Pending }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[track_caller]
    fn check(line: &[u8], lead: usize) {
        let mut context = Context::from_waker(Waker::noop());
        let mut outlet = Outlet::new(SlowReader(0));
        for _ in 0..lead {
            outlet.send(line, true, &mut context);
        }
        let waiting = outlet.waiting();
        for _ in 0..10_000 {
            outlet.send(line, true, &mut context);
            outlet.writer.0 += line.len() + 1;
            assert!(outlet.poll_drain(&mut context).is_pending());
            assert_eq!(outlet.waiting(), waiting);
            assert!(outlet.waiting_own() <= waiting);
        }
        assert!(outlet.buffer.capacity() <= 4 * (waiting + line.len() + 1));
    }

    #[test]
    fn a_reader_that_lags_behind_for_ever_costs_no_more_memory() {
        check(b"{}", 1);
        check(&[b' '; 100], 7);
        check(&[b' '; 100], 700);
        check(&[b' '; LARGE], 2);
    }
}
