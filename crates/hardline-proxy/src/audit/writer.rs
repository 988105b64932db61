//! Handle of the audit writer thread.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::clock::Clock;
use super::desk::Desk;
use super::queue::Queue;
use super::{Options, SessionStart, Tell, Teller};

/// Stack of the thread: small, because every session has one.
const STACK_BYTES: usize = 256 << 10;

/// Handle of the audit writer thread.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
}

/// State shared with the thread.
pub(super) struct Shared {
    pub(super) queue: Queue,
    tell: Mutex<Teller>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.queue.fmt(formatter)
    }
}

impl Shared {
    pub(super) fn tell(&self, what: Tell) {
        self.tell.lock().unwrap_or_else(PoisonError::into_inner)(what);
    }

    /// Prints the texts of findings up to this number.
    pub(super) fn tell_up_to(&self, seq: i64) {
        for text in self.queue.take_shown(seq) {
            self.tell(Tell::Shown(text));
        }
    }
}

impl Writer {
    pub(super) fn start(options: Options, session: SessionStart, tell: Teller) -> Self {
        let queue = Queue::new(options.bodies);
        let shared = Arc::new(Shared { queue, tell: Mutex::new(tell) });
        let clock = Clock::start();
        let its = Arc::clone(&shared);
        let work = move || {
            Desk::new(&its, options, session, clock).work();
            its.queue.finish();
        };
        let thread = Builder::new().name("audit".into()).stack_size(STACK_BYTES).spawn(work);
        if let Err(error) = thread {
            shared.queue.finish();
            let warning =
                format!("this session has no audit log: cannot start its thread: {error}");
            shared.tell(Tell::Warning(warning));
        }
        Self { shared }
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.shared.queue
    }

    pub(super) fn tell(&self, text: String) {
        self.shared.tell(Tell::Shown(text));
    }

    pub(super) fn end(&mut self, end: Option<(Duration, &str)>, patience: Duration) {
        self.shared.queue.end(end, patience);
        // If the thread hangs, its texts must still be printed.
        self.shared.tell_up_to(i64::MAX);
    }
}
