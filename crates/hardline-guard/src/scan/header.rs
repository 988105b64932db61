//! Header lines of other framings: `Content-Length: 42`.

use super::Hit;
use crate::rule::Rule;

const NAME: &[u8] = b"content-length";

/// Whether the name of the header ends right before `colon`.
pub(super) fn is_name_before(text: &[u8], colon: usize) -> bool {
    let name = colon.checked_sub(NAME.len()).and_then(|start| text.get(start..colon));
    name.is_some_and(|it| it.eq_ignore_ascii_case(NAME))
}

/// The header whose name ends at `colon`, if it has a line of its own.
pub(super) fn hit(text: &str, colon: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let start = colon.checked_sub(NAME.len())?;
    let before = bytes.get(..start)?.iter().rev().find(|it| !matches!(it, b' ' | b'\t'));
    if before.is_some_and(|it| !matches!(it, b'\n' | b'\r')) {
        return None;
    }
    let value = bytes.get(colon + 1..)?;
    let blanks = value.iter().take_while(|it| matches!(it, b' ' | b'\t')).count();
    let digits = value.get(blanks..)?.iter().take_while(|it| it.is_ascii_digit()).count();
    let rest = value.get(blanks + digits..)?.iter().find(|it| !matches!(it, b' ' | b'\t'));
    let is_header = digits > 0 && rest.is_none_or(|it| matches!(it, b'\n' | b'\r'));
    let range = start..colon + 1 + blanks + digits;
    is_header.then(|| Hit::new(Rule::ContentContentLength, range, "a header of another framing"))
}
