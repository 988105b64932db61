//! The header `Retry-After`: seconds or a date.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Longest delay that is accepted.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the delay that the server requests.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    #[expect(clippy::disallowed_methods, reason = "an HTTP date is relative to the current time")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    read(text, now)
}

fn read(text: &str, now: Duration) -> Option<Duration> {
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => date(text)?.saturating_sub(now),
    };
    Some(wait.min(MAX_WAIT))
}

/// Parses an HTTP date, `Sun, 06 Nov 1994 08:49:37 GMT`, to the time since 1970.
fn date(text: &str) -> Option<Duration> {
    let mut words = text.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(str::parse::<u64>);
    let (Some(Ok(hour)), Some(Ok(minute)), Some(Ok(second)), None) =
        (clock.next(), clock.next(), clock.next(), clock.next())
    else {
        return None;
    };
    const MONTHS: [&str; 12] =
        ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"];
    let month = MONTHS.iter().position(|it| *it == month)? as u64;
    let is_sound = (1970..=9999).contains(&year)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_sound || words.next() != Some("GMT") || words.next().is_some() {
        return None;
    }
    // In years that begin in March, the leap day is the last day.
    let year = if month >= 10 { year - 1 } else { year };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    // The number of 1970-01-01 in the same count.
    let days = days.checked_sub(719_469)?;
    Some(Duration::from_secs(((days * 24 + hour) * 60 + minute) * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, now: u64, expected: Option<u64>) {
        let wait = read(text, Duration::from_secs(now));
        assert_eq!(wait, expected.map(Duration::from_secs), "{text}");
    }

    #[test]
    fn reads_seconds_and_dates() {
        check("0", 0, Some(0));
        check("120", 0, Some(120));
        check("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_770, Some(7));
        check("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_778, Some(0));
        check("Thu, 01 Jan 1970 00:00:09 GMT", 0, Some(9));
        check("Tue, 29 Feb 2028 00:00:00 GMT", 1_835_395_199, Some(1));
        check("Wed, 01 Mar 2028 00:00:00 GMT", 1_835_481_599, Some(1));
    }

    #[test]
    fn believes_no_more_than_a_day_and_no_nonsense() {
        check("99999999999", 0, Some(86_400));
        for text in [
            "",
            "-1",
            "1.5",
            "soon",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 0000 08:49:37 GMT",
        ] {
            check(text, 0, None);
        }
    }
}
