//! The text of a configuration file, and where in it everything stands.
//!
//! JSON with comments and TOML become the same tree. It says of every value which bytes of the text it
//! is, so that a mistake has a line, and a change can replace these bytes and leave every other.
//!
//! Invariants:
//! - Every range lies within the text, on character boundaries.
//! - The bytes are the text, and a byte order mark before it if there was one.

#![expect(clippy::exhaustive_structs, clippy::exhaustive_enums, reason = "a tree to take apart")]

mod json;
mod positions;
mod toml;

use std::ops::Range;
use std::path::Path;

use thiserror::Error;

use positions::Positions;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// How a file is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// With comments and trailing commas, if there are any.
    Json,
    /// TOML.
    Toml,
}

impl Format {
    /// The format of a file with this name and these contents.
    pub fn of(path: &Path, bytes: &[u8]) -> Self {
        let has_ending =
            |ending| path.extension().is_some_and(|it| it.eq_ignore_ascii_case(ending));
        if has_ending("toml") {
            return Self::Toml;
        }
        // TOML has no line that begins with one of these.
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

/// A configuration that was read.
#[derive(Clone, Debug)]
pub struct Document {
    /// How it is written.
    pub format: Format,
    /// Without a byte order mark.
    pub text: String,
    has_mark: bool,
    positions: Positions,
    /// `None` if there is nothing in the text but space and comments.
    pub root: Option<Node>,
}

/// Why a text is no configuration.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is UTF-16.
    #[error("it is UTF-16; save it as UTF-8")]
    Utf16,
    /// It is in another encoding.
    #[error("line {line}, column {column}: this is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
    },
    /// It is broken.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong there. Unescaped.
        message: String,
    },
}

impl Document {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// What is wrong, with its line and column.
    pub fn parse(bytes: &[u8], format: Format) -> Result<Self, DocumentError> {
        let text = match str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) => {
                return Err(DocumentError::Utf16);
            }
            Err(error) => {
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

    /// The file with another text.
    pub fn with_text(&self, text: &str) -> Vec<u8> {
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { "" };
        [mark, text].concat().into_bytes()
    }

    /// What stands in a range.
    pub fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// The line of a value, from 1.
    pub fn line(&self, node: &Node) -> usize {
        self.place(node.range.start).0
    }

    /// The line and the column of an offset, both from 1, the column in characters.
    pub fn place(&self, offset: usize) -> (usize, usize) {
        self.positions.place(&self.text, offset)
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// In TOML, a table has that of its heading.
    pub range: Range<usize>,
    /// What it is.
    pub value: Value,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Value {
    /// JSON may have a key twice.
    Object(Vec<Member>),
    /// A list.
    Array(Vec<Node>),
    /// A string, unescaped.
    String(String),
    /// A number, a date, `true`, `null` …, as it is written.
    Other(String),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Member {
    /// Unescaped.
    pub key: String,
    /// Where the key stands.
    pub key_range: Range<usize>,
    /// The value.
    pub node: Node,
}

impl Node {
    /// The members of an object.
    pub fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The first member of this name.
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members()?.iter().find(|member| member.key == key)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A key that an object has twice.
    pub fn duplicate(&self) -> Option<&Member> {
        let mut seen = std::collections::HashSet::new();
        self.members()?.iter().find(|member| !seen.insert(&member.key))
    }

    /// Whether both say the same, wherever they stand and whatever the order of their keys.
    pub fn says_what(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Object(own), Value::Object(others)) => {
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
