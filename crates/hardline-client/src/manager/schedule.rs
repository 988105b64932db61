//! Backoff and circuit breaker for reconnecting to one server. Has no clock: callers pass the time.
//!
//! Invariants:
//! - After a failure, the next attempt waits for the backoff [`delay`], less its jitter. A waiting call can
//!   shorten only long delays, and to no less than [`MIN_GAP`] after the previous attempt.
//! - Five failures within 30 s open the circuit breaker. A local server is then restarted only on request; a
//!   remote server is retried at long intervals.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use hardline_wire::backoff::{Backoff, jittered};
use tokio::time::Instant;

/// Delays before the first [`SHORT_DELAYS`] retries.
const SHORT: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(4));
const SHORT_DELAYS: u32 = 4;
/// Delays before all later retries.
const LONG: Backoff = Backoff::new(FIRST_LONG, Duration::from_secs(300));
const FIRST_LONG: Duration = Duration::from_secs(15);
/// Fraction by which a delay is randomly shortened or lengthened, so that clients do not reconnect in step.
const JITTER: f64 = 0.2;

/// Number of failures within [`BREAKER_TIME`] that opens the circuit breaker.
pub(super) const BREAKER_FAILURES: usize = 5;
/// Window in which failures count towards the circuit breaker.
pub(super) const BREAKER_TIME: Duration = Duration::from_secs(30);
/// Time that a connection must last before earlier failures are forgotten.
const STEADY: Duration = Duration::from_secs(30);
/// Shortest time between the last attempt and one that a waiting call triggers.
pub(super) const MIN_GAP: Duration = Duration::from_secs(15);

/// History of the connection attempts to one server.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Number of consecutive failures.
    failures: u32,
    /// Times of the most recent failures, at most [`BREAKER_FAILURES`].
    recent: VecDeque<Instant>,
    /// True while the circuit breaker is open. It closes after a connection has lasted for [`STEADY`].
    is_open: bool,
    /// Start of the last attempt.
    attempted: Option<Instant>,
}

/// The decision after a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// Retry at this time without being asked.
    At(Instant),
    /// Retry only if a caller asks for the server, and not before this time.
    WhenAsked(Instant),
}

impl Schedule {
    /// Records the start of an attempt.
    pub(super) fn begin(&mut self, now: Instant) {
        self.attempted = Some(now);
    }

    /// Records the end of a connection that was open since `opened`.
    pub(super) fn ended(&mut self, opened: Instant, now: Instant) {
        if now.saturating_duration_since(opened) >= STEADY {
            self.reset();
        }
    }

