//! Classification of values by their looks.

use super::REDACTED;

/// Values that are placeholders, or name the type of a value.
const PLACEHOLDERS: [&str; 30] = [
    "string",
    "str",
    "number",
    "integer",
    "int",
    "boolean",
    "bool",
    "object",
    "array",
    "any",
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "required",
    "optional",
    "text",
    "bytes",
    "unknown",
    "empty",
    "hidden",
    "redacted",
    "enabled",
    "disabled",
    "yes",
    "no",
    "on",
    "off",
];

/// Returns true for one word of at least `least` bytes with letters and digits.
pub(super) fn looks_random(value: &[u8], least: usize) -> bool {
    least <= value.len() && has_both(value) && !value.iter().any(u8::is_ascii_whitespace)
}

/// Returns true if the value is more than a plain word: letters and digits, or capitals inside.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    let has_lower = value.iter().any(u8::is_ascii_lowercase);
    // A capital at the beginning is that of a sentence or a name.
    let has_upper_inside = value.iter().skip(1).any(u8::is_ascii_uppercase);
    has_both(value) || (has_lower && has_upper_inside)
}

/// Returns true if the value has letters and digits.
pub(super) fn has_both(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Returns true for one word as in a configuration file.
pub(super) fn is_word(value: &[u8]) -> bool {
    value.len() >= 4 && value.iter().all(u8::is_ascii_graphic)
}

/// Returns true if a part of the value was redacted already.
pub(super) fn is_done(value: &[u8]) -> bool {
    memchr::memmem::find(value, REDACTED.as_bytes()).is_some()
}

pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let word = value.trim_ascii();
    let is_known = PLACEHOLDERS.iter().any(|it| word.eq_ignore_ascii_case(it.as_bytes()));
    word.is_empty()
        || is_known
        || is_variable(word)
        || word == "…".as_bytes()
        // `****` and `xxx` stand for a secret that was removed by hand.
        || word.iter().all(|byte| b"*.xX-".contains(byte))
}

/// Returns true for a reference to a value: `$TOKEN`, `${TOKEN}`, `<token>`, `{{token}}`,
/// `%TOKEN%`.
pub(super) fn is_variable(value: &[u8]) -> bool {
    value.first().is_some_and(|first| b"$<{%[".contains(first))
}
