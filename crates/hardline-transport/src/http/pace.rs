//! Backoff between attempts to reopen a stream.

use std::time::Duration;

/// First delay. It doubles while streams bring no event.
const FLOOR: Duration = Duration::from_millis(250);
/// Longest delay, even if the server asks for more.
const CEILING: Duration = Duration::from_secs(30);

/// Backoff between the streams of one answer or listener.
#[derive(Debug)]
pub(super) struct Pace {
    /// Limit on streams in a row without an event.
    budget: u32,
    /// Number of streams in a row without an event.
    vain: u32,
    floor: Duration,
}

impl Pace {
    pub(super) fn new(budget: u32) -> Self {
        Self { budget, vain: 0, floor: FLOOR }
    }

    /// Resets the backoff after a stream that brought an event.
    pub(super) fn progress(&mut self) {
        *self = Self::new(self.budget);
    }

    /// Returns the delay before the next stream, given the delay that the server requested; `None`
    /// if the limit is reached.
    pub(super) fn next_wait(&mut self, asked: Option<Duration>) -> Option<Duration> {
        if self.vain >= self.budget {
            return None;
        }
        self.vain += 1;
        // A server that asks for 0 still gets the backoff.
        let wait = asked.unwrap_or_default().max(self.floor).min(CEILING);
        self.floor = (self.floor * 2).min(CEILING);
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pace: &mut Pace, asked_ms: Option<u64>, expected_ms: Option<u64>) {
        let wait = pace.next_wait(asked_ms.map(Duration::from_millis));
        assert_eq!(wait, expected_ms.map(Duration::from_millis));
    }

    #[test]
    fn waits_as_asked_but_longer_and_longer_for_nothing() {
        let mut pace = Pace::new(5);
        check(&mut pace, Some(500), Some(500));
        check(&mut pace, Some(0), Some(500));
        check(&mut pace, None, Some(1000));
        check(&mut pace, Some(u64::MAX), Some(30_000));
        check(&mut pace, Some(0), Some(4000));
        check(&mut pace, Some(0), None);
    }

    #[test]
    fn begins_anew_when_a_stream_brought_something() {
        let mut pace = Pace::new(2);
        for _ in 0..10 {
            check(&mut pace, None, Some(250));
            check(&mut pace, None, Some(500));
            pace.progress();
        }
        check(&mut pace, None, Some(250));
        check(&mut pace, None, Some(500));
        check(&mut pace, None, None);
    }
}
