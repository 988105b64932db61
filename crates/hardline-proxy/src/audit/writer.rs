//! Handle of the audit writer thread.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use hardline_guard::Found;

use super::clock::Clock;
use super::queue::Queue;
use super::thread::WriterThread;
use super::{Launch, LoggedMessage, Options, Output, PATIENCE, Printer, SessionStart};

/// Stack of the thread: small, because every session has one.
const STACK_BYTES: usize = 256 << 10;

/// Handle of a session's audit log.
///
/// `now` is always the time since the start of the session. It must come from the monotonic clock
/// and be about zero when the log is opened.
#[derive(Debug)]
pub struct AuditWriter {
    shared: Arc<Shared>,
}

/// State shared with the thread.
pub(super) struct Shared {
    pub(super) queue: Queue,
    print: Mutex<Printer>,
}

impl AuditWriter {
    /// Starts the records of a session. Does not wait for the disk and does not fail: problems with
    /// the database arrive as [`Output::Warning`].
    pub fn open(options: Options, session: SessionStart, print: Printer) -> Self {
        let queue = Queue::new(options.bodies);
        let shared = Arc::new(Shared { queue, print: Mutex::new(print) });
        let clock = Clock::start();
        let its = Arc::clone(&shared);
        let work = move || {
            WriterThread::new(&its, options, session, clock).run();
            its.queue.finish();
        };
        let thread = Builder::new().name("audit".into()).stack_size(STACK_BYTES).spawn(work);
        if let Err(error) = thread {
            shared.queue.finish();
            let warning =
                format!("this session has no audit log: cannot start its thread: {error}");
            shared.print(Output::Warning(warning));
        }
        Self { shared }
    }

    /// Records a message.
    pub fn message(&mut self, now: Duration, message: &LoggedMessage<'_>) {
        self.shared.queue.message(now, message);
    }

    /// Records a finding. `text` is printed once the finding is stored. The caller limits the
    /// number of texts; none is left out here.
    pub fn finding(&mut self, now: Duration, found: &Found, text: Option<String>) {
        // Without a thread the finding is lost, but its text must still be printed.
        if let Some(text) = self.shared.queue.finding(now, found, text) {
            self.shared.print(Output::Finding(text));
        }
    }

    /// Records another event. `kind` is a short word such as `server-ended` or `restarted`. The
    /// text of a `client` event names the client of the session.
    pub fn event(&mut self, now: Duration, kind: &str, text: &str) {
        self.shared.queue.event(now, kind, text);
    }

    /// Records the start of a server.
    pub fn launch(&mut self, now: Duration, launch: &Launch) {
        self.shared.queue.launch(now, launch);
    }

    /// Ends the records of the session. Waits up to `patience` until all are written and printed.
    pub fn close(mut self, now: Duration, outcome: &str, patience: Duration) {
        self.end(Some((now, outcome)), patience);
    }

    fn end(&mut self, end: Option<(Duration, &str)>, patience: Duration) {
        self.shared.queue.end(end, patience);
        // If the thread hangs, its texts must still be printed.
        self.shared.print_up_to(i64::MAX);
    }
}

/// A log that is dropped without `close` still writes its records; its session then has no end.
impl Drop for AuditWriter {
    fn drop(&mut self) {
        // Does nothing after `close`, which has set the end already.
        self.end(None, PATIENCE);
    }
}

impl Shared {
    pub(super) fn print(&self, output: Output) {
        self.print.lock().unwrap_or_else(PoisonError::into_inner)(output);
    }

    /// Prints the texts of findings up to this number.
    pub(super) fn print_up_to(&self, seq: i64) {
        for text in self.queue.take_texts(seq) {
            self.print(Output::Finding(text));
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.queue.fmt(formatter)
    }
}
