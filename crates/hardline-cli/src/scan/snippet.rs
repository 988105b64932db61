//! Snippets for people: a part of the line with marks below the finding.
//!
//! All text goes through [`Pieces`], so that it cannot move the cursor, hide text or reverse it.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::terminal::Pieces;

/// Limit on the width of a snippet: with its indentation, it fits a terminal of eighty columns.
const MAX_WIDTH: usize = 74;
/// Limit on the columns before the finding.
const MAX_BEFORE: usize = 28;
/// Columns of the finding that are always shown.
const MIN_FOUND: usize = 8;

/// A part of a line.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Snippet {
    pub(super) before: String,
    pub(super) found: String,
    pub(super) after: String,
}

impl Snippet {
    /// Shows `range` of `text`, which may have many lines. In JSON, backslashes stay as they are.
    pub(super) fn new(text: &[u8], range: Range<usize>, is_json: bool) -> Self {
        let start = range.start.min(text.len());
        let end = range.end.clamp(start, text.len());
        let head = text.get(..start).unwrap_or_default();
        // Only the bytes that can be shown are examined: a line may have megabytes.
        let head = head.get(last_bytes(head)..).unwrap_or_default();
        let line_start = memchr::memrchr(b'\n', head).map_or(0, |newline| newline + 1);
        let tail = text.get(end..).unwrap_or_default();
        // A character has at most four bytes.
        let tail = tail.get(..MAX_WIDTH * 4).unwrap_or(tail);
        let line_end = memchr::memchr(b'\n', tail).unwrap_or(tail.len());

        let is_begun = line_start == 0 && head.len() < start;
        let before = Pieces::new(head.get(line_start..).unwrap_or_default(), is_json);
        let before = before.last(MAX_BEFORE, is_begun);
        let found = text.get(start..end).unwrap_or_default();
        let found_part = found.get(..MAX_WIDTH * 4).unwrap_or(found);
        // Readers look for the finding, so it gets its room before the text after it.
        let room = (MAX_WIDTH - before.width()).max(MIN_FOUND);
        let is_cut = found_part.len() < found.len();
        let found = Pieces::up_to(room, found_part, is_json).first(room, is_cut);
        let room = room.saturating_sub(found.width());
        let mut after = String::new();
        // Text after a cut finding would look adjacent to it.
        if !found.ends_with('…') && room > 0 {
            let rest = Pieces::up_to(room, tail.get(..line_end).unwrap_or_default(), is_json);
            after = rest.first(room, line_end == MAX_WIDTH * 4);
        }
        Self { before, found, after }
    }

    /// Returns the marks below the line: one caret per column of the finding, at least one.
    pub(super) fn marks(&self) -> String {
        // A finding without a width still gets a mark.
        let width = self.found.width().max(1);
        format!("{}{}", " ".repeat(self.before.width()), "^".repeat(width))
    }
}

/// Returns the offset of the last bytes that can be shown before the finding, at a character
/// boundary.
fn last_bytes(head: &[u8]) -> usize {
    let mut at = head.len().saturating_sub(MAX_BEFORE * 4);
    // Not inside of a character.
    while at > 0 && head.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, range: Range<usize>, expected: &str, marks: &str) {
        let snippet = Snippet::new(text.as_bytes(), range, false);
        let Snippet { before, found, after } = &snippet;
        assert_eq!(format!("{before}{found}{after}"), expected);
        assert_eq!(snippet.marks(), marks);
        assert!(expected.width() <= MAX_WIDTH + 1);
    }

    #[test]
    fn marks_the_place_below_the_line() {
        check("one\ntwo here three\nfour", 8..12, "two here three", "    ^^^^");
        check("", 0..0, "", "^");
        check("end", 3..3, "end", "   ^");
    }

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        check("a\u{202e}b", 1..4, r"a\u{202e}b", " ^^^^^^^^");
        check("\x1b[2Jx\ty", 0..1, r"\u{1b}[2Jx\ty", "^^^^^^");
        check("e\u{200b}", 1..4, r"e\u{200b}", " ^^^^^^^^");
        let snippet = Snippet::new(b"a\xff\xc3b", 1..3, false);
        assert_eq!(snippet.found, r"\xff\xc3");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        check("日本x", 6..7, "日本x", "    ^");
        check("日本", 3..6, "日本", "  ^^");
    }

    #[test]
    fn long_lines_are_cut_on_both_sides() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let before = format!("…{}", "a".repeat(27));
        let after = format!("{}…", "b".repeat(44));
        check(&text, 500..501, &format!("{before}X{after}"), &format!("{:28}^", ""));
        let found = format!("{}…", "a".repeat(73));
        check(&text, 0..500, &found, &"^".repeat(74));
        let wide = "日".repeat(100);
        check(
            &wide,
            150..153,
            &format!("…{}{}…", "日".repeat(14), "日".repeat(22)),
            &format!("{:27}^^", ""),
        );
    }

    #[test]
    fn what_takes_several_lines_is_shown_on_one() {
        check("a\nb{\n  c\n}d\ne", 3..10, r"b{\n  c\n}d", " ^^^^^^^^^");
    }

    #[test]
    fn json_can_be_searched_for() {
        let snippet = Snippet::new(br#"{"a":"x\ny"}"#, 7..9, true);
        assert_eq!(snippet.found, r"\n");
    }
}
