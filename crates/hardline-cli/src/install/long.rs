//! Cuts long lines around a change: some clients write their whole configuration on one line.

use similar::{Algorithm, ChangeTag, capture_diff_slices};

/// Limit on a line that is shown whole, in characters.
const WIDTH: usize = 240;
/// Characters shown before and after a difference.
const AROUND: usize = 80;
/// Characters shown of a difference.
const MAX_CHANGE: usize = 1000;

/// Returns the beginning of a long line.
pub(super) fn cut(line: &str) -> String {
    if is_long(line) { [first(line, 2 * AROUND), "…"].concat() } else { line.to_owned() }
}

/// Cuts a line and its replacement, leaving out what both have in common.
pub(super) fn cut_pair(old: &str, new: &str) -> (String, String) {
    if !is_long(old) && !is_long(new) {
        return (old.to_owned(), new.to_owned());
    }
    // A diff over JSON tokens gives cleaner cuts than one over characters.
    let (old, new) = (pieces(old), pieces(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut cut = (String::new(), String::new());
    for (index, op) in ops.iter().enumerate() {
        let (is_first, is_last) = (index == 0, index + 1 == ops.len());
        for (tag, part) in op.iter_slices(&old, &new) {
            let part = part.concat();
            match tag {
                ChangeTag::Equal => {
                    let part = same(&part, is_first, is_last);
                    cut.0.push_str(&part);
                    cut.1.push_str(&part);
                }
                ChangeTag::Delete => cut.0.push_str(&changed(&part)),
                ChangeTag::Insert => cut.1.push_str(&changed(&part)),
            }
        }
    }
    cut
}

/// Cuts a common part: only the text near the changes before and after it stays.
fn same(part: &str, is_first: bool, is_last: bool) -> String {
    let before = if is_first { "" } else { first(part, AROUND) };
    let after = if is_last { "" } else { last(part, AROUND) };
    if before.len() + after.len() < part.len() {
        [before, "…", after].concat()
    } else {
        part.to_owned()
    }
}

fn changed(part: &str) -> String {
    let shown = first(part, MAX_CHANGE);
    if shown.len() < part.len() { [shown, "…"].concat() } else { part.to_owned() }
}

/// Splits a line into pieces that end where a JSON value or list can begin or end.
fn pieces(line: &str) -> Vec<&str> {
    line.split_inclusive([',', ':', '{', '}', '[', ']']).collect()
}

fn is_long(line: &str) -> bool {
    line.chars().nth(WIDTH).is_some()
}

fn first(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

fn last(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_each_change() {
        let filler = "\"é\":1,".repeat(100);
        let (old, new) = (
            format!("{filler}\"a\",{filler}\"b\",{filler}"),
            format!("{filler}\"A\",{filler}\"B\",{filler}"),
        );
        let (old, new) = cut_pair(&old, &new);
        assert!(old.starts_with('…') && old.ends_with('…') && old.chars().count() < 340, "{old}");
        assert!(old.contains(",\"a\",") && old.contains(",\"b\",") && !old.contains('A'), "{old}");
        assert_eq!(new, old.replace("\"a\"", "\"A\"").replace("\"b\"", "\"B\""));
        assert_eq!(old.matches('…').count(), 3);
    }

    #[test]
    fn short_lines_are_whole() {
        let pair = |(one, other): (&str, &str)| (one.to_owned(), other.to_owned());
        assert_eq!(cut_pair("a", "b"), pair(("a", "b")));
        assert_eq!(cut("abc"), "abc");
        assert_eq!(cut(&"x".repeat(500)), format!("{}…", "x".repeat(160)));
        // What is the same and short stays as well.
        let new = format!("a,{}", "b".repeat(300));
        assert_eq!(cut_pair("a,c", &new), pair(("a,c", &new)));
    }
}
