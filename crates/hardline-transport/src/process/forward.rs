//! Forwarding of children's standard error to our own.
//!
//! One thread writes for the whole process. A paused terminal, or a pipe that no process reads,
//! therefore never blocks the runtime or the reading of a child's standard error.
//!
//! Invariants:
//! - At most [`MAX_LINES`] lines of servers wait, and [`MAX_OWN_LINES`] of our own beside them: no
//!   server can take the place of our reports. Further lines are dropped and counted, and the count
//!   is written.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// Capacity of the queue: enough for the startup messages of a server.
const MAX_LINES: usize = 1024;
/// Further capacity that only our own lines use.
const MAX_OWN_LINES: usize = 1024;
/// Pause between two attempts to queue a mark.
const PAUSE: Duration = Duration::from_millis(10);

enum Message {
    Line(String),
    /// A line that a server wrote.
    Foreign(String),
    /// Wakes the thread to write the number of dropped lines.
    Dropped,
    /// Signals the sender once everything before it is written.
    Mark(oneshot::Sender<()>),
}

/// Queue to the writer thread.
struct Queue {
    sender: SyncSender<Message>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Lines of servers that wait.
    foreign: AtomicUsize,
    /// Lines dropped since the number was last written.
    dropped: AtomicU64,
}

/// The queue of this process; `None` if the thread cannot be started.
static QUEUE: OnceLock<Option<Queue>> = OnceLock::new();

/// Queues a line of our own without its newline, and does not wait until it is written.
pub fn line(text: String) {
    if let Some(queue) = queue() {
        queue.push(text);
    }
}

/// Queues a line that a server wrote, like [`line()`]. It is dropped while too many such lines wait.
pub fn foreign_line(text: String) {
    if let Some(queue) = queue() {
        queue.push_foreign(text);
    }
}

/// Waits until all lines so far are written. Never returns if our standard error is not read.
pub async fn flush() {
    let Some(queue) = queue() else { return };
    let (sender, receiver) = oneshot::channel();
    let mut mark = Message::Mark(sender);
    while let Err(TrySendError::Full(again)) = queue.sender.try_send(mark) {
        mark = again;
        tokio::time::sleep(PAUSE).await;
    }
    let _ = receiver.await;
}

fn queue() -> Option<&'static Queue> {
    let start = || {
        let (queue, receiver) = Queue::new();
        let counts = Arc::clone(&queue.counts);
        let builder = thread::Builder::new().name("hardline-stderr".into());
        builder.spawn(move || write_all(&receiver, &counts)).ok().map(|_| queue)
    };
    QUEUE.get_or_init(start).as_ref()
}

impl Queue {
    fn new() -> (Self, Receiver<Message>) {
        let (sender, receiver) = sync_channel(MAX_LINES + MAX_OWN_LINES);
        (Self { sender, counts: Arc::default() }, receiver)
    }

    fn push(&self, text: String) {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(Message::Line(text)) {
            self.count_dropped();
        }
    }

    fn push_foreign(&self, text: String) {
        let has_room = self.counts.foreign.fetch_add(1, Ordering::SeqCst) < MAX_LINES;
        if !has_room || self.sender.try_send(Message::Foreign(text)).is_err() {
            self.counts.foreign.fetch_sub(1, Ordering::SeqCst);
            self.count_dropped();
        }
    }

    fn count_dropped(&self) {
        if self.counts.dropped.fetch_add(1, Ordering::SeqCst) == 0 {
            // If the queue is full, it holds another message after which the count is written.
            let _ = self.sender.try_send(Message::Dropped);
        }
    }
}

fn write_all(messages: &Receiver<Message>, counts: &Counts) {
    // A failed write to standard error cannot be reported anywhere.
    while let Ok(message) = messages.recv() {
        match message {
            Message::Line(line) => drop(writeln!(io::stderr(), "{line}")),
            Message::Foreign(line) => {
                counts.foreign.fetch_sub(1, Ordering::SeqCst);
                drop(writeln!(io::stderr(), "{line}"));
            }
            Message::Mark(sender) => drop(sender.send(())),
            Message::Dropped => {}
        }
        let dropped = counts.dropped.swap(0, Ordering::SeqCst);
        if dropped != 0 {
            let text = "lines of servers' stderr dropped: our own stderr is read too slowly";
            drop(writeln!(io::stderr(), "[hardline] {dropped} {text}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_servers_leave_room_for_our_own() {
        let (queue, receiver) = Queue::new();
        for _ in 0..10_000 {
            queue.push_foreign(String::new());
        }
        // One place is taken by the wake-up for the count.
        for _ in 1..MAX_OWN_LINES {
            queue.push("own".to_owned());
        }
        let dropped = queue.counts.dropped.load(Ordering::SeqCst);
        assert_eq!(dropped, 10_000 - u64::try_from(MAX_LINES).unwrap());
        let own = receiver.try_iter().filter(|it| matches!(it, Message::Line(_))).count();
        assert_eq!(own, MAX_OWN_LINES - 1);
    }
}
