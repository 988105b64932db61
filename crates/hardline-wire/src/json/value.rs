//! A checked value, and access to its parts.

use std::borrow::Cow;

use super::step::{Steps, skip_string, skip_word};
use super::{skip_whitespace, string};

/// A strict JSON value inside a checked text.
///
/// Only a [`Checker`](super::Checker) creates one, so its text is valid: parsing it again cannot
/// fail, and sending it unchanged is safe. Two values are equal if they are the same text at the
/// same position.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Value<'a> {
    text: &'a str,
    offset: usize,
}

/// Kind of a JSON value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has these six")]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number of any size.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl<'a> Value<'a> {
    /// Creates a value from a part of a checked `text`.
    pub(super) fn proven(text: &'a str, start: usize, end: usize) -> Self {
        Self { text: text.get(start..end).unwrap_or_default(), offset: start }
    }

    /// Returns the value exactly as written.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the offset of the value, in bytes from the start of the checked text.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> Kind {
        // The first byte of checked text decides.
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Returns the unescaped string, if the value is one.
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        let content = self.text.strip_prefix('"')?.strip_suffix('"')?;
        Some(string::unescape(content))
    }

    /// Returns the boolean, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        self.text.parse().ok()
    }

    /// Returns the number, if it is written as an integer (no fraction, no exponent) and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.text.parse().ok()
    }

    /// Returns the value of the member `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.members().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the members in order; none if this is not an object.
    ///
    /// One level costs a pass over everything inside it. To go deeper, use [`steps`](Self::steps).
    pub fn members(&self) -> Members<'a> {
        Members { walk: Walk::into(*self, Kind::Object) }
    }

    /// Returns the elements in order; none if this is not an array.
    ///
    /// One level costs a pass over everything inside it. To go deeper, use [`steps`](Self::steps).
    pub fn elements(&self) -> Elements<'a> {
        Elements { walk: Walk::into(*self, Kind::Array) }
    }

    /// Walks over the value and everything inside it, in one pass.
    pub fn steps(&self) -> Steps<'a> {
        Steps::new(*self)
    }

    /// Returns a value inside this one.
    pub(super) fn part(&self, start: usize, end: usize) -> Self {
        let text = self.text.get(start..end).unwrap_or_default();
        Self { text, offset: self.offset + start }
    }
}

/// The members of an object: key and value.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    walk: Walk<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.walk.next_value()?.as_str()?;
        Some((key, self.walk.next_value()?))
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    walk: Walk<'a>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.walk.next_value()
    }
}

/// Walks over the values inside one array or object, including keys.
#[derive(Clone, Debug)]
struct Walk<'a> {
    of: Value<'a>,
    pos: usize,
}

impl<'a> Walk<'a> {
    fn into(of: Value<'a>, kind: Kind) -> Self {
        // Starting at the end makes the walk over another kind empty.
        let pos = if of.kind() == kind { 1 } else { of.text.len() };
        Self { of, pos }
    }

    fn next_value(&mut self) -> Option<Value<'a>> {
        let bytes = self.of.text.as_bytes();
        let mut start = skip_whitespace(bytes, self.pos);
        // The text was checked, so a separator is always in the right place.
        if let Some(b',' | b':') = bytes.get(start) {
            start = skip_whitespace(bytes, start + 1);
        }
        if let None | Some(b']' | b'}') = bytes.get(start) {
            return None;
        }
        self.pos = skip_value(bytes, start);
        Some(self.of.part(start, self.pos))
    }
}

/// Returns the position after the value that starts at `start` of checked text.
fn skip_value(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut pos = start;
    while let Some(byte) = bytes.get(pos) {
        match byte {
            b'"' => pos = skip_string(bytes, pos),
            b'{' | b'[' => {
                depth += 1;
                pos += 1;
                continue;
            }
            b'}' | b']' => {
                // Brackets match in checked text, so this never saturates.
                depth = depth.saturating_sub(1);
                pos += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                pos += 1;
                continue;
            }
            _ => pos = skip_word(bytes, pos),
        }
        if depth == 0 {
            break;
        }
    }
    pos
}
