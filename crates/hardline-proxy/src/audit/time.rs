//! Times in UTC, formatted according to RFC 3339.

use std::fmt;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

/// Microseconds since 1970, UTC. Displayed as `2026-07-28T09:30:00.000123Z`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "a number with a name")]
pub struct Time(pub i64);

impl Time {
    /// Converts a system time.
    pub fn of(time: SystemTime) -> Self {
        Self(super::micros(time))
    }

    /// Formats without fractions, for people: `2026-07-28 09:30:00`.
    pub fn short(self) -> String {
        self.date_time().format("%Y-%m-%d %H:%M:%S").to_string()
    }

    fn date_time(self) -> DateTime<Utc> {
        // Times beyond the range of dates can only come from a clock or a database that is wrong.
        let end = if self.0 < 0 { DateTime::<Utc>::MIN_UTC } else { DateTime::<Utc>::MAX_UTC };
        DateTime::from_timestamp_micros(self.0).unwrap_or(end)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.date_time().to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc() {
        let check = |seconds: i64, expected: &str| {
            assert_eq!(Time(seconds * 1_000_000).short(), expected);
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
