//! A checked value, and ways into it.

use std::borrow::Cow;

use super::step::{Steps, skip_string, skip_word};
use super::{skip_whitespace, string};

/// A strict JSON value inside a text that was checked.
///
/// Only a [`Checker`](super::Checker) makes one, so its text is known to be sound: reading it
/// again cannot fail, and sending it as it is is safe. Two are equal if they are the same text at
/// the same place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Value<'a> {
    text: &'a str,
    offset: usize,
}

/// What kind of value it is.
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
    /// Takes the part of a checked `text` that is one value.
    pub(super) fn proven(text: &'a str, start: usize, end: usize) -> Self {
        Self { text: text.get(start..end).unwrap_or_default(), offset: start }
    }

    /// The value exactly as it was written.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Where it starts, in bytes from the start of the text that was checked.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What kind of value it is.
    pub fn kind(&self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// The string that it stands for, if it is one.
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        let content = self.text.strip_prefix('"')?.strip_suffix('"')?;
        Some(string::unescape(content))
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        self.text.parse().ok()
    }

    /// The number, if it is written as an integer (no fraction, no exponent) and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.text.parse().ok()
    }

    /// The value of the member `key`, if it is an object that has it.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.members().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The members in their order, none if it is not an object.
    ///
    /// One level costs a pass over all that is inside it: to go deep, take [`steps`](Self::steps).
    pub fn members(&self) -> Members<'a> {
        Members { walk: Walk::into(*self, Kind::Object) }
    }

    /// The elements in their order, none if it is not an array.
    ///
    /// One level costs a pass over all that is inside it: to go deep, take [`steps`](Self::steps).
    pub fn elements(&self) -> Elements<'a> {
        Elements { walk: Walk::into(*self, Kind::Array) }
    }

    /// The value and all that is inside it, in one pass.
    pub fn steps(&self) -> Steps<'a> {
        Steps::new(*self)
    }

    /// A value inside this one.
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

/// A walk over the values inside one array or object, keys among them.
#[derive(Clone, Debug)]
struct Walk<'a> {
    of: Value<'a>,
    pos: usize,
}

impl<'a> Walk<'a> {
    fn into(of: Value<'a>, kind: Kind) -> Self {
        let pos = if of.kind() == kind { 1 } else { of.text.len() };
        Self { of, pos }
    }

    fn next_value(&mut self) -> Option<Value<'a>> {
        let bytes = self.of.text.as_bytes();
        let mut start = skip_whitespace(bytes, self.pos);
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
