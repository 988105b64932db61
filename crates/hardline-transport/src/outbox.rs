//! The way out: a bounded queue of lines and the task that writes them.
//!
//! A line enters the queue when it is sent, so lines leave in the order in which they were sent, and
//! whoever sent one may stop waiting without losing or tearing it. What the sender waits for is that
//! the queue is within its limits again: that holds back a service that talks faster than its peer
//! reads.
//!
//! Reading goes on for longer than that, since many a client writes all its requests before it reads an
//! answer: until `max_queue_bytes` of answers wait to be written, or `max_in_flight` to be encoded. What the
//! service sends of its own accord does not hold it up: two ends that both wait for the other to read
//! would wait for ever.
//!
//! Invariants:
//! - Of what the service sends, at most `max_queue_frames` lines and `max_queue_bytes`, or one line,
//!   are encoded; a message that is sent while the queue is full takes its place in it unencoded.
//!   Replies of our own making come on top, up to `max_queue_bytes` and those of one more line.
//! - Lines that are small are written together, each byte once.
//! - After a failure nothing is kept: every later line is refused.
//! - Once it is closed, or nobody can send any more, what is left has a limited time to leave.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hardline_wire::limits::Limits;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::event::{Event, IoDirection};
use crate::output::Output;
use crate::report::Reporter;

mod error;

pub use error::SendError;

/// Lines up to this size are copied together, so that one system call writes many of them.
const JOIN_BYTES: usize = 16 << 10;

/// What is written at once of small lines. More would only fill buffers that nobody empties faster.
const CHUNK_BYTES: usize = 64 << 10;

/// The largest buffer that is kept for the next line.
const KEPT_BYTES: usize = 2 << 20;

/// Longer than anybody waits, and short enough for a clock.
pub(crate) const FOREVER: Duration = Duration::from_secs(1 << 30);

/// Encodes a message into an empty buffer, as a line with its end.
pub(crate) type Encode = Box<dyn FnOnce(&mut Vec<u8>) + Send>;

/// A bounded queue of lines.
#[derive(Debug)]
pub(crate) struct Outbox {
    max_frames: usize,
    max_bytes: usize,
    max_deferred: usize,
    queue: Mutex<Queue>,
    /// Tells the writer that there is something to do.
    filled: Notify,
    /// Tells senders that a line has left.
    drained: Notify,
    /// Tells the writer that there is no more to come.
    closing: Notify,
    /// Tells whoever reads that writing failed.
    failed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// Lines and bytes that have not been written, those in the writer's hands included.
    frames: usize,
    bytes: usize,
    /// Bytes among them that answer the peer.
    owed: usize,
    /// Lines among them that are not encoded. They all answer the peer.
    deferred: usize,
    /// Empty buffers to be used again: one for chunks, one for long lines.
    spare_chunk: Vec<u8>,
    spare_line: Vec<u8>,
    state: State,
}

enum Entry {
    /// Encoded lines.
    Chunk { bytes: Vec<u8>, frames: usize, owed: usize },
    /// A line that is encoded when its turn comes.
    Deferred(Encode),
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Open,
    /// Nothing more is taken; what is there may be written until then.
    Closing {
        until: Instant,
    },
    /// All was written and the output is closed.
    Closed,
    Failed(io::ErrorKind),
}

impl Outbox {
    /// Starts the task that writes to `output`. Must be called inside a runtime.
    pub(crate) fn start(limits: &Limits, output: Output, reporter: Reporter) -> Arc<Self> {
        let outbox = Arc::new(Self {
            max_frames: limits.max_queue_frames(),
            max_bytes: limits.max_queue_bytes(),
            max_deferred: limits.max_in_flight(),
            queue: Mutex::default(),
            filled: Notify::new(),
            drained: Notify::new(),
            closing: Notify::new(),
            failed: Notify::new(),
        });
        tokio::spawn(Arc::clone(&outbox).write_all(output, reporter));
        outbox
    }

    /// Adds `frames` lines.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the output is closed or failed.
    pub(crate) fn push(&self, lines: &[u8], frames: usize, why: Why) -> Result<(), SendError> {
        let mut queue = self.lock();
        queue.state.check()?;
        let owing = why.owed(lines.len());
        queue.frames += frames;
        queue.bytes += lines.len();
        queue.owed += owing;
        match queue.entries.back_mut() {
            Some(Entry::Chunk { bytes, frames: before, owed })
                if bytes.len() + lines.len() <= CHUNK_BYTES =>
            {
                bytes.extend_from_slice(lines);
                *before += frames;
                *owed += owing;
            }
            _ => {
                let mut bytes = std::mem::take(&mut queue.spare_chunk);
                bytes.extend_from_slice(lines);
                queue.entries.push_back(Entry::Chunk { bytes, frames, owed: owing });
            }
        }
        drop(queue);
        self.filled.notify_one();
        Ok(())
    }

