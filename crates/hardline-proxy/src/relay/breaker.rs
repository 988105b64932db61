//! When a server that ended is started again.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use hardline_wire::backoff::{Backoff, jittered};

/// Ends within [`WINDOW`] after which the breaker opens.
const MAX_ENDS: usize = 5;
const WINDOW: Duration = Duration::from_secs(30);
/// Pauses while the breaker is closed.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
/// The pause while the breaker is open.
pub(super) const SLOW: Duration = Duration::from_secs(30);

/// Counts a server's ends.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// When it ended, within [`WINDOW`], oldest first.
    ends: VecDeque<Duration>,
}

/// What to do after an end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pause {
    /// Start it again at this time.
    Short(Duration),
    /// It ends too often: fail requests meanwhile, and try again at this time.
    Long(Duration),
}

impl Breaker {
    /// Takes note of an end.
    pub(super) fn ended(&mut self, now: Duration) -> Pause {
        self.ended_with(now, RandomState::new().build_hasher().finish())
    }

    fn ended_with(&mut self, now: Duration, random: u64) -> Pause {
        while self.ends.front().is_some_and(|end| *end + WINDOW <= now) {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
        if MAX_ENDS <= self.ends.len() {
            self.ends.pop_front();
            return Pause::Long(now + SLOW);
        }
        let earlier = u32::try_from(self.ends.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let random = f64::from(u32::try_from(random % 500).unwrap_or(0)) / 500.0;
        Pause::Short(now + jittered(BACKOFF.delay_after(earlier), 0.5..=1.0, random))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn pauses_grow_and_then_it_opens() {
        let mut breaker = Breaker::default();
        for most in [100, 200, 400, 800] {
            let Pause::Short(time) = breaker.ended_with(at(1), most) else { panic!() };
            let pause = (time - at(1)).as_millis();
            assert!(most / 2 <= pause.try_into().unwrap() && pause <= u128::from(most), "{pause}");
        }
        assert_eq!(breaker.ended_with(at(1), 0), Pause::Long(at(31)));
        // One attempt while it is open.
        assert_eq!(breaker.ended_with(at(30), 0), Pause::Long(at(60)));
        // Ends that are long ago do not count.
        assert!(matches!(breaker.ended_with(at(61), 0), Pause::Short(_)));
    }
}
