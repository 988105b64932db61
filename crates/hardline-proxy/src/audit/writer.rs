//! The thread that writes, from outside.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::clock::Clock;
use super::desk::Desk;
use super::queue::Queue;
use super::{Options, SessionStart, Tell, Teller};

const STACK_BYTES: usize = 256 << 10;

/// The thread, from outside.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
}

/// What both sides hold.
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

    /// Tells the texts of findings up to this number.
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
            shared.tell(Tell::Warning(format!("nothing is kept: no thread for it: {error}")));
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
        // Those of a thread that hangs.
        self.shared.tell_up_to(i64::MAX);
    }
}
