//! Rate limit on replies without an id.
//!
//! Such a reply reports an error, but belongs to no request. If every line of noise got one, two
//! peers could answer each other for ever. A token bucket allows a short burst and then a slow
//! rate.

use std::time::Duration;

use hardline_wire::limits::Limits;
use tokio::time::Instant;

/// A token bucket; each token is one reply without an id.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Capacity of the bucket.
    size: u32,
    /// Time until one token comes back.
    interval: Duration,
    /// Tokens left, not counting those that came back since `counted`.
    left: u32,
    counted: Option<Instant>,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        let size = limits.max_anonymous_replies();
        Self {
            size,
            interval: Duration::from_secs(1) / limits.max_anonymous_replies_per_second().max(1),
            left: size,
            counted: None,
        }
    }

    /// Takes a token and returns true, or returns false if the bucket is empty.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let counted = *self.counted.get_or_insert(now);
        let back =
            now.saturating_duration_since(counted).as_nanos() / self.interval.as_nanos().max(1);
        let back = u32::try_from(back).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(back).min(self.size);
        // Keep the elapsed part of the current interval, unless the bucket is full.
        self.counted = match self.interval.checked_mul(back) {
            Some(past) if self.left < self.size => counted.checked_add(past),
            _ => Some(now),
        };
        let has_one = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_a_few_at_once_and_then_one_a_second() {
        let mut budget = Budget::new(&Limits::default());
        let start = Instant::now();
        let taken = |budget: &mut Budget, now| (0..1000).filter(|_| budget.take(now)).count();
        assert_eq!(taken(&mut budget, start), 8);
        assert_eq!(taken(&mut budget, start + Duration::from_millis(999)), 0);
        assert_eq!(taken(&mut budget, start + Duration::from_millis(1000)), 1);
        assert_eq!(taken(&mut budget, start + Duration::from_millis(3900)), 2);
        assert_eq!(taken(&mut budget, start + Duration::from_millis(4000)), 1);
        assert_eq!(taken(&mut budget, start + Duration::from_secs(3600)), 8);
    }
}
