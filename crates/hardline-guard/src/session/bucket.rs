//! A budget that fills up again with time.

use std::time::Duration;

/// How much a server may send unasked: so many at once, and so many more each second.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Burst {
    /// How many at once.
    pub at_once: u32,
    /// How many become allowed again each second.
    pub per_second: u32,
    /// Whether what is over the budget is held back; otherwise it is only found.
    pub is_enforced: bool,
}

impl Burst {
    /// What the profile `balanced` allows.
    pub const BALANCED: Self = Self { at_once: 256, per_second: 128, is_enforced: true };
    /// What the profile `strict` allows.
    pub const STRICT: Self = Self { at_once: 64, per_second: 32, is_enforced: true };
    /// The profile `observe` holds nothing back.
    pub const OBSERVE: Self = Self { is_enforced: false, ..Self::BALANCED };

    /// Another budget; zeros count as one.
    pub const fn new(at_once: u32, per_second: u32) -> Self {
        let at_once = if at_once == 0 { 1 } else { at_once };
        let per_second = if per_second == 0 { 1 } else { per_second };
        Self { at_once, per_second, is_enforced: true }
    }
}

/// A bucket, kept as the time at which it will be full again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// How long one takes to come back.
    interval: Duration,
    /// How long all of them take.
    whole: Duration,
    full_at: Duration,
}

impl Bucket {
    pub(super) fn new(burst: Burst) -> Self {
        let interval = Duration::from_secs(1) / burst.per_second.max(1);
        let whole = interval.saturating_mul(burst.at_once.max(1));
        Self { interval, whole, full_at: Duration::ZERO }
    }

    /// Takes one, if there is one.
    pub(super) fn take(&mut self, now: Duration) -> bool {
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
