//! Where in a value a string stands.

use std::fmt;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::Value;

/// Most bytes of a key in a path.
const KEY_BYTES: usize = 64;

/// The way from the root to a value, as `$.result.content[0].text`.
#[derive(Debug, Default)]
pub(crate) struct Place<'a> {
    levels: Vec<Level<'a>>,
}

/// An array or object that is open.
#[derive(Debug)]
struct Level<'a> {
    at: At<'a>,
    /// Whether the value at `at` must not be edited.
    is_opaque: bool,
    /// Whether nothing in it may be.
    is_tree: bool,
}

#[derive(Debug)]
enum At<'a> {
    /// Before the first key.
    Object,
    Key(Value<'a>),
    /// The element that is next.
    Index(usize),
}

impl<'a> Place<'a> {
    /// An array or object begins.
    pub(crate) fn enter(&mut self, is_array: bool) {
        let is_tree = self.levels.last().is_some_and(|level| level.is_tree);
        let at = if is_array { At::Index(0) } else { At::Object };
        // The elements of an array are what the array is.
        let is_opaque = is_tree || is_array && self.is_opaque();
        self.levels.push(Level { at, is_opaque, is_tree });
    }

    /// The innermost one ends.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
        self.done();
    }

    /// A key of the innermost object.
    pub(crate) fn key(&mut self, key: Value<'a>, is_opaque: bool, is_tree: bool) {
        let inherited = self.levels.len().checked_sub(2).and_then(|at| self.levels.get(at));
        let inherited = inherited.is_some_and(|level| level.is_tree);
        if let Some(level) = self.levels.last_mut() {
            level.at = At::Key(key);
            level.is_tree = is_tree || inherited;
            level.is_opaque = is_opaque || level.is_tree;
        }
    }

    /// The member before has ended: what comes next is the object's own.
    pub(crate) fn next_key(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.at = At::Object;
        }
    }

    /// A value has ended.
    pub(crate) fn done(&mut self) {
        if let Some(Level { at: At::Index(index), .. }) = self.levels.last_mut() {
            *index += 1;
        }
    }

    /// Whether the value here must not be edited.
    pub(crate) fn is_opaque(&self) -> bool {
        self.levels.last().is_some_and(|level| level.is_opaque)
    }

    /// Whether it is inside the value that these keys lead to from the root.
    pub(crate) fn is_inside(&self, keys: &[&str]) -> bool {
        let is_key = |(level, name): (&Level<'_>, &&str)| match &level.at {
            At::Key(key) => key.as_str().is_some_and(|key| key == **name),
            At::Object | At::Index(_) => false,
        };
        keys.len() < self.levels.len() && self.levels.iter().zip(keys).all(is_key)
    }

    /// Whether the innermost object is the value of a member with one of these names.
    pub(crate) fn is_in(&self, names: &[&str]) -> bool {
        let outer = self.levels.len().checked_sub(2).and_then(|at| self.levels.get(at));
        match outer.map(|level| &level.at) {
            Some(At::Key(key)) => key.as_str().is_some_and(|key| names.contains(&&*key)),
            _ => false,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("$")?;
        for level in &self.levels {
            match &level.at {
                At::Object => {}
                At::Index(index) => write!(formatter, "[{index}]")?,
                At::Key(key) => {
                    let name = key.as_str().unwrap_or_default();
                    if is_plain(&name) {
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

/// Whether a key can stand after a dot.
fn is_plain(key: &str) -> bool {
    let starts =
        key.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_' || char == '$');
    starts
        && key.len() <= KEY_BYTES
        && key.bytes().all(|it| it.is_ascii_alphanumeric() || b"_$-".contains(&it))
}
