//! Times in UTC, formatted according to RFC 3339.

use std::fmt;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

/// Microseconds since 1970, UTC. Displayed as `2026-07-28T09:30:00.000123Z`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "a number with a name")]
pub struct Time(pub i64);

const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 60 * 60;

impl Time {
    /// Converts a system time.
    pub fn of(time: SystemTime) -> Self {
        Self(super::micros(time))
    }

    /// Returns year, month, day and the second of the day.
    fn parts(self) -> (i64, i64, i64, i64) {
        let seconds = self.0.div_euclid(SECOND);
        let (year, month, day) = date(seconds.div_euclid(DAY));
        (year, month, day, seconds.rem_euclid(DAY))
    }

    /// Formats without fractions, for people: `2026-07-28 09:30:00`.
    pub fn short(self) -> String {
        let (year, month, day, second) = self.parts();
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, second) = self.parts();
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let micros = self.0.rem_euclid(SECOND);
        write!(
            formatter,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"
        )
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Converts days since 1970 to a Gregorian date. Years begin in March here, so that the leap day
/// comes last.
fn date(day: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    // Days from 0000-03-01, where the 400-year cycles begin, to 1970-01-01.
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(ERA), day.rem_euclid(ERA));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc() {
        let check = |seconds: i64, expected: &str| {
            assert_eq!(Time(seconds * SECOND).short(), expected);
        };
        check(0, "1970-01-01 00:00:00");
        check(951_782_400, "2000-02-29 00:00:00");
        check(1_709_251_199, "2024-02-29 23:59:59");
        check(1_785_231_000, "2026-07-28 09:30:00");
        check(4_107_542_400, "2100-03-01 00:00:00");
        check(-1, "1969-12-31 23:59:59");
        assert_eq!(Time(1).to_string(), "1970-01-01T00:00:00.000001Z");
    }
}
