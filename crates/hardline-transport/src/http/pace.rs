//! When a stream that ended is opened again, and when no more.

use std::time::Duration;

/// The shortest wait. It doubles while streams bring nothing.
const FLOOR: Duration = Duration::from_millis(250);
/// The longest, whatever the server asks for.
const CEILING: Duration = Duration::from_secs(30);

/// Waits between the streams of one answer or listener.
#[derive(Debug)]
pub(super) struct Pace {
    /// How many streams in a row may bring nothing.
    budget: u32,
    /// How many have.
    vain: u32,
    floor: Duration,
}

impl Pace {
    pub(super) fn new(budget: u32) -> Self {
        Self { budget, vain: 0, floor: FLOOR }
    }

    /// Takes note that a stream brought something.
    pub(super) fn progress(&mut self) {
        *self = Self::new(self.budget);
    }

    /// How long to wait before the next stream, given what the server asked for; `None` if there
    /// is to be none.
    pub(super) fn next_wait(&mut self, asked: Option<Duration>) -> Option<Duration> {
        if self.budget <= self.vain {
            return None;
        }
        self.vain += 1;
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