    /// Adds one line. Gives back an empty buffer for the next.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the output is closed or failed.
    pub(crate) fn push_line(&self, mut line: Vec<u8>, why: Why) -> Result<Vec<u8>, SendError> {
        if line.len() <= JOIN_BYTES {
            self.push(&line, 1, why)?;
            line.clear();
            return Ok(line);
        }
        let mut queue = self.lock();
        queue.state.check()?;
        let owed = why.owed(line.len());
        queue.frames += 1;
        queue.bytes += line.len();
        queue.owed += owed;
        queue.entries.push_back(Entry::Chunk { bytes: line, frames: 1, owed });
        let spare = std::mem::take(&mut queue.spare_line);
        drop(queue);
        self.filled.notify_one();
        Ok(spare)
    }

    /// Adds one answer that is encoded when its turn comes.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the output is closed or failed.
    pub(crate) fn push_deferred(&self, encode: Encode) -> Result<(), SendError> {
        let mut queue = self.lock();
        queue.state.check()?;
        queue.frames += 1;
        queue.deferred += 1;
        queue.entries.push_back(Entry::Deferred(encode));
        drop(queue);
        self.filled.notify_one();
        Ok(())
    }

    /// Whether more waits than should.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full(self)
    }

    /// Whether no more should be read until some of it has left.
    pub(crate) fn holds_reading(&self) -> bool {
        self.lock().holds_reading(self)
    }

    /// Waits until more may be read, or the output failed. Dropping the future loses nothing.
    pub(crate) async fn until_readable(&self) {
        // If the output fails, whoever reads sees that too.
        let _ = self.wait_until(|queue| !queue.holds_reading(self)).await;
    }

    /// Whether the output failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.lock().state, State::Failed(_))
    }

    /// Waits until the queue is within its limits. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the output failed: what was in the queue is lost.
    pub(crate) async fn room(&self) -> Result<(), SendError> {
        self.wait_until(|queue| !queue.is_full(self)).await
    }

    /// Waits until all that was sent is written.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the output failed.
    #[cfg(feature = "rmcp")]
    pub(crate) async fn written(&self) -> Result<(), SendError> {
        self.wait_until(|queue| queue.frames == 0).await
    }

    /// Waits until the output fails.
    pub(crate) async fn failure(&self) {
        loop {
            let failed = self.failed.notified();
            if self.has_failed() {
                return;
            }
            failed.await;
        }
    }

    /// Takes nothing more, and lets what is there be written within `limit`. Does not wait.
    pub(crate) fn finish(&self, limit: Duration) {
        let until = Instant::now() + limit.min(FOREVER);
        let mut queue = self.lock();
        match queue.state {
            State::Open => queue.state = State::Closing { until },
            State::Closing { until: before } => {
                queue.state = State::Closing { until: before.min(until) };
            }
            State::Closed | State::Failed(_) => return,
        }
        drop(queue);
        self.closing.notify_one();
        self.filled.notify_one();
    }

    /// Takes nothing more, writes what is there, and closes the output.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the output fails or takes longer than `limit`.
    pub(crate) async fn close(&self, limit: Duration) -> Result<(), SendError> {
        self.finish(limit);
        self.wait_until(|queue| queue.state == State::Closed).await
    }

    async fn wait_until(&self, is_done: impl Fn(&Queue) -> bool) -> Result<(), SendError> {
        loop {
            let drained = self.drained.notified();
            {
                let queue = self.lock();
                if let State::Failed(kind) = queue.state {
                    return Err(SendError::failed(kind));
                }
                if is_done(&queue) {
                    return Ok(());
                }
            }
            // A notification between the look and the wait is not lost: `notified()` counts from
            // its creation on for `notify_waiters`.
            drained.await;
        }
    }

    async fn write_all(self: Arc<Self>, mut output: Output, reporter: Reporter) {
        // Whoever waits must not do so for ever if this is cut short: by a panic in an output that is
        // not ours, or by the end of the runtime.
        let _told = Told(&self);
        loop {
            let next = {
                let mut queue = self.lock();
                match queue.entries.pop_front() {
                    None if queue.state != State::Open => break,
                    None => None,
                    Some(Entry::Chunk { bytes, frames, owed }) => Some((bytes, frames, owed, None)),
                    Some(Entry::Deferred(encode)) => {
                        queue.deferred = queue.deferred.saturating_sub(1);
                        Some((std::mem::take(&mut queue.spare_line), 1, 0, Some(encode)))
                    }
                }
            };
            let Some((mut bytes, frames, owed, encode)) = next else {
                self.filled.notified().await;
                continue;
            };
            // A line that was encoded only now is not counted among the bytes that wait.
            let counted = if encode.is_some() { 0 } else { bytes.len() };
            if let Some(encode) = encode {
                encode(&mut bytes);
            }
            let written = tokio::select! {
                biased;
                (bytes, result) = output.write_all(bytes) => result.map(|()| bytes),
                () = self.overdue() => Err(io::ErrorKind::TimedOut.into()),
            };
            let mut queue = self.lock();
            let bytes = match written {
                Ok(bytes) => bytes,
                Err(error) => {
                    queue.fail(error.kind());
                    drop(queue);
                    reporter.report(&Event::Io { direction: IoDirection::Write, error: &error });
                    break;
                }
            };
            queue.frames = queue.frames.saturating_sub(frames);
            queue.bytes = queue.bytes.saturating_sub(counted);
            queue.owed = queue.owed.saturating_sub(owed);
            queue.recycle(bytes);
            drop(queue);
            self.drained.notify_waiters();
        }
        tokio::select! {
            () = output.close() => {}
            () = self.overdue() => {}
        }
        drop(output);
        let mut queue = self.lock();
        if matches!(queue.state, State::Closing { .. }) {
            queue.state = State::Closed;
        }
    }

    /// Waits until the time for what is left to write is over.
    async fn overdue(&self) {
        loop {
            let closing = self.closing.notified();
            let state = self.lock().state;
            match state {
                State::Closing { until } => tokio::select! {
                    () = tokio::time::sleep_until(until) => return,
                    // It may have been shortened.
                    () = closing => {}
                },
                State::Failed(_) => return,
                State::Open | State::Closed => closing.await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing panics while it is held; if something did, the counts would still be sound.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a line leaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Why {
    /// It answers something that was read.
    Answer,
    /// The service has something to say.
    Own,
}

impl Why {
    fn owed(self, bytes: usize) -> usize {
        if self == Self::Answer { bytes } else { 0 }
    }
}

/// Tells those who wait when the writer ends, however it does.
struct Told<'a>(&'a Outbox);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        if matches!(queue.state, State::Open | State::Closing { .. }) {
            queue.fail(io::ErrorKind::Other);
        }
        drop(queue);
        self.0.drained.notify_waiters();
        self.0.failed.notify_waiters();
    }
}

