//! The parsed text of a configuration file, with the location of every value.
//!
//! JSON with comments and TOML are parsed into the same tree. Each value has its byte range, so that an
//! error can show a line, and an edit can replace those bytes and leave all others unchanged.
//!
//! Invariants:
//! - Every range lies within the text, on character boundaries.
//! - The file is the text, preceded by a byte order mark if it had one.

#![expect(
    clippy::exhaustive_structs,
    clippy::exhaustive_enums,
    reason = "callers match on the whole tree"
)]

mod json;
mod positions;
mod toml;

use std::ops::Range;
use std::path::Path;

use thiserror::Error;

use positions::Positions;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The syntax of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// JSON, with or without comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

impl Format {
    /// Returns the format of a file, by its name and contents.
    pub fn of(path: &Path, bytes: &[u8]) -> Self {
        let has_ending =
            |ending| path.extension().is_some_and(|it| it.eq_ignore_ascii_case(ending));
        // The name decides before the contents: an empty TOML file looks like an empty JSON file.
        if has_ending("toml") {
            return Self::Toml;
        }
        // No TOML file starts with one of these characters.
        let text =
            bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(bytes).trim_ascii_start();
        let is_json = has_ending("json") || has_ending("jsonc") || text.is_empty();
        if is_json || text.starts_with(b"{") || text.starts_with(b"/") {
            Self::Json
        } else {
            Self::Toml
        }
    }
}

/// A parsed configuration file.
#[derive(Clone, Debug)]
pub struct Document {
    /// Syntax of the file.
    pub format: Format,
    /// Text of the file, without a byte order mark.
    pub text: String,
    has_mark: bool,
    positions: Positions,
    /// Top-level value; `None` if the text contains only whitespace and comments.
    pub root: Option<Node>,
}

/// Error returned when a text cannot be parsed.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum DocumentError {
    /// The text is UTF-16.
    #[error("it is UTF-16; save it as UTF-8")]
    Utf16,
    /// The text is in another encoding.
    #[error("line {line}, column {column}: this is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
    },
    /// The text is not valid JSON or TOML.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
        /// Message from the parser. Not escaped.
        message: String,
    },
}

impl Document {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// Returns a [`DocumentError`] with the location of the first error.
    pub fn parse(bytes: &[u8], format: Format) -> Result<Self, DocumentError> {
        let text = match str::from_utf8(bytes) {
            Ok(text) => text,
            // Windows editors save UTF-16 as "Unicode"; a hint helps more than a byte offset.
            Err(_) if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) => {
                return Err(DocumentError::Utf16);
            }
            Err(error) => {
                // The position of the first invalid byte, counted in characters of the valid prefix.
                let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let (line, column) = place(&String::from_utf8_lossy(before), usize::MAX);
                return Err(DocumentError::NotUtf8 { line, column });
            }
        };
        let has_mark = text.starts_with(BYTE_ORDER_MARK);
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).to_owned();
        let root = match format {
            Format::Json => json::parse(&text)?,
            Format::Toml => toml::parse(&text)?,
        };
        Ok(Self { format, has_mark, positions: Positions::new(&text), root, text })
    }

    /// Returns the contents of the file with another text, keeping a byte order mark.
    pub fn with_text(&self, text: &str) -> Vec<u8> {
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { "" };
        [mark, text].concat().into_bytes()
    }

    /// Returns the text in a range.
    pub fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// Returns the line of a value, counted from 1.
    pub fn line(&self, node: &Node) -> usize {
        self.place(node.range.start).0
    }

    /// Returns line and column of an offset, both counted from 1, the column in characters.
    pub fn place(&self, offset: usize) -> (usize, usize) {
        self.positions.place(&self.text, offset)
    }
}

/// A value and its location.
#[derive(Clone, Debug)]
pub struct Node {
    /// Byte range in the text. A TOML table has the range of its heading.
    pub range: Range<usize>,
    /// The value.
    pub value: Value,
}

/// A parsed value.
#[derive(Clone, Debug)]
pub enum Value {
    /// An object or table. JSON may contain a key twice.
    Object(Vec<Member>),
    /// An array.
    Array(Vec<Node>),
    /// A string, unescaped.
    String(String),
    /// A number, date, boolean or `null`, as written.
    Other(String),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// Byte range of the key.
    pub key_range: Range<usize>,
    /// The value.
    pub node: Node,
}

impl Node {
    /// Returns the members of an object.
    pub fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the first member with this key.
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members()?.iter().find(|member| member.key == key)
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the second occurrence of a repeated key.
    pub fn duplicate(&self) -> Option<&Member> {
        // Linear, because a hostile file may have very many keys.
        let mut seen = std::collections::HashSet::new();
        self.members()?.iter().find(|member| !seen.insert(&member.key))
    }

    /// Returns true if both values are equal, regardless of their location and the order of their keys.
    pub fn says_what(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Object(own), Value::Object(others)) => {
                // Keys have no order in JSON or TOML, so both sides are compared in sorted order.
                let pairs = sorted(own).into_iter().zip(sorted(others));
                own.len() == others.len()
                    && pairs.into_iter().all(|(a, b)| a.key == b.key && a.node.says_what(&b.node))
            }
            (Value::Array(own), Value::Array(others)) => {
                own.len() == others.len() && own.iter().zip(others).all(|(a, b)| a.says_what(b))
            }
            (Value::String(own), Value::String(other)) => own == other,
            (Value::Other(own), Value::Other(other)) => own == other,
            _ => false,
        }
    }
}

fn sorted(members: &[Member]) -> Vec<&Member> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|member| &member.key);
    members
}

fn place(text: &str, offset: usize) -> (usize, usize) {
    Positions::new(text).place(text, offset)
}
