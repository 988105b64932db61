//! Header lines of other framings: `Content-Length: 42`.

use std::ops::Range;

use super::pattern::Pattern;

const NAME: &[u8] = b"content-length";

pub(crate) const PATTERN: Pattern = Pattern::new(NAME, b':', range, "a header of another framing");

/// Returns the range of the header whose name ends at `colon`, if it has a line of its own.
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
