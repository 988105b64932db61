//! Rate limits: a token bucket that allows a burst, and then a steady rate.
//!
//! It has no clock. Callers pass the time since any fixed moment, such as the start of the session.

use std::time::Duration;

/// Settings of a [`TokenBucket`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RateLimit {
    burst: u32,
    interval: Duration,
}

impl RateLimit {
    /// Allows `burst` events at once, and one more each `interval`. Zeros count as the least value:
    /// no setting allows nothing, and none allows everything.
    pub const fn new(burst: u32, interval: Duration) -> Self {
        // A burst of zero would stop everything for good.
        let burst = if burst == 0 { 1 } else { burst };
        // An interval of zero would be no limit.
        let interval = if interval.is_zero() { Duration::from_nanos(1) } else { interval };
        Self { burst, interval }
    }

    /// Allows `burst` events at once, and `rate` more each second.
    pub const fn per_second(burst: u32, rate: u32) -> Self {
        let rate = if rate == 0 { 1 } else { rate };
        Self::new(burst, Duration::from_nanos(1_000_000_000 / rate as u64))
    }

    /// Allows `burst` events at once, and as many again in each `window`.
    pub const fn per_window(burst: u32, window: Duration) -> Self {
        let parts = if burst == 0 { 1 } else { burst };
        // `/` is not const for durations, and `parts` is never zero.
        let interval = match window.checked_div(parts) {
            Some(interval) => interval,
            None => window,
        };
        Self::new(burst, interval)
    }

    /// Number of events allowed at once.
    pub const fn burst(&self) -> u32 {
        self.burst
    }

    /// Time until one more event is allowed.
    pub const fn interval(&self) -> Duration {
        self.interval
    }
}

/// A token bucket: each event takes a token, and tokens come back at a steady rate.
///
/// ```
/// use std::time::Duration;
/// use hardline_wire::token_bucket::{RateLimit, TokenBucket};
///
/// let mut bucket = TokenBucket::new(RateLimit::per_second(2, 1));
/// let now = Duration::ZERO;
/// assert!(bucket.try_acquire(now) && bucket.try_acquire(now) && !bucket.try_acquire(now));
/// assert!(bucket.try_acquire(Duration::from_secs(1)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    /// Time until one token comes back.
    interval: Duration,
    /// Time until an empty bucket is full.
    refill: Duration,
    /// Time at which the bucket will be full. The number of tokens follows from it, so there is
    /// nothing to update while no token is taken.
    full_at: Duration,
}

impl TokenBucket {
    /// Creates a full bucket.
    pub const fn new(limit: RateLimit) -> Self {
        let RateLimit { burst, interval } = limit;
        Self { interval, refill: interval.saturating_mul(burst), full_at: Duration::ZERO }
    }

    /// Takes a token and returns true, or returns false if the bucket is empty.
    pub fn try_acquire(&mut self, now: Duration) -> bool {
        let has_token = self.next_token() <= now;
        if has_token {
            // A full bucket stays full: the time before now earns no further tokens.
            self.full_at = self.full_at.max(now).saturating_add(self.interval);
        }
        has_token
    }

    /// Returns the time of the next token; in the past if there is one already.
    pub fn next_token(&self) -> Duration {
        // An empty bucket has its first token after one interval, and is full after a whole refill.
        self.full_at.saturating_add(self.interval).saturating_sub(self.refill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the number of tokens taken at each time, of a thousand attempts.
    #[track_caller]
    fn check(limit: RateLimit, expected: &[(u64, usize)]) {
        let mut bucket = TokenBucket::new(limit);
        for (millis, count) in expected {
            let now = Duration::from_millis(*millis);
            let taken = (0..1000).filter(|_| bucket.try_acquire(now)).count();
            assert_eq!(taken, *count, "at {millis} ms");
        }
    }

    #[test]
    fn gives_a_burst_and_then_a_steady_rate() {
        let slow = [(0, 8), (999, 0), (1000, 1), (3900, 2), (4000, 1), (3_600_000, 8)];
        check(RateLimit::per_second(8, 1), &slow);
        let fast = [(0, 64), (31, 0), (32, 1), (1000, 31), (60_000, 64)];
        check(RateLimit::per_second(64, 32), &fast);
        check(RateLimit::per_window(4, Duration::from_secs(2)), &[(0, 4), (499, 0), (500, 1)]);
    }

    #[test]
    fn a_time_that_steps_back_gives_no_token() {
        check(RateLimit::per_second(2, 1), &[(10_000, 2), (5000, 0), (10_999, 0), (11_000, 1)]);
    }

    #[test]
    fn no_setting_allows_nothing_or_everything() {
        assert_eq!(RateLimit::new(0, Duration::ZERO), RateLimit::new(1, Duration::from_nanos(1)));
        check(RateLimit::per_second(0, 0), &[(0, 1), (999, 0), (1000, 1)]);
        let mut bucket = TokenBucket::new(RateLimit::new(u32::MAX, Duration::MAX));
        assert!(bucket.try_acquire(Duration::ZERO) && bucket.try_acquire(Duration::MAX));
    }

    #[test]
    fn names_the_time_of_the_next_token() {
        let mut bucket = TokenBucket::new(RateLimit::per_second(2, 4));
        let now = Duration::from_secs(9);
        assert!(bucket.next_token() <= now);
        assert!(bucket.try_acquire(now) && bucket.try_acquire(now));
        assert_eq!(bucket.next_token(), now + Duration::from_millis(250));
    }
}
