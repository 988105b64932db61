//! The place of a string in a JSON value.

use std::borrow::Cow;
use std::fmt;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::Value;

use super::reader::{self, Reader};

/// Limit on the bytes of a key in a path.
const KEY_BYTES: usize = 64;

/// Number of levels whose names are put together without an allocation.
const FEW_NAMES: usize = 16;

/// Path from the root to a value, such as `$.result.content[0].text`.
#[derive(Debug, Default)]
pub(crate) struct JsonPath<'a> {
    levels: Vec<At<'a>>,
}

/// Position in an open array or object.
#[derive(Debug)]
enum At<'a> {
    /// Before the first key.
    Object,
    /// A key, as it is written and unescaped.
    Key(Value<'a>, Cow<'a, str>),
    /// Index of the next element.
    Index(usize),
}

impl<'a> JsonPath<'a> {
    /// Enters an array or object.
    pub(crate) fn enter(&mut self, is_array: bool) {
        self.levels.push(if is_array { At::Index(0) } else { At::Object });
    }

    /// Leaves the innermost array or object.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
        self.done();
    }

    /// Sets the key of the member whose value comes next.
    pub(crate) fn key(&mut self, key: Value<'a>) {
        if let Some(level) = self.levels.last_mut() {
            *level = At::Key(key, key.as_str().unwrap_or_default());
        }
    }

    /// Ends the previous member: the next string is a key of the object.
    pub(crate) fn next_key(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            *level = At::Object;
        }
    }

    /// Ends a value: the next one in an array has the next index.
    pub(crate) fn done(&mut self) {
        if let Some(At::Index(index)) = self.levels.last_mut() {
            *index += 1;
        }
    }

    /// Returns the readers of the string here: a value, or a key of the innermost object.
    pub(crate) fn reader(&self, is_key: bool) -> Reader {
        // Array indexes do not matter for the readers of a string.
        let names = self.levels.iter().filter_map(At::name);
        // Most places need no allocation.
        let mut few = [""; FEW_NAMES];
        if self.levels.len() <= FEW_NAMES {
            let count = few.iter_mut().zip(names).map(|(to, from)| *to = from).count();
            return reader::of(few.get(..count).unwrap_or_default(), is_key);
        }
        reader::of(&names.collect::<Vec<_>>(), is_key)
    }

    /// Returns true if the place is inside the value that these keys lead to from the root.
    pub(crate) fn is_inside(&self, keys: &[&str]) -> bool {
        let is_key = |(level, name): (&At<'_>, &&str)| level.name() == Some(*name);
        // Strictly inside: the value itself does not count.
        keys.len() < self.levels.len() && self.levels.iter().zip(keys).all(is_key)
    }
}

impl At<'_> {
    /// Returns the key of the current member, if there is one.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Key(_, name) => Some(name),
            Self::Object | Self::Index(_) => None,
        }
    }
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("$")?;
        for level in &self.levels {
            match level {
                At::Object => {}
                At::Index(index) => write!(formatter, "[{index}]")?,
                At::Key(key, name) => {
                    if is_plain(name) {
                        write!(formatter, ".{name}")?;
                    } else {
                        write!(formatter, "[{}]", Excerpt::of_json(key.text(), KEY_BYTES))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns true if a key can be written after a dot.
fn is_plain(key: &str) -> bool {
    let starts =
        key.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_' || char == '$');
    starts
        && key.len() <= KEY_BYTES
        && key.bytes().all(|it| it.is_ascii_alphanumeric() || b"_$-".contains(&it))
}
