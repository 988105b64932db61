//! Line input: reads a stream in chunks whose size adapts to the traffic.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hardline_wire::limits::Limits;
use hardline_wire::line::{Line, LineFramer};
use tokio::io::{AsyncRead, ReadBuf};

const LEAST: usize = 64 << 10;
const MOST: usize = 1 << 20;
/// Number of small reads in a row after which a larger buffer is freed.
const MAX_IDLE_READS: u8 = 32;

/// Line input from one peer.
#[derive(Debug)]
pub struct Source<R> {
    reader: R,
    framer: LineFramer,
    chunk: Vec<u8>,
    idle_reads: u8,
    is_ended: bool,
}

impl<R: AsyncRead + Unpin> Source<R> {
    /// Creates an input from a stream.
    pub fn new(reader: R, limits: &Limits) -> Self {
        let framer = LineFramer::new(limits);
        Self { reader, framer, chunk: vec![0; LEAST], idle_reads: 0, is_ended: false }
    }

    /// Returns the stream.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns true if the stream has ended.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Reads once and passes each complete line to `take`. At the end, the last line counts even
    /// without its newline. Returns the number of lines.
    pub fn poll_lines(
        &mut self,
        context: &mut Context<'_>,
        mut take: impl FnMut(&Line<'_>, &mut Context<'_>),
    ) -> Poll<usize> {
        let mut buffer = ReadBuf::new(&mut self.chunk);
        let outcome = loop {
            match ready!(Pin::new(&mut self.reader).poll_read(context, &mut buffer)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        let length = buffer.filled().len();
        let mut count = 0;
        // A failed read is an end too: no more lines can follow.
        if outcome.is_err() || length == 0 {
            self.is_ended = true;
            if let Some(line) = self.framer.finish() {
                take(&line, context);
                count += 1;
            }
            return Poll::Ready(count);
        }
        let mut input = self.chunk.get(..length).unwrap_or_default();
        while let Some(line) = self.framer.next_line(&mut input) {
            take(&line, context);
            count += 1;
        }
        self.fit(length);
        Poll::Ready(count)
    }

    /// Returns the bytes of the current, unfinished line, as far as they are stored. Empty if there
    /// is none.
    pub fn unfinished(&self) -> &[u8] {
        self.framer.unfinished()
    }

    /// Ends the current line as if its newline had arrived, and passes it to `take`. See
    /// [`LineFramer::cut`].
    pub fn cut_line(&mut self, take: impl FnOnce(&Line<'_>)) {
        if let Some(line) = self.framer.cut() {
            take(&line);
        }
    }

    /// Adapts the chunk size to the last read.
    fn fit(&mut self, length: usize) {
        // A full read means that more bytes were waiting.
        if length == self.chunk.len() && length < MOST {
            self.chunk = vec![0; length * 2];
            self.idle_reads = 0;
        } else if length <= LEAST && self.chunk.len() > LEAST {
            self.idle_reads += 1;
            if self.idle_reads >= MAX_IDLE_READS {
                self.chunk = vec![0; LEAST];
                self.idle_reads = 0;
            }
        }
    }
}
