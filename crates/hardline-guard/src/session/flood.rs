//! Limits the rate at which a server sends messages on its own.

use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::token_bucket::{RateLimit, TokenBucket};

use super::coalesce::{CoalesceKey, Coalesced};
use crate::policy;

/// Time between two reports of the same flood.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Limit on the messages that a server sends on its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FloodLimit {
    /// Number of messages at once, and time until one more is allowed.
    pub rate: RateLimit,
    /// Set if messages over the limit are stopped. Otherwise they are only reported.
    pub is_enforced: bool,
}

impl FloodLimit {
    /// Limit of the profile `balanced`.
    pub const BALANCED: Self = Self::of_policy(policy::FloodSettings::BALANCED, true);
    /// Limit of the profile `strict`.
    pub const STRICT: Self = Self::of_policy(policy::FloodSettings::STRICT, true);
    /// Limit of the profile `observe`, which stops nothing.
    pub const OBSERVE: Self = Self { is_enforced: false, ..Self::BALANCED };

    /// Creates a limit that allows `burst` messages at once, and `per_second` more each second.
    /// Zeros count as one.
    pub const fn new(burst: u32, per_second: u32) -> Self {
        Self { rate: RateLimit::per_second(burst, per_second), is_enforced: true }
    }

    /// Creates the limit that a policy sets.
    pub const fn of_policy(burst: policy::FloodSettings, is_enforced: bool) -> Self {
        Self { rate: RateLimit::per_window(burst.count(), burst.window()), is_enforced }
    }
}

/// The rate limit of a server, and the notifications beyond it.
#[derive(Debug)]
pub(super) struct Flood {
    is_enforced: bool,
    bucket: TokenBucket,
    /// Limits the findings about refused frames.
    invalid: TokenBucket,
    coalesced: Coalesced,
    dropped: u64,
    /// Number of messages over the limit since the last report.
    unreported: u64,
    reported: Option<Duration>,
}

impl Flood {
    pub(super) fn new(limit: FloodLimit, max_keys: usize) -> Self {
        Self {
            is_enforced: limit.is_enforced,
            bucket: TokenBucket::new(limit.rate),
            invalid: TokenBucket::new(limit.rate),
            coalesced: Coalesced::new(max_keys),
            dropped: 0,
            unreported: 0,
            reported: None,
        }
    }

    pub(super) fn is_enforced(&self) -> bool {
        self.is_enforced
    }

    /// Takes a token, if there is one.
    pub(super) fn take(&mut self, now: Duration) -> bool {
        self.bucket.try_acquire(now)
    }

    pub(super) fn take_invalid(&mut self, now: Duration) -> bool {
        self.invalid.try_acquire(now)
    }

    /// Counts a message over the limit. Returns a description for a finding, at most once per
    /// [`REPORT_INTERVAL`].
    pub(super) fn report(&mut self, now: Duration) -> Option<String> {
        self.unreported += 1;
        // A flood of messages must not become a flood of findings.
        let is_due = self.reported.is_none_or(|last| last + REPORT_INTERVAL <= now);
        if !is_due {
            return None;
        }
        self.reported = Some(now);
        let count = std::mem::take(&mut self.unreported);
        let verdict = if self.is_enforced { "coalesced, dropped or refused" } else { "passed on" };
        Some(format!("the server exceeded the burst limit; messages {verdict}: {count}"))
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

    /// Forgets the frame that was kept under `key`. Returns true if there was one.
    pub(super) fn forget(&mut self, key: &CoalesceKey) -> bool {
        self.coalesced.take(key)
    }

    /// Forgets the progress that was kept for a token. Returns its key if there was any.
    pub(super) fn take_progress(&mut self, token: Option<Id<'static>>) -> Option<CoalesceKey> {
        let key = CoalesceKey::Progress(token?);
        self.coalesced.take(&key).then_some(key)
    }

    /// Returns the time at which the next kept frame may be sent.
    pub(super) fn next_release(&self) -> Option<Duration> {
        (!self.coalesced.is_empty()).then(|| self.bucket.next_token())
    }

    /// Takes the key of a kept frame that may be sent now.
    pub(super) fn release(&mut self, now: Duration) -> Option<CoalesceKey> {
        // Kept frames share the bucket with new ones, so releasing them cannot exceed the limit.
        if self.coalesced.is_empty() || !self.bucket.try_acquire(now) {
            return None;
        }
        self.coalesced.take_oldest()
    }
}
