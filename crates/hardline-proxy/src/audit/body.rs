//! Stored text of a message: redacted and shortened.

use hardline_guard::redact::redact;

/// Limit on the stored text of one message, in bytes.
pub(super) const MAX_BYTES: usize = 64 << 10;

/// Returns the text to store. If it is shortened, a note at its end gives the full length.
pub(super) fn stored_text(body: &[u8], length: u64) -> String {
    // Redacted before it is cut: a cut could hide that a text is a secret.
    let redacted = redact(body);
    let is_cut = (body.len() as u64) < length;
    let text = String::from_utf8_lossy(&redacted);
    if !is_cut && text.len() <= MAX_BYTES {
        return text.into_owned();
    }
    let shown = super::table::cut(&text, MAX_BYTES);
    format!("{shown}… cut: {length} bytes in all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_with_a_mark() {
        assert_eq!(stored_text(b"{}", 2), "{}");
        let long = vec![b'x'; MAX_BYTES + 9];
        let text = stored_text(&long, 1 << 20);
        assert!(text.starts_with("xxx") && text.ends_with("x… cut: 1048576 bytes in all"));
        assert!(text.len() < MAX_BYTES + 40);
    }
}
