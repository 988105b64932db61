//! How many replies without an id a peer gets.
//!
//! Such a reply tells nobody in particular that something went wrong. One that answers every line of
//! noise can make two peers answer each other for ever, so there are a few at once and then one now
//! and then.

use std::time::Duration;

use hardline_wire::limits::Limits;
use tokio::time::Instant;

/// A bucket of replies that fills up again slowly.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The most it holds.
    size: u32,
    /// How long one takes to come back.
    interval: Duration,
    /// How many are left, not counting those that came back since `counted`.
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

    /// Takes one, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let counted = *self.counted.get_or_insert(now);
        let back =
            now.saturating_duration_since(counted).as_nanos() / self.interval.as_nanos().max(1);
        let back = u32::try_from(back).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(back).min(self.size);
        // What is left of a started interval is kept, unless there is nothing to wait for.
        self.counted = match self.interval.checked_mul(back) {
            Some(past) if self.left < self.size => counted.checked_add(past),
            _ => Some(now),
        };
        let has_one = 0 < self.left;
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
