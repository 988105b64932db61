//! Delays before restarts: a growing backoff, and a circuit breaker for a server that ends too often.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use hardline_wire::backoff::{Backoff, jittered};

/// Number of ends within [`WINDOW`] that opens the breaker.
const MAX_ENDS: usize = 5;
/// Time for which an end counts.
const WINDOW: Duration = Duration::from_secs(30);
/// Delays before a restart while the breaker is closed. The longest one follows the last end before
/// the breaker opens.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(800));
/// Delay before each restart while the breaker is open, and after a start that was refused.
pub(super) const OPEN_DELAY: Duration = Duration::from_secs(30);

/// Circuit breaker that counts the ends of a server.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// Times of the ends within [`WINDOW`], oldest first.
    ends: VecDeque<Duration>,
}

/// Time of the next restart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NextStart {
    /// Restart at this time; requests wait.
    Soon(Duration),
    /// The breaker is open: restart at this time; requests fail until then.
    Later(Duration),
}

impl Breaker {
    /// Counts an end. Returns the time of the restart.
    pub(super) fn count_end(&mut self, now: Duration) -> NextStart {
        self.count_end_with(now, RandomState::new().build_hasher().finish())
    }

    fn count_end_with(&mut self, now: Duration, random: u64) -> NextStart {
        while self.ends.front().is_some_and(|end| *end + WINDOW <= now) {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
        if self.ends.len() >= MAX_ENDS {
            // One slot stays free, so that each attempt while the breaker is open is counted.
            self.ends.pop_front();
            return NextStart::Later(now + OPEN_DELAY);
        }
        let earlier = u32::try_from(self.ends.len()).unwrap_or(u32::MAX).saturating_sub(1);
        // Jitter between half of the delay and all of it, so that many servers that ended together
        // do not restart together.
        let random = f64::from(u32::try_from(random % 500).unwrap_or(0)) / 500.0;
        NextStart::Soon(now + jittered(BACKOFF.delay_after(earlier), 0.5..=1.0, random))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_longest_delay_is_the_last_one_before_the_breaker_opens() {
        let last = u32::try_from(MAX_ENDS).unwrap() - 2;
        assert_eq!(BACKOFF.delay_after(last), BACKOFF.delay_after(u32::MAX));
        assert!(BACKOFF.delay_after(last - 1) < BACKOFF.delay_after(last));
    }

    #[test]
    fn the_documentation_names_the_delays() {
        let page: Vec<_> = include_str!("../../../../docs/wrap.md").split_whitespace().collect();
        let page = page.join(" ");
        let first = BACKOFF.delay_after(0).as_secs_f64();
        let (window, open) = (WINDOW.as_secs(), OPEN_DELAY.as_secs());
        for text in [
            format!("The backoff starts at about {first} s."),
            format!("After {MAX_ENDS} ends within {window} s requests fail at once"),
            format!("`wrap` tries again every {open} s"),
        ] {
            assert!(page.contains(&text), "{text}");
        }
    }

    #[test]
    fn pauses_grow_and_then_it_opens() {
        let mut breaker = Breaker::default();
        for most in [100, 200, 400, 800] {
            let NextStart::Soon(time) = breaker.count_end_with(at(1), most) else { panic!() };
            let pause = (time - at(1)).as_millis();
            assert!(most / 2 <= pause.try_into().unwrap() && pause <= u128::from(most), "{pause}");
        }
        assert_eq!(breaker.count_end_with(at(1), 0), NextStart::Later(at(31)));
        // One attempt while the breaker is open.
        assert_eq!(breaker.count_end_with(at(30), 0), NextStart::Later(at(60)));
        // Ends before the window do not count.
        assert!(matches!(breaker.count_end_with(at(61), 0), NextStart::Soon(_)));
    }
}
