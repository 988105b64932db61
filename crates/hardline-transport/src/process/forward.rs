//! What children write to their standard error, written to ours.
//!
//! One thread for the whole process writes it, so that a terminal that nobody scrolls, or a pipe
//! that nobody reads, never stops the runtime, nor the reading of a child's standard error.
//!
//! Invariants:
//! - At most [`MAX_LINES`] lines wait. Further ones are dropped, counted, and the count is written.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// Lines that wait to be written: enough for a server's start-up chatter all at once.
const MAX_LINES: usize = 1024;
/// Between two attempts to put a mark behind the lines.
const PAUSE: Duration = Duration::from_millis(10);

enum Message {
    Line(String),
    /// Some lines were dropped; there is nothing else to say.
    Dropped,
    /// Tell when all before this is written.
    Mark(oneshot::Sender<()>),
}

/// The way to the writing thread; `None` if there can be none.
static WRITER: OnceLock<Option<SyncSender<Message>>> = OnceLock::new();
/// Lines dropped since that was last written.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Writes a line, without its end, as soon as that is possible, and does not wait for it.
pub fn line(text: String) {
    let Some(writer) = writer() else { return };
    if let Err(TrySendError::Full(_)) = writer.try_send(Message::Line(text)) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
        // If there is still no room, a message is left that the count is written after.
        let _ = writer.try_send(Message::Dropped);
    }
}

/// Waits until all lines so far are written. Never, if nobody reads them.
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
    // Nobody is left to tell if writing fails.
    while let Ok(message) = messages.recv() {
        match message {
            Message::Line(line) => drop(writeln!(io::stderr(), "{line}")),
            Message::Mark(sender) => drop(sender.send(())),
            Message::Dropped => {}
        }
        let dropped = DROPPED.swap(0, Ordering::SeqCst);
        if dropped != 0 {
            let text = "lines of servers' stderr dropped: ours is read too slowly";
            drop(writeln!(io::stderr(), "[hardline] {dropped} {text}"));
        }
    }
}
