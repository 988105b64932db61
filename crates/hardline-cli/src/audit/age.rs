//! How long ago: `30s`, `10m`, `1h`, `7d`, `2w`.

use std::time::Duration;

const WRITTEN: &str = "write it as 30s, 10m, 1h, 7d or 2w";

/// Reads an age.
pub(super) fn read(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let seconds: u64 = match unit.trim() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return Err(WRITTEN.into()),
    };
    let number: u64 = number.parse().map_err(|_| WRITTEN.to_owned())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units() {
        assert_eq!(read("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(read("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(read("1 h"), Ok(Duration::from_secs(3600)));
        assert_eq!(read("7d"), Ok(Duration::from_secs(604_800)));
        assert_eq!(read("0d"), Ok(Duration::ZERO));
        for text in ["", "5", "h", "-1h", "1y", "1.5h", "99999999999999999999d"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
