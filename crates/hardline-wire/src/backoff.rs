//! Exponential backoff: delays between attempts that double up to a limit.
//!
//! It has no clock and no source of randomness. Callers wait, and pass random numbers for jitter.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Delays that double from a first to a longest one.
///
/// ```
/// use std::time::Duration;
/// use hardline_wire::backoff::Backoff;
///
/// let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(3));
/// let delays = [backoff.next_delay(), backoff.next_delay(), backoff.next_delay()];
/// assert_eq!(delays.map(|it| it.as_secs()), [1, 2, 3]);
/// backoff.reset();
/// assert_eq!(backoff.next_delay().as_secs(), 1);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    /// Number of delays handed out since the start or the last reset.
    failures: u32,
}

impl Backoff {
    /// Creates a backoff that starts with the delay `first`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// Returns the next delay. The one after it is twice as long.
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.peek();
        self.failures = self.failures.saturating_add(1);
        delay
    }

    /// Returns the next delay without counting it.
    pub fn peek(&self) -> Duration {
        self.delay_after(self.failures)
    }

    /// Returns the delay after this number of earlier failures.
    pub fn delay_after(&self, failures: u32) -> Duration {
        // A factor that does not fit is longer than any limit.
        let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }

    /// Starts again with the first delay.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Returns a random part of `delay`, so that many who failed together do not retry together. The
/// part lies in `range`; `random`, from 0 to 1, selects it.
pub fn jittered(delay: Duration, range: RangeInclusive<f64>, random: f64) -> Duration {
    let (least, most) = range.into_inner();
    let part = least + (most - least) * random.clamp(0.0, 1.0);
    // A part that is no number must not turn the wait off.
    Duration::try_from_secs_f64(delay.as_secs_f64() * part).unwrap_or(delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn doubles_up_to_the_longest_delay() {
        let mut backoff = Backoff::new(ms(250), ms(30_000));
        for expected in [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
            assert_eq!(backoff.peek(), ms(expected));
            assert_eq!(backoff.next_delay(), ms(expected));
        }
        backoff.reset();
        assert_eq!(backoff.next_delay(), ms(250));
    }

    #[test]
    fn no_number_of_failures_overflows() {
        let backoff = Backoff::new(ms(1), Duration::MAX);
        assert_eq!(backoff.delay_after(31), ms(1 << 31));
        assert!(backoff.delay_after(u32::MAX) >= backoff.delay_after(31));
        assert_eq!(Backoff::new(Duration::MAX, ms(7)).delay_after(40), ms(7));
    }

    #[test]
    fn jitter_stays_in_its_range() {
        let delay = ms(500);
        let jittered = |random| jittered(delay, 0.8..=1.2, random).as_millis();
        assert_eq!([0.0, 0.5, 1.0, 7.0, -7.0].map(jittered), [400, 500, 600, 600, 400]);
        assert_eq!(jittered(f64::NAN), 500);
    }
}