impl Queue {
    fn is_full(&self, limits: &Outbox) -> bool {
        matches!(self.state, State::Open | State::Closing { .. })
            && (limits.max_frames < self.frames || limits.max_bytes < self.bytes && 1 < self.frames)
    }

    fn holds_reading(&self, limits: &Outbox) -> bool {
        matches!(self.state, State::Open | State::Closing { .. })
            && (limits.max_bytes < self.owed && 1 < self.frames
                || limits.max_deferred < self.deferred)
    }

    /// Keeps a buffer for later, unless it is larger than what most messages need.
    fn recycle(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        let (slot, least, most) = match bytes.capacity() <= 2 * CHUNK_BYTES {
            true => (&mut self.spare_chunk, 0, 2 * CHUNK_BYTES),
            false => (&mut self.spare_line, 2 * CHUNK_BYTES, KEPT_BYTES),
        };
        if slot.capacity() <= least && bytes.capacity() <= most {
            *slot = bytes;
        }
    }

    fn fail(&mut self, kind: io::ErrorKind) {
        *self = Self { state: State::Failed(kind), ..Self::default() };
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Chunk { bytes, frames, .. } => {
                write!(formatter, "Chunk({frames} lines, {} bytes)", bytes.len())
            }
            Self::Deferred(_) => formatter.write_str("Deferred"),
        }
    }
}

impl State {
    fn check(self) -> Result<(), SendError> {
        match self {
            Self::Open => Ok(()),
            Self::Closing { .. } | Self::Closed => Err(SendError::Closed),
            Self::Failed(kind) => Err(SendError::failed(kind)),
        }
    }
}
