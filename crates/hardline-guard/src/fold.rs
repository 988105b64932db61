//! Compares keys and values as lenient readers do.
//!
//! Go's decoder takes `Method` for `method`, and `ſ` for `s`. A check that looks for a key must find
//! each spelling that some client takes for it.

use std::borrow::Cow;

use hardline_wire::json::Value;
use unicode_normalization::UnicodeNormalization as _;

/// Longest text that can equal a checked name, in bytes. Every checked name is far shorter.
const MAX_BYTES: usize = 256;

/// Returns a text in lower case, with compatibility forms replaced: `ＭＯＤＥ`, `reſult` and `ıd`
/// become `mode`, `result` and `id`. A text over [`MAX_BYTES`] stays as it is.
pub(crate) fn folded(text: &str) -> Cow<'_, str> {
    let is_small = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if text.len() > MAX_BYTES || text.bytes().all(is_small) {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    // Upper case first: it is the only way from `ı` to `i`. The small form of `İ` has a mark.
    let chars = text.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    Cow::Owned(chars.filter(|char| *char != '\u{307}').collect())
}

/// Returns true if some reader takes `text` for the ASCII `name`.
pub(crate) fn is_alike(text: &str, name: &str) -> bool {
    if text.is_ascii() {
        return text.eq_ignore_ascii_case(name);
    }
    folded(text).eq_ignore_ascii_case(name)
}

/// Returns true if an object has another key that some readers take for this one.
pub(crate) fn has_twin(object: Value<'_>, name: &str) -> bool {
    object.members().any(|(key, _)| key != name && is_alike(&key, name))
}

/// Returns the values of all members whose key some reader takes for `name`.
pub(crate) fn members_alike<'a>(object: Value<'a>, name: &str) -> impl Iterator<Item = Value<'a>> {
    object.members().filter(move |(key, _)| is_alike(key, name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_that_some_reader_takes_for_a_name_are_alike() {
        for text in ["inputRequests", "INPUTREQUESTS", "inputReque\u{17f}ts", "ıNPUTREQUESTS"] {
            assert!(is_alike(text, "inputRequests"), "{text}");
        }
        for text in ["İnputRequests", "\u{ff49}nputRequests", "\u{1d422}nputRequests"] {
            assert!(is_alike(text, "inputRequests"), "{text}");
        }
        assert!(is_alike("to\u{212a}en", "token"));
        for text in ["", "inputRequest", "inputRequests ", "input_requests", "ínputRequests"] {
            assert!(!is_alike(text, "inputRequests"), "{text}");
        }
        let long = "\u{ff49}".repeat(MAX_BYTES);
        assert_eq!(folded(&long), long);
    }
}
