//! The clocks: the monotonic one that sessions count by, and the one on the wall.

use std::time::{Instant, SystemTime};

use super::micros;

/// Both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    started: Instant,
}

#[expect(clippy::disallowed_methods, reason = "no part of the core: the one that keeps times")]
impl Clock {
    pub(super) fn start() -> Self {
        Self { started: Instant::now() }
    }

    pub(super) fn now(&self) -> Instant {
        Instant::now()
    }

    /// The time, in microseconds since 1970.
    pub(super) fn wall(&self) -> i64 {
        micros(SystemTime::now())
    }

    /// When the session began. It is asked anew for every batch: the monotonic clock stands still while a
    /// computer sleeps.
    pub(super) fn base(&self) -> i64 {
        let elapsed = i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.wall().saturating_sub(elapsed)
    }
}
