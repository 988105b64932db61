//! Texts as tools return them, for benchmarks: documents, source code, data, and many scripts.
//!
//! The list and the texts are fixed, so that the figures of two versions can be compared. A text is
//! repeated, or cut, to any length. [`MESSAGE_SIZES`] are the sizes at which all benchmarks measure.

use std::fmt::Write;

use crate::generate::Rng;
use crate::plant::json_string;

/// Names and lengths of the texts that benchmarks send, in bytes.
pub const MESSAGE_SIZES: [(&str, usize); 5] =
    [("200 B", 200), ("1 KB", 1_000), ("10 KB", 10_000), ("100 KB", 100_000), ("1 MB", 1_000_000)];

/// All kinds of texts.
pub const KINDS: [Kind; 13] = [
    Kind { name: "lorem ipsum", source: Source::Text("lorem ipsum dolor sit amet ") },
    Kind { name: "Markdown", source: Source::Text(include_str!("../texts/markdown.txt")) },
    Kind { name: "Rust", source: Source::Text(include_str!("../texts/rust.txt")) },
    Kind { name: "Python", source: Source::Text(include_str!("../texts/python.txt")) },
    Kind {
        name: "minified JavaScript",
        source: Source::Text(include_str!("../texts/javascript.txt")),
    },
    Kind { name: "HTML", source: Source::Text(include_str!("../texts/html.txt")) },
    Kind { name: "JSON as text", source: Source::Text(include_str!("../texts/json.txt")) },
    Kind { name: "structured JSON", source: Source::Structure(include_str!("../texts/json.txt")) },
    Kind { name: "log with hashes", source: Source::Text(include_str!("../texts/log.txt")) },
    Kind { name: "Chinese, Japanese", source: Source::Text(include_str!("../texts/chinese.txt")) },
    Kind { name: "Arabic, Hindi", source: Source::Text(include_str!("../texts/arabic.txt")) },
    Kind { name: "emoji", source: Source::Text(include_str!("../texts/emoji.txt")) },
    Kind { name: "base64 image", source: Source::Image },
];

/// A kind of text.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Name, for a table.
    pub name: &'static str,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// A text, repeated.
    Text(&'static str),
    /// A JSON document as structured content: as an array of its compact form.
    Structure(&'static str),
    /// Random bytes in base64.
    Image,
}

impl Kind {
    /// Returns the kind with this name.
    pub fn find(name: &str) -> Option<Self> {
        KINDS.into_iter().find(|it| it.name == name)
    }

    /// Returns the members of a result that carry about `len` bytes of this kind, without the
    /// brackets of the object. They may be the arguments of a call as well.
    pub fn members(self, len: usize) -> String {
        match self.source {
            Source::Text(text) => {
                let text = json_string(&repeat(text, len));
                format!(r#""content":[{{"type":"text","text":{text}}}]"#)
            }
            Source::Structure(document) => {
                let value: serde_json::Value =
                    serde_json::from_str(document).unwrap_or(serde_json::Value::Null);
                let mut rows = rows_of(&value);
                rows.retain(|row| (160..600).contains(&row.len()));
                let mut list = String::new();
                for row in rows.iter().cycle() {
                    if list.len() >= len {
                        break;
                    }
                    let comma = if list.is_empty() { "" } else { "," };
                    let _ = write!(list, "{comma}{row}");
                }
                format!(r#""content":[],"structuredContent":{{"rows":[{list}]}}"#)
            }
            Source::Image => {
                const LETTERS: &str =
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                let mut random = Rng::new(1);
                let letter = |_| LETTERS.chars().nth(random.below(LETTERS.len()));
                let data: String = (0..len).filter_map(letter).collect();
                format!(r#""content":[{{"type":"image","data":"{data}","mimeType":"image/png"}}]"#)
            }
        }
    }

    /// Returns a result that carries about `len` bytes of this kind.
    pub fn result(self, len: usize) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":42,"result":{{{}}}}}"#, self.members(len))
    }

    /// Returns a call with the same content, which [`result`](Self::result) answers.
    pub fn call(self, len: usize) -> String {
        let members = self.members(len);
        format!(
            r#"{{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{{"name":"echo","arguments":{{{members}}}}}}}"#
        )
    }
}

/// Repeats a text up to `len` bytes, and cuts it between two characters.
fn repeat(text: &str, len: usize) -> String {
    let mut all = text.repeat(len.div_ceil(text.len()).max(1));
    while !all.is_char_boundary(len.min(all.len())) || all.len() > len {
        all.pop();
    }
    all
}

/// Returns the members of a document's innermost objects as compact objects.
fn rows_of(value: &serde_json::Value) -> Vec<String> {
    let mut rows = Vec::new();
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            serde_json::Value::Object(members) => {
                if members.contains_key("version") && !members.contains_key("packages") {
                    rows.push(value.to_string());
                } else {
                    rest.extend(members.values());
                }
            }
            serde_json::Value::Array(elements) => rest.extend(elements),
            _ => {}
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_a_valid_message_of_its_size() {
        for kind in KINDS {
            for (_, size) in MESSAGE_SIZES {
                for frame in [kind.result(size), kind.call(size)] {
                    let value: serde_json::Value = serde_json::from_str(&frame).unwrap();
                    assert_eq!(value["id"], 42);
                    let most = size * 3 / 2 + 600;
                    assert!(
                        frame.len() > size * 4 / 5 && frame.len() < most,
                        "{} {size}",
                        kind.name
                    );
                }
            }
        }
    }
}
