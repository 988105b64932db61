//! Replaces parts of a text.

use std::ops::Range;

/// Returns `text` with each range replaced. The ranges must be sorted. One that begins inside of the one
/// before it, or lies outside of the text, is left as it is.
///
/// ```
/// use hardline_wire::splice::splice;
///
/// assert_eq!(splice(b"one two", [(0..3, "1"), (7..7, "!")]), b"1 two!");
/// ```
pub fn splice<R: AsRef<[u8]>>(
    text: &[u8],
    edits: impl IntoIterator<Item = (Range<usize>, R)>,
) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut copied = 0;
    for (range, replacement) in edits {
        let Some(between) = text.get(copied..range.start) else { continue };
        if range.end > text.len() || range.end < range.start {
            continue;
        }
        result.extend_from_slice(between);
        result.extend_from_slice(replacement.as_ref());
        copied = range.end;
    }
    result.extend_from_slice(text.get(copied..).unwrap_or_default());
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(edits: &[(Range<usize>, &str)], expected: &str) {
        let result = splice(b"abcdef", edits.iter().cloned());
        assert_eq!(String::from_utf8(result).unwrap(), expected);
    }

    #[test]
    fn replaces_inserts_and_removes() {
        check(&[], "abcdef");
        check(&[(0..0, "x"), (1..3, ""), (6..6, "y")], "xadefy");
        check(&[(0..6, "z")], "z");
    }

    #[test]
    fn a_range_that_overlaps_or_lies_outside_changes_nothing() {
        check(&[(0..4, "x"), (2..5, "y"), (4..5, "z")], "xzf");
        check(&[(4..9, "x"), (7..8, "y")], "abcdef");
    }
}
