//! Recognizes the headers that the language server protocol writes before each message.

/// Returns true if `text` starts with such a header: its name, a colon and the start of its value.
///
/// The body that follows has no line end, so the next header also stands right behind a message.
pub(super) fn starts_with_header(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let value_of = |name: &[u8]| {
        let (start, rest) = text.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then_some(rest)?.trim_ascii_start().strip_prefix(b":")
    };
    if let Some(value) = value_of(b"Content-Length") {
        return value.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
    }
    let is_type = |value: &[u8]| {
        let value = value.trim_ascii().get(..12).unwrap_or_default();
        value.eq_ignore_ascii_case(b"application/")
    };
    value_of(b"Content-Type").is_some_and(is_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_two_headers_in_any_case() {
        for text in [
            "Content-Length: 52",
            "content-length:0",
            "  CONTENT-LENGTH : 7\r",
            "Content-Type: application/vscode-jsonrpc; charset=utf-8",
        ] {
            assert!(starts_with_header(text.as_bytes()), "{text}");
        }
        for text in ["", "Content-Length", "Content-Length: many", "Content-Lengths: 5"] {
            assert!(!starts_with_header(text.as_bytes()), "{text}");
        }
        assert!(!starts_with_header(b"Content-Type: text"));
    }
}
