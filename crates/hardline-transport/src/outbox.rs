//! Outgoing lines: a bounded queue and the task that writes them.
//!
//! A line enters the queue when it is sent, so lines leave in the order of sending, and a sender
//! may stop waiting without losing or tearing its line. A sender waits only until the queue is
//! within its limits again. This slows down a service that sends faster than its peer reads.
//!
//! Reading continues for longer, because many clients write all their requests before they read an
//! answer. It stops when more than `max_queue_bytes` of answers wait to be written, or more than
//! `max_in_flight` answers wait to be encoded. Messages that the service sends on its own do not
//! stop reading: two ends that both wait for the other to read would deadlock.
//!
//! Invariants:
//! - Of the messages that the service sends, at most `max_queue_frames` lines and
//!   `max_queue_bytes`, or one line, are encoded. A message sent while the queue is full enters it
//!   unencoded. Replies that the endpoint writes come on top: up to `max_queue_bytes` and those of
//!   one more line.
//! - Small lines are written together, and each byte is written once.
//! - After a failure the queue keeps nothing and refuses every later line.
//! - Once the queue is closed, or its connection is dropped, the remaining lines have a limited
//!   time to leave.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hardline_wire::limits::{FOREVER, Limits};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::event::{EndpointEvent, IoDirection};
use crate::output::Output;
use crate::report::Reporter;

use crate::endpoint::SendError;

/// Lines up to this size are joined, so that one system call writes many of them.
const JOIN_BYTES: usize = 16 << 10;

/// Size limit of a chunk of joined lines. Larger writes would not leave faster.
const CHUNK_BYTES: usize = 64 << 10;

/// Capacity limit of a buffer that is kept for the next line.
const KEPT_BYTES: usize = 2 << 20;

/// Encodes a message into an empty buffer, as a line with its newline.
pub(crate) type Encode = Box<dyn FnOnce(&mut Vec<u8>) + Send>;

/// A bounded queue of outgoing lines.
#[derive(Debug)]
pub(crate) struct Outbox {
    max_frames: usize,
    max_bytes: usize,
    max_deferred: usize,
    queue: Mutex<Queue>,
    /// Wakes the writer when there is work.
    filled: Notify,
    /// Wakes senders when a line was written.
    drained: Notify,
    /// Wakes the writer when the queue was closed or its deadline moved.
    closing: Notify,
    /// Wakes the reader when writing failed.
    failed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// Lines and bytes not yet written, including those that the writer is writing.
    frames: usize,
    bytes: usize,
    /// Bytes among them that answer requests of the peer.
    owed: usize,
    /// Unencoded lines among them. All of them are answers.
    deferred: usize,
    /// Empty buffers for reuse: one for chunks, one for long lines.
    spare_chunk: Vec<u8>,
    spare_line: Vec<u8>,
    state: State,
}

enum Entry {
    /// Encoded lines.
    Chunk { bytes: Vec<u8>, frames: usize, owed: usize },
    /// A line that the writer encodes when its turn comes.
    Deferred(Encode),
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Open,
    /// No more lines are accepted; queued lines may be written until then.
    Closing {
        until: Instant,
    },
    /// Every line was written and the output is closed.
    Closed,
    Failed(io::ErrorKind),
}

impl Outbox {
    /// Starts the task that writes to `output`. Must be called inside a tokio runtime.
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

    /// Queues `frames` complete lines.
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

    /// Queues one line. Returns an empty buffer for the next one.
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
        // A long line is moved, not copied; the sender gets a spare buffer in return.
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

    /// Queues one answer that the writer encodes when its turn comes.
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

