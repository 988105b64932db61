//! Mends frames: replaces unpaired surrogates by U+FFFD, and changes no other byte.

use hardline_wire::json::{Envelope, Value, lone_surrogates};

const REPLACEMENT: &[u8; 6] = b"\\uFFFD";

/// Writes `\uFFFD` over each unpaired surrogate escape of a text that the wire says is mendable.
pub(crate) fn mend(text: &[u8]) -> Vec<u8> {
    let mut mended = text.to_vec();
    for at in lone_surrogates(text) {
        if let Some(escape) = mended.get_mut(at..at + REPLACEMENT.len()) {
            escape.copy_from_slice(REPLACEMENT);
        }
    }
    mended
}

/// Returns true if an unpaired surrogate of `text` is part of the id, the method or the version of
/// the message. Mended there, the message would have an id or a method that its sender never wrote.
pub(super) fn touches_name(text: &[u8], mended: &Envelope<'_>) -> bool {
    let names = [mended.jsonrpc, mended.id, mended.method];
    let holds =
        |value: &Value<'_>, at| (value.offset()..value.offset() + value.text().len()).contains(&at);
    lone_surrogates(text).any(|at| names.iter().flatten().any(|name| holds(name, at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_lone_escapes_alone() {
        let text = br#"{"a":"\ud800 \ud83d\ude00 \\ud800 \uDFFF\u0041"}"#;
        let expected = br#"{"a":"\uFFFD \ud83d\ude00 \\ud800 \uFFFD\u0041"}"#;
        assert_eq!(mend(text), expected);
    }
}
