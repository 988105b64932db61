//! When a server that is away is tried again. No clock and no sockets: the time is told.
//!
//! Invariants:
//! - Between the ends of two attempts and the begin of the next there is at least a delay of [`delay`],
//!   less its jitter; calls cut only long ones short, and those to no less than [`MIN_GAP`].
//! - Five failures within 30 s open the breaker. A local server is then left alone until somebody asks for
//!   it; a remote one is tried seldom.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The first delays, in milliseconds.
const FIRST: [u64; 4] = [500, 1000, 2000, 4000];
/// What follows them, doubled each time.
const LONG: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(300);
/// How much a delay is shortened or lengthened by chance, so that servers do not come back all at once.
const JITTER: f64 = 0.2;

/// How many failures within what time open the breaker.
pub(super) const BREAKER_FAILURES: usize = 5;
pub(super) const BREAKER_TIME: Duration = Duration::from_secs(30);
/// How long a connection must last until the failures before it do not count any more.
const STEADY: Duration = Duration::from_secs(30);
/// How soon after the last attempt a call may bring about another.
pub(super) const MIN_GAP: Duration = Duration::from_secs(15);

/// What became of one server's connections so far.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Failures in a row.
    failures: u32,
    /// When the last of them were, at most [`BREAKER_FAILURES`].
    recent: VecDeque<Instant>,
    /// Whether it failed so often in a short time that it has to last for a while to be trusted again.
    is_open: bool,
    /// When the last attempt began.
    attempted: Option<Instant>,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// Try again by oneself, then.
    At(Instant),
    /// Try again only if asked to, and not before then.
    WhenAsked(Instant),
}

impl Schedule {
    /// An attempt begins.
    pub(super) fn begin(&mut self, now: Instant) {
        self.attempted = Some(now);
    }

    /// A connection that was open since `opened` has ended.
    pub(super) fn ended(&mut self, opened: Instant, now: Instant) {
        if STEADY <= now.saturating_duration_since(opened) {
            self.reset();
        }
    }

    /// An attempt failed, or a connection ended. `chance` is from 0 to 1.
    pub(super) fn failed(&mut self, now: Instant, is_remote: bool, chance: f64) -> Next {
        if self.recent.len() == BREAKER_FAILURES {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        self.is_open |= self.recent.len() == BREAKER_FAILURES
            && self.recent.front().is_some_and(|first| now - *first <= BREAKER_TIME);
        let delay =
            delay(self.failures).mul_f64(1.0 + JITTER * (2.0 * chance.clamp(0.0, 1.0) - 1.0));
        self.failures = self.failures.saturating_add(1);
        if self.is_open && !is_remote {
            return Next::WhenAsked(now + BREAKER_TIME);
        }
        Next::At(now + if self.is_open { delay.max(LONG.mul_f64(1.0 - JITTER)) } else { delay })
    }

    /// For a server that cannot be helped by trying soon.
    pub(super) fn seldom(&self, now: Instant) -> Next {
        let doublings = self.failures.saturating_sub(1).min(10);
        Next::At(now + LONG.saturating_mul(1 << doublings).min(LONGEST))
    }

    /// Somebody waits for the server: when the next attempt may begin that was to begin at `next`.
    pub(super) fn asked(&self, next: Next) -> Instant {
        match (next, self.attempted) {
            (Next::At(at), Some(last)) => at.min(last + MIN_GAP),
            (Next::At(at) | Next::WhenAsked(at), _) => at,
        }
    }

    /// Forgets what was, because somebody wants a new start.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

/// How long to wait after so many failures in a row before this one.
fn delay(failures: u32) -> Duration {
    let index = usize::try_from(failures).unwrap_or(usize::MAX);
    match FIRST.get(index) {
        Some(millis) => Duration::from_millis(*millis),
        None => {
            let doublings = (index - FIRST.len()).min(10);
            LONG.saturating_mul(1 << doublings).min(LONGEST)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delays of servers that fail at once, or after `took` each, without chance.
    #[track_caller]
    fn check(is_remote: bool, took: u64, expected: &[Option<u64>]) {
        let mut now = Instant::now();
        let mut schedule = Schedule::default();
        let mut delays = Vec::new();
        for _ in expected {
            schedule.begin(now);
            now += Duration::from_secs(took);
            match schedule.failed(now, is_remote, 0.5) {
                Next::At(at) => {
                    delays.push(Some(u64::try_from((at - now).as_millis()).unwrap()));
                    now = at;
                }
                Next::WhenAsked(_) => delays.push(None),
            }
        }
        assert_eq!(delays, expected);
    }

    fn ms(delays: &[u64]) -> Vec<Option<u64>> {
        delays.iter().copied().map(Some).collect()
    }

    #[test]
    fn waits_longer_and_longer_for_a_remote_server() {
        let long = [15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000];
        let expected: Vec<u64> = FIRST.into_iter().chain(long).collect();
        check(true, 0, &ms(&expected));
    }

    #[test]
    fn leaves_a_local_server_alone_that_fails_five_times_at_once() {
        check(false, 0, &[Some(500), Some(1000), Some(2000), Some(4000), None]);
        // One that fails slowly is not what the breaker is for.
        check(false, 20, &ms(&[500, 1000, 2000, 4000, 15_000, 30_000]));
    }

    #[test]
    fn one_that_lasts_a_while_begins_anew_and_one_that_flaps_does_not() {
        let start = Instant::now();
        let mut schedule = Schedule::default();
        for second in 0..4 {
            schedule.failed(start + Duration::from_secs(second), true, 0.5);
        }
        let now = start + Duration::from_secs(5);
        schedule.ended(now - Duration::from_secs(1), now);
        let Next::At(at) = schedule.failed(now, true, 0.5) else { panic!("remote") };
        assert_eq!(at - now, LONG);
        let now = now + Duration::from_secs(100);
        schedule.ended(now - STEADY, now);
        assert_eq!(schedule.failed(now, true, 0.5), Next::At(now + Duration::from_millis(500)));
    }

    #[test]
    fn chance_changes_a_delay_by_a_fifth_at_most() {
        let now = Instant::now();
        let first = |chance| Schedule::default().failed(now, true, chance);
        assert_eq!(first(0.0), Next::At(now + Duration::from_millis(400)));
        assert_eq!(first(1.0), Next::At(now + Duration::from_millis(600)));
        assert_eq!(first(7.0), first(1.0));
    }

    #[test]
    fn whoever_asks_cuts_long_waits_short_and_no_others() {
        let now = Instant::now();
        let mut schedule = Schedule::default();
        schedule.begin(now);
        let soon = now + Duration::from_secs(4);
        let late = now + Duration::from_secs(200);
        assert_eq!(schedule.asked(Next::At(soon)), soon);
        assert_eq!(schedule.asked(Next::At(late)), now + MIN_GAP);
        assert_eq!(schedule.asked(Next::WhenAsked(late)), late);
    }
}