    /// Records a failed attempt or a lost connection. `random`, from 0 to 1, determines the jitter.
    pub(super) fn failed(&mut self, now: Instant, is_remote: bool, random: f64) -> Next {
        if self.recent.len() == BREAKER_FAILURES {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        // Stays open until `reset`: a server that flaps would otherwise be restarted forever.
        self.is_open |= self.recent.len() == BREAKER_FAILURES
            && self.recent.front().is_some_and(|first| now - *first <= BREAKER_TIME);
        // Computed from the failures before this one, so the first retry has the shortest delay.
        let delay = jittered(delay(self.failures), 1.0 - JITTER..=1.0 + JITTER, random);
        self.failures = self.failures.saturating_add(1);
        if self.is_open && !is_remote {
            return Next::WhenAsked(now + BREAKER_TIME);
        }
        Next::At(
            now + if self.is_open { delay.max(FIRST_LONG.mul_f64(1.0 - JITTER)) } else { delay },
        )
    }

    /// Returns the next attempt for a server that only a login can help: slow backoff without jitter.
    pub(super) fn retry_slowly(&self, now: Instant) -> Next {
        Next::At(now + LONG.delay_after(self.failures.saturating_sub(1)))
    }

    /// Returns the time for the next attempt, planned as `next`, given that a caller now waits for the server.
    pub(super) fn asked(&self, next: Next) -> Instant {
        match (next, self.attempted) {
            // A caller may shorten a long delay, but not start a storm of attempts.
            (Next::At(at), Some(last)) => at.min(last + MIN_GAP),
            (Next::At(at) | Next::WhenAsked(at), _) => at,
        }
    }

    /// Forgets all failures.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Returns the backoff delay after this number of earlier consecutive failures.
fn delay(failures: u32) -> Duration {
    match failures.checked_sub(SHORT_DELAYS) {
        None => SHORT.delay_after(failures),
        Some(long) => LONG.delay_after(long),
    }
}

/// Returns a random number from 0 (inclusive) to 1 (exclusive), for jitter. Not suitable for secrets.
pub(super) fn random_fraction() -> f64 {
    // The standard library seeds every `RandomState` differently.
    let bits = RandomState::new().hash_one(()) >> 12;
    bits as f64 / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the delays, without jitter, of a server whose attempts each fail after `took` seconds.
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
        let short = [500, 1000, 2000, 4000];
        let long = [15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000];
        let expected: Vec<u64> = short.into_iter().chain(long).collect();
        check(true, 0, &ms(&expected));
    }

    #[test]
    fn the_documentation_names_the_delays() {
        let page: Vec<_> = include_str!("../../../../docs/client.md").split_whitespace().collect();
        let page = page.join(" ");
        let short: Vec<_> =
            (0..SHORT_DELAYS).map(|it| delay(it).as_secs_f64().to_string()).collect();
        let (last, short) = short.split_last().unwrap();
        let (first_long, longest) = (FIRST_LONG.as_secs(), delay(u32::MAX).as_secs() / 60);
        let (short, window) = (short.join(", "), BREAKER_TIME.as_secs());
        for text in [
            format!("after {short} and {last} s, then {first_long} s, doubled up to {longest} min"),
            format!("with {} % jitter", JITTER * 100.0),
            // The page writes small numbers as words.
            format!("Five failures within {window} s open a circuit breaker"),
            format!("never triggers an attempt within {} s of the last one", MIN_GAP.as_secs()),
        ] {
            assert!(page.contains(&text), "{text}");
        }
        assert_eq!(BREAKER_FAILURES, 5);
    }

    #[test]
    fn leaves_a_local_server_alone_that_fails_five_times_at_once() {
        check(false, 0, &[Some(500), Some(1000), Some(2000), Some(4000), None]);
        // Slow failures do not open the breaker.
        check(false, 20, &ms(&[500, 1000, 2000, 4000, 15_000, 30_000]));
    }

    #[test]
    fn a_steady_connection_resets_the_backoff_and_a_flapping_one_does_not() {
        let start = Instant::now();
        let mut schedule = Schedule::default();
        for second in 0..4 {
            schedule.failed(start + Duration::from_secs(second), true, 0.5);
        }
        let now = start + Duration::from_secs(5);
        schedule.ended(now - Duration::from_secs(1), now);
        let Next::At(at) = schedule.failed(now, true, 0.5) else { panic!("remote") };
        assert_eq!(at - now, FIRST_LONG);
        let now = now + Duration::from_secs(100);
        schedule.ended(now - STEADY, now);
        assert_eq!(schedule.failed(now, true, 0.5), Next::At(now + Duration::from_millis(500)));
    }

    #[test]
    fn jitter_changes_a_delay_by_a_fifth_at_most() {
        let now = Instant::now();
        let first = |chance| Schedule::default().failed(now, true, chance);
        assert_eq!(first(0.0), Next::At(now + Duration::from_millis(400)));
        assert_eq!(first(1.0), Next::At(now + Duration::from_millis(600)));
        assert_eq!(first(7.0), first(1.0));
    }

    #[test]
    fn a_waiting_call_shortens_long_delays_only() {
        let now = Instant::now();
        let mut schedule = Schedule::default();
        schedule.begin(now);
        let soon = now + Duration::from_secs(4);
        let late = now + Duration::from_secs(200);
        assert_eq!(schedule.asked(Next::At(soon)), soon);
        assert_eq!(schedule.asked(Next::At(late)), now + MIN_GAP);
        assert_eq!(schedule.asked(Next::WhenAsked(late)), late);
    }

    #[test]
    fn numbers_cover_the_whole_range() {
        let drawn: Vec<f64> = (0..1000).map(|_| random_fraction()).collect();
        assert!(drawn.iter().all(|it| (0.0..1.0).contains(it)));
        assert!(drawn.iter().any(|it| *it < 0.2) && drawn.iter().any(|it| *it > 0.8));
    }
}
