//! Writes TOML strings.

/// Quotes a text as a TOML string.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\u{0}'..='\u{1f}' | '\u{7f}' => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(char)));
            }
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::document::{Document, Format};

    #[test]
    fn a_quoted_text_is_read_as_it_was() {
        let all: String = ('\u{0}'..='\u{ff}').chain("\u{2028}日\u{1f600}".chars()).collect();
        let text = format!("a = {}", quote(&all));
        let node = Document::parse(text.as_bytes(), Format::Toml).unwrap().root.unwrap();
        assert_eq!(node.member("a").unwrap().node.as_str(), Some(&*all));
    }
}
