//! Delays and the limit for reopening a stream that ended.

use std::time::Duration;

use hardline_wire::backoff::Backoff;

/// Delays while streams bring no event. The longest one needs more attempts than the default limit
/// allows for an answer; a listening stream has twice as many.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(250), MAX_DELAY);
/// Longest delay, also if the server requests a longer one with `retry`: the caller of a request
/// waits that long.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Counts the streams of one answer or listener that brought no event.
#[derive(Debug)]
pub(super) struct Reconnects {
    /// Limit on streams in a row without an event.
    max: u32,
    /// Number of streams in a row without an event.
    count: u32,
}

impl Reconnects {
    pub(super) fn new(max: u32) -> Self {
        Self { max, count: 0 }
    }

    /// Starts again after a stream that brought an event.
    pub(super) fn reset(&mut self) {
        self.count = 0;
    }

    /// Returns the delay before the next stream, given the delay that the server requested; `None`
    /// if the limit is reached.
    pub(super) fn next_delay(&mut self, requested: Option<Duration>) -> Option<Duration> {
        if self.count >= self.max {
            return None;
        }
        // A server that asks for 0 still gets the backoff.
        let least = BACKOFF.delay_after(self.count);
        self.count += 1;
        Some(requested.unwrap_or_default().min(MAX_DELAY).max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reconnects: &mut Reconnects, requested_ms: Option<u64>, expected_ms: Option<u64>) {
        let delay = reconnects.next_delay(requested_ms.map(Duration::from_millis));
        assert_eq!(delay, expected_ms.map(Duration::from_millis));
    }

    #[test]
    fn waits_as_requested_but_longer_and_longer_for_nothing() {
        let mut reconnects = Reconnects::new(5);
        check(&mut reconnects, Some(500), Some(500));
        check(&mut reconnects, Some(0), Some(500));
        check(&mut reconnects, None, Some(1000));
        check(&mut reconnects, Some(u64::MAX), Some(30_000));
        check(&mut reconnects, Some(0), Some(4000));
        check(&mut reconnects, Some(0), None);
    }

    #[test]
    fn starts_again_when_a_stream_brought_an_event() {
        let mut reconnects = Reconnects::new(2);
        for _ in 0..10 {
            check(&mut reconnects, None, Some(250));
            check(&mut reconnects, None, Some(500));
            reconnects.reset();
        }
        check(&mut reconnects, None, Some(250));
        check(&mut reconnects, None, Some(500));
        check(&mut reconnects, None, None);
    }
}
