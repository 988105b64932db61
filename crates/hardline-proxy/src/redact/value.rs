//! What values look like.

use super::REDACTED;

/// Values that stand for something else, or say what kind of value belongs there.
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

/// Whether it is one word of at least so many bytes with letters and digits in it.
pub(super) fn looks_random(value: &[u8], least: usize) -> bool {
    least <= value.len() && has_both(value) && !value.iter().any(u8::is_ascii_whitespace)
}

/// Whether there is more in it than the letters of a word.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    let has_lower = value.iter().any(u8::is_ascii_lowercase);
    let has_upper_inside = value.iter().skip(1).any(u8::is_ascii_uppercase);
    has_both(value) || (has_lower && has_upper_inside)
}

/// Whether there are letters and digits in it.
pub(super) fn has_both(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Whether it is one word of a configuration file.
pub(super) fn is_word(value: &[u8]) -> bool {
    4 <= value.len() && value.iter().all(u8::is_ascii_graphic)
}

/// Whether there was a secret in it that is gone.
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
        || word.iter().all(|byte| b"*.xX-".contains(byte))
}

/// Whether it is a name that stands for a value: `$TOKEN`, `${TOKEN}`, `<token>`, `{{token}}`, `%TOKEN%`.
pub(super) fn is_variable(value: &[u8]) -> bool {
    value.first().is_some_and(|first| b"$<{%[".contains(first))
}
