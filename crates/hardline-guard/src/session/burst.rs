//! Floods: what a server sends unasked and too fast.

use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::token_bucket::TokenBucket;

use super::bucket::Burst;
use super::coalesce::{CoalesceKey, Coalesced};

/// How often a flood is reported while it lasts.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The budget of a server, and what is over it.
#[derive(Debug)]
pub(super) struct Flood {
    is_enforced: bool,
    bucket: TokenBucket,
    /// For frames that were refused.
    invalid: TokenBucket,
    coalesced: Coalesced,
    dropped: u64,
    /// How many were over the budget since the last report.
    unreported: u64,
    reported: Option<Duration>,
}

impl Flood {
    pub(super) fn new(burst: Burst, max_keys: usize) -> Self {
        Self {
            is_enforced: burst.is_enforced,
            bucket: burst.bucket(),
            invalid: burst.bucket(),
            coalesced: Coalesced::new(max_keys),
            dropped: 0,
            unreported: 0,
            reported: None,
        }
    }

    pub(super) fn is_enforced(&self) -> bool {
        self.is_enforced
    }

    /// Takes one of the budget, if there is one.
    pub(super) fn take(&mut self, now: Duration) -> bool {
        self.bucket.try_acquire(now)
    }

    pub(super) fn take_invalid(&mut self, now: Duration) -> bool {
        self.invalid.try_acquire(now)
    }

    /// Counts one over the budget. Returns what is to be reported, once in a while.
    pub(super) fn report(&mut self, now: Duration) -> Option<String> {
        self.unreported += 1;
        let is_due = self.reported.is_none_or(|last| last + REPORT_INTERVAL <= now);
        if !is_due {
            return None;
        }
        self.reported = Some(now);
        let count = std::mem::take(&mut self.unreported);
        let fate = if self.is_enforced { "coalesced, dropped or refused" } else { "passed on" };
        Some(format!("the server sends more than its budget: {count} {fate}"))
    }

    pub(super) fn count_dropped(&mut self) {
        self.dropped += 1;
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn keep(&mut self, key: &CoalesceKey) -> bool {
        self.coalesced.keep(key)
    }

    /// Whether something older was kept under `key`, which is not any more.
    pub(super) fn forget(&mut self, key: &CoalesceKey) -> bool {
        self.coalesced.take(key)
    }

    /// The key of the progress that is kept for a token, which is not any more.
    pub(super) fn take_progress(&mut self, token: Option<Id<'static>>) -> Option<CoalesceKey> {
        let key = CoalesceKey::Progress(token?);
        self.coalesced.take(&key).then_some(key)
    }

    /// When the next of what is kept may go on.
    pub(super) fn next_release(&self) -> Option<Duration> {
        (!self.coalesced.is_empty()).then(|| self.bucket.next_token())
    }

    /// Takes what goes on now.
    pub(super) fn release(&mut self, now: Duration) -> Option<CoalesceKey> {
        if self.coalesced.is_empty() || !self.bucket.try_acquire(now) {
            return None;
        }
        self.coalesced.take_oldest()
    }
}
