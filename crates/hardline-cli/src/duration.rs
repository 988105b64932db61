//! Parses durations on the command line: `500ms`, `30s`, `5m`, `1h`, `7d`, `2w`.

use std::time::Duration;

const WRITTEN: &str = "expected a duration such as 500ms, 30s, 5m, 1h or 7d";

/// Parses a duration greater than zero. The default unit is seconds.
#[cfg(unix)]
pub(crate) fn read(text: &str) -> Result<Duration, String> {
    let time = read_any(text)?;
    if time.is_zero() { Err("the duration must be greater than 0".into()) } else { Ok(time) }
}

/// Parses a duration; 0 means no limit. The default unit is seconds.
pub(crate) fn read_or_none(text: &str) -> Result<Duration, String> {
    read_any(text)
}

/// Parses an age. Zero is allowed, but the unit is required.
pub(crate) fn read_age(text: &str) -> Result<Duration, String> {
    if text.trim_end().ends_with(|char: char| char.is_ascii_digit()) {
        return Err(WRITTEN.into());
    }
    read_any(text)
}

fn read_any(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    // `1.5m` is allowed.
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return Err(WRITTEN.into()),
    };
    let number: f64 = number.parse().map_err(|_| WRITTEN.to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| "too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn times_are_written_with_their_unit() {
        assert_eq!(read("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(read("250 ms"), Ok(Duration::from_millis(250)));
        assert_eq!(read("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(read("2"), Ok(Duration::from_secs(2)));
        for text in ["", "s", "0", "-1s", "1y", "1e9h", "99999999999999999999999h"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ages_have_units() {
        assert_eq!(read_age("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(read_age("1 h"), Ok(Duration::from_secs(3600)));
        assert_eq!(read_age("7d"), Ok(Duration::from_secs(604_800)));
        assert_eq!(read_age("0d"), Ok(Duration::ZERO));
        for text in ["", "5", "h", "-1h", "1y", "99999999999999999999d"] {
            assert!(read_age(text).is_err(), "{text}");
        }
    }
}
