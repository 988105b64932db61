//! Long rows of spaces and no-break spaces, which look the same.
//!
//! People indent with both, and programs alternate them. In a long row without an order each one
//! carries a bit.
//!
//! Invariant: a row is read once for each of the [`PERIODS`], so the cost is linear.

use std::ops::Range;

/// Least number of blanks of a row that is judged.
const MIN_BLANKS: usize = 16;

/// Limit on the length of a pattern that rows repeat.
const PERIODS: usize = 4;

/// Number of changes that a row may have.
const USUAL: usize = 4;

/// Returns true if the first bytes are a row of blanks that is long enough. Any text may follow.
pub(crate) fn is_long(mut rest: &[u8]) -> bool {
    for _ in 0..MIN_BLANKS {
        rest = match rest {
            [b' ', rest @ ..] | [0xc2, 0xa0, rest @ ..] => rest,
            _ => return false,
        };
    }
    true
}

/// Returns the end of the row at `start`, and the blanks that carry bits.
pub(super) fn judge(text: &str, start: usize) -> (usize, Vec<(Range<usize>, char)>) {
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.find(|it| !matches!(it, ' ' | '\u{a0}')).unwrap_or(rest.len());
    let row = rest.get(..length).unwrap_or_default();
    let changes = |period: usize| {
        let pairs = row.chars().zip(row.char_indices().skip(period));
        pairs.filter(|(old, (_, new))| old != new).map(|(_, change)| change)
    };
    let period = (1..=PERIODS).min_by_key(|it| changes(*it).count()).unwrap_or(1);
    let place = |(at, char): (usize, char)| (start + at..start + at + char.len_utf8(), char);
    (start + length, changes(period).skip(USUAL).map(place).collect())
}
