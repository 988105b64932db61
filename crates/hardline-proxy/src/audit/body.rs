//! The text of a message, as it is kept: without secrets, and not too much of it.

use crate::redact::redact;

/// As much of a message's text as is kept, in bytes.
pub(super) const MAX_BYTES: usize = 64 << 10;

/// What is kept of a text. What is left out of it is marked at its end.
pub(super) fn kept(body: &[u8], length: u64) -> String {
    let redacted = redact(body);
    let is_cut = (body.len() as u64) < length;
    let text = String::from_utf8_lossy(&redacted);
    if !is_cut && text.len() <= MAX_BYTES {
        return text.into_owned();
    }
    let shown = super::record::cut(&text, MAX_BYTES);
    format!("{shown}… cut: {length} bytes in all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_with_a_mark() {
        assert_eq!(kept(b"{}", 2), "{}");
        let long = vec![b'x'; MAX_BYTES + 9];
        let text = kept(&long, 1 << 20);
        assert!(text.starts_with("xxx") && text.ends_with("x… cut: 1048576 bytes in all"));
        assert!(text.len() < MAX_BYTES + 40);
    }
}
