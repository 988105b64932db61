//! The two clocks of the audit log: monotonic time, which sessions use, and wall-clock time.

use std::time::{Instant, SystemTime};

use super::micros;

/// Reads both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    started: Instant,
}

#[expect(clippy::disallowed_methods, reason = "the one place of the audit log that reads clocks")]
impl Clock {
    pub(super) fn start() -> Self {
        Self { started: Instant::now() }
    }

    pub(super) fn now(&self) -> Instant {
        Instant::now()
    }

    /// Returns the wall-clock time in microseconds since 1970.
    pub(super) fn wall(&self) -> i64 {
        micros(SystemTime::now())
    }

    /// Returns the start of the session in microseconds since 1970. Computed again for every batch,
    /// because the monotonic clock stands still while a computer sleeps.
    pub(super) fn base(&self) -> i64 {
        let elapsed = i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.wall().saturating_sub(elapsed)
    }
}