    /// Returns true if the queue is over its limits.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full(self)
    }

    /// Returns true if reading should pause until some answers were written.
    pub(crate) fn holds_reading(&self) -> bool {
        self.lock().holds_reading(self)
    }

    /// Waits until more input may be read, or the output failed. Dropping the future loses nothing.
    pub(crate) async fn until_readable(&self) {
        // The reading task learns of a failure through `failure`.
        let _ = self.wait_until(|queue| !queue.holds_reading(self)).await;
    }

    /// Returns true if the output failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.lock().state, State::Failed(_))
    }

    /// Waits until the queue is within its limits. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// [`SendError`], if the output failed; queued lines are lost.
    pub(crate) async fn room(&self) -> Result<(), SendError> {
        self.wait_until(|queue| !queue.is_full(self)).await
    }

    /// Waits until every queued line is written.
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
            // Register before the check, so that a failure in between is not missed.
            let failed = self.failed.notified();
            if self.has_failed() {
                return;
            }
            failed.await;
        }
    }

    /// Closes the queue and gives its lines `limit` to be written. Does not wait.
    pub(crate) fn finish(&self, limit: Duration) {
        let until = Instant::now() + limit.min(FOREVER);
        let mut queue = self.lock();
        match queue.state {
            State::Open => queue.state = State::Closing { until },
            // A second call may only shorten the deadline.
            State::Closing { until: before } => {
                queue.state = State::Closing { until: before.min(until) };
            }
            State::Closed | State::Failed(_) => return,
        }
        drop(queue);
        self.closing.notify_one();
        self.filled.notify_one();
    }

    /// Closes the queue, writes its lines, and closes the output.
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
            // No wakeup is lost between the check and the wait: for `notify_waiters`, `notified()`
            // counts from its creation.
            drained.await;
        }
    }

    async fn write_all(self: Arc<Self>, mut output: Output, reporter: Reporter) {
        // Waiters must also wake if this task is cut short: by a panic in a foreign output, or by
        // the end of the runtime.
        let _wake = WakeOnDrop(&self);
        loop {
            // The lock is released before any await, so that a slow peer blocks no sender.
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
                // `notify_one` stores a permit, so a line queued since the check is not missed.
                self.filled.notified().await;
                continue;
            };
            // A deferred line was never added to `queue.bytes`, so it is not subtracted either.
            let counted = if encode.is_some() { 0 } else { bytes.len() };
            if let Some(encode) = encode {
                encode(&mut bytes);
            }
            let written = self.write_in_time(&mut output, bytes).await;
            let mut queue = self.lock();
            let bytes = match written {
                Ok(bytes) => bytes,
                Err(error) => {
                    queue.fail(error.kind());
                    drop(queue);
                    // Without the lock: the observer is foreign code and may send.
                    let direction = IoDirection::Write;
                    reporter.report(&EndpointEvent::Io { direction, error: &error });
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
            // Closing may flush to a peer that no longer reads, so the deadline applies here too.
            () = output.close() => {}
            () = self.overdue() => {}
        }
        // The descriptor must be closed before `close` returns to its caller.
        drop(output);
        let mut queue = self.lock();
        if matches!(queue.state, State::Closing { .. }) {
            queue.state = State::Closed;
        }
    }

    /// Writes a chunk and returns its buffer.
    async fn write_in_time(&self, output: &mut Output, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        tokio::select! {
            biased;
            (bytes, result) = output.write_all(bytes) => result.map(|()| bytes),
            // A peer that never reads must not keep the writer alive after the deadline.
            () = self.overdue() => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Waits until the deadline for writing the remaining lines has passed.
    async fn overdue(&self) {
        loop {
            let closing = self.closing.notified();
            let state = self.lock().state;
            match state {
                State::Closing { until } => tokio::select! {
                    () = tokio::time::sleep_until(until) => return,
                    // A later call may have moved the deadline closer.
                    () = closing => {}
                },
                State::Failed(_) => return,
                State::Open | State::Closed => closing.await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No code panics while it holds the lock; even if it did, the counts would be sound.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Purpose of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Why {
    /// An answer to a message of the peer.
    Answer,
    /// A message that the service sends on its own.
    Own,
}

impl Why {
    fn owed(self, bytes: usize) -> usize {
        if self == Self::Answer { bytes } else { 0 }
    }
}

/// Marks the queue as failed and wakes all waiters when the writer task ends early.
struct WakeOnDrop<'a>(&'a Outbox);

impl Drop for WakeOnDrop<'_> {
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
        // One line over the limit is allowed, or a large line could never be sent.
        matches!(self.state, State::Open | State::Closing { .. })
            && (self.frames > limits.max_frames || self.bytes > limits.max_bytes && self.frames > 1)
    }

    fn holds_reading(&self, limits: &Outbox) -> bool {
        matches!(self.state, State::Open | State::Closing { .. })
            && (self.owed > limits.max_bytes && self.frames > 1
                || self.deferred > limits.max_deferred)
    }

    /// Keeps a buffer for reuse, unless it is larger than most messages need.
    fn recycle(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        let (slot, least, most) = if bytes.capacity() <= 2 * CHUNK_BYTES {
            (&mut self.spare_chunk, 0, 2 * CHUNK_BYTES)
        } else {
            (&mut self.spare_line, 2 * CHUNK_BYTES, KEPT_BYTES)
        };
        // One spare of each kind is enough; another buffer of the same kind is freed.
        if slot.capacity() <= least && bytes.capacity() <= most {
            *slot = bytes;
        }
    }

    fn fail(&mut self, kind: io::ErrorKind) {
        // Drops all entries and resets the counts, so nothing is held for a dead output.
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
