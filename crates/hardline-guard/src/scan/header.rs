//! Header lines of other framings: `Content-Length: 42`.

use std::ops::Range;

use super::list::{Entry, List};
use crate::rule::Rule;

const NAME: &[u8] = b"content-length";

/// Returns true if the name of the header ends right before `colon`.
pub(super) fn is_name_before(text: &[u8], colon: usize) -> bool {
    let name = colon.checked_sub(NAME.len()).and_then(|start| text.get(start..colon));
    name.is_some_and(|it| it.eq_ignore_ascii_case(NAME))
}

/// Lists the header whose name ends at `colon`, if it has a line of its own.
pub(super) fn judge(text: &str, colon: usize, list: &mut List) {
    let Some(range) = range(text.as_bytes(), colon) else { return };
    let rule = Rule::ContentContentLength;
    let places = std::iter::once(range.start..range.start);
    let entry = Entry { rule, severity: rule.severity(), range, places };
    list.add(entry, || ("a header of another framing".into(), Vec::new()));
}

fn range(text: &[u8], colon: usize) -> Option<Range<usize>> {
    let start = colon.checked_sub(NAME.len())?;
    let before = text.get(..start)?.iter().rev().find(|it| !matches!(it, b' ' | b'\t'));
    // A header in the middle of a line frames nothing.
    if before.is_some_and(|it| !matches!(it, b'\n' | b'\r')) {
        return None;
    }
    let value = text.get(colon + 1..)?;
    let blanks = value.iter().take_while(|it| matches!(it, b' ' | b'\t')).count();
    let digits = value.get(blanks..)?.iter().take_while(|it| it.is_ascii_digit()).count();
    let rest = value.get(blanks + digits..)?.iter().find(|it| !matches!(it, b' ' | b'\t'));
    // A name without a number is prose.
    let is_header = digits > 0 && rest.is_none_or(|it| matches!(it, b'\n' | b'\r'));
    is_header.then(|| start..colon + 1 + blanks + digits)
}
