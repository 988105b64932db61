//! The header `Retry-After`: seconds or a date.

use std::time::{Duration, SystemTime};

use httpdate::parse_http_date;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Longest delay that is accepted.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the delay that the server requests.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    #[expect(clippy::disallowed_methods, reason = "an HTTP date is relative to the current time")]
    let now = SystemTime::now();
    read(text, now)
}

fn read(text: &str, now: SystemTime) -> Option<Duration> {
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        // A date in the past means that the server is ready.
        Err(_) => parse_http_date(text).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, now: u64, expected: Option<u64>) {
        let wait = read(text, SystemTime::UNIX_EPOCH + Duration::from_secs(now));
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
