//! A budget that fills up again with time.

use std::time::Duration;

use hardline_wire::token_bucket::{RateLimit, TokenBucket};

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
        let limit = RateLimit::per_second(at_once, per_second);
        Self { at_once: limit.burst(), interval: limit.interval(), is_enforced: true }
    }

    /// The budget that a policy sets.
    pub fn of_policy(burst: policy::Burst, is_enforced: bool) -> Self {
        let at_once = burst.count().max(1);
        Self { at_once, interval: burst.window() / at_once, is_enforced }
    }

    /// Returns a full bucket with this budget.
    pub(crate) fn bucket(self) -> TokenBucket {
        TokenBucket::new(RateLimit::new(self.at_once, self.interval))
    }
}
