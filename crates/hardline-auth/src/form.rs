//! Encodes forms as `application/x-www-form-urlencoded`.

/// Encodes pairs as a request body or a query.
pub(crate) fn body<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Encodes one name or value.
pub(crate) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
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
