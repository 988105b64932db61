//! Forwarding of children's standard error to our own.
//!
//! One thread writes for the whole process. A paused terminal, or a pipe that no process reads,
//! therefore never blocks the runtime or the reading of a child's standard error.
//!
//! Invariants:
//! - At most [`MAX_LINES`] lines wait. Further lines are dropped and counted, and the count is
//!   written.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// Capacity of the queue: enough for the startup messages of a server.
const MAX_LINES: usize = 1024;
/// Pause between two attempts to queue a mark.
const PAUSE: Duration = Duration::from_millis(10);

enum Message {
    Line(String),
    /// Wakes the thread to write the number of dropped lines.
    Dropped,
    /// Signals the sender once everything before it is written.
    Mark(oneshot::Sender<()>),
}

/// Queue to the writer thread; `None` if the thread cannot be started.
static WRITER: OnceLock<Option<SyncSender<Message>>> = OnceLock::new();
/// Lines dropped since the number was last written.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Queues a line without its newline, and does not wait until it is written.
pub fn line(text: String) {
    let Some(writer) = writer() else { return };
    if let Err(TrySendError::Full(_)) = writer.try_send(Message::Line(text)) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
        // If the queue is still full, it holds another message after which the count is written.
        let _ = writer.try_send(Message::Dropped);
    }
}

/// Waits until all lines so far are written. Never returns if our standard error is not read.
pub async fn flush() {
    let Some(writer) = writer() else { return };
    let (sender, receiver) = oneshot::channel();
    let mut mark = Message::Mark(sender);
    while let Err(TrySendError::Full(again)) = writer.try_send(mark) {
        mark = again;
        tokio::time::sleep(PAUSE).await;
    }
    let _ = receiver.await;
}

fn writer() -> Option<&'static SyncSender<Message>> {
    let start = || {
        let (sender, receiver) = sync_channel(MAX_LINES);
        let builder = thread::Builder::new().name("hardline-stderr".into());
        builder.spawn(move || write_all(&receiver)).ok().map(|_| sender)
    };
    WRITER.get_or_init(start).as_ref()
}

fn write_all(messages: &Receiver<Message>) {
    // A failed write to standard error cannot be reported anywhere.
    while let Ok(message) = messages.recv() {
        match message {
            Message::Line(line) => drop(writeln!(io::stderr(), "{line}")),
            Message::Mark(sender) => drop(sender.send(())),
            Message::Dropped => {}
        }
        let dropped = DROPPED.swap(0, Ordering::SeqCst);
        if dropped != 0 {
            let text = "lines of servers' stderr dropped: our own stderr is read too slowly";
            drop(writeln!(io::stderr(), "[hardline] {dropped} {text}"));
        }
    }
}
