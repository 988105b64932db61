//! A waker shared by the reading and the writing task.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Wakes both the reading and the writing task. The server's stream stores only one waker, and either task
/// may have polled it last.
#[derive(Debug, Default)]
pub(super) struct Wakers {
    reader: Slot,
    writer: Slot,
}

#[derive(Debug, Default)]
struct Slot(Mutex<Option<Waker>>);

impl Slot {
    fn set(&self, waker: &Waker) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *slot {
            Some(known) => known.clone_from(waker),
            None => *slot = Some(waker.clone()),
        }
    }

    fn wake(&self) {
        // The lock is released before waking, because a waker may poll at once.
        let waker = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Wakers {
    pub(super) fn set_reader(&self, waker: &Waker) {
        self.reader.set(waker);
    }

    pub(super) fn set_writer(&self, waker: &Waker) {
        self.writer.set(waker);
    }

    pub(super) fn wake_reader(&self) {
        self.reader.wake();
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.reader.wake();
        self.writer.wake();
    }
}
