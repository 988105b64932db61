//! Encodes forms as `application/x-www-form-urlencoded`.

use std::fmt::Write as _;

/// Encodes pairs as a request body or a query.
pub(super) fn body<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        let separator = if text.is_empty() { "" } else { "&" };
        let _ = write!(text, "{separator}{}={}", encoded(name), encoded(value));
    }
    text
}

/// Encodes one name or value.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push('+'),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_a_url_parser_reads() {
        let pairs = [("a", "x y&z=ä%+~"), ("b", ""), ("c d", "'\"$(calc)|;`\n")];
        let url = reqwest::Url::parse(&format!("https://a.example/?{}", body(pairs))).unwrap();
        let read: Vec<_> =
            url.query_pairs().map(|(a, b)| (a.into_owned(), b.into_owned())).collect();
        let expected: Vec<_> = pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        assert_eq!(read, expected);
    }
}
