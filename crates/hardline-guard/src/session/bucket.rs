//! A budget that fills up again with time.

use std::time::Duration;

use crate::policy;

/// How much a server may send unasked: so many at once, and one more each interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Burst {
    /// How many at once.
    pub at_once: u32,
    /// How long it takes until one more is allowed again.
    pub interval: Duration,
    /// Whether what is over the budget is held back; otherwise it is only found.
    pub is_enforced: bool,
}

impl Burst {
    /// What the profile `balanced` allows.
    pub const BALANCED: Self = Self::new(256, 128);
    /// What the profile `strict` allows.
    pub const STRICT: Self = Self::new(64, 32);
    /// The profile `observe` holds nothing back.
    pub const OBSERVE: Self = Self { is_enforced: false, ..Self::BALANCED };

    /// Another budget: `at_once`, and `per_second` more each second. Zeros count as one.
    pub const fn new(at_once: u32, per_second: u32) -> Self {
        let at_once = if at_once == 0 { 1 } else { at_once };
        let per_second = if per_second == 0 { 1 } else { per_second };
        let interval = Duration::from_nanos(1_000_000_000 / per_second as u64);
        Self { at_once, interval, is_enforced: true }
    }

    /// The budget that a policy sets.
    pub fn of_policy(burst: policy::Burst, is_enforced: bool) -> Self {
        let at_once = burst.count().max(1);
        Self { at_once, interval: burst.window() / at_once, is_enforced }
    }
}

/// A bucket, kept as the time at which it will be full again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// How long one takes to come back.
    interval: Duration,
    /// How long all of them take.
    whole: Duration,
    full_at: Duration,
}

impl Bucket {
    pub(crate) fn new(burst: Burst) -> Self {
        let interval = burst.interval;
        let whole = interval.saturating_mul(burst.at_once.max(1));
        Self { interval, whole, full_at: Duration::ZERO }
    }

    /// Takes one, if there is one.
    pub(crate) fn take(&mut self, now: Duration) -> bool {
        let has_one = self.next_free() <= now;
        if has_one {
            self.full_at = self.full_at.max(now).saturating_add(self.interval);
        }
        has_one
    }

    /// When there is one to take.
    pub(super) fn next_free(&self) -> Duration {
        self.full_at.saturating_add(self.interval).saturating_sub(self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_many_at_once_and_then_some_each_second() {
        let mut bucket = Bucket::new(Burst::STRICT);
        let mut taken = |millis| {
            let now = Duration::from_millis(millis);
            (0..1000).filter(|_| bucket.take(now)).count()
        };
        assert_eq!(taken(0), 64);
        assert_eq!(taken(31), 0);
        assert_eq!(taken(32), 1);
        assert_eq!(taken(1000), 31);
        assert_eq!(taken(60_000), 64);
    }
}
