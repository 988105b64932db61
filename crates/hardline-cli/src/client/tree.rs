//! Parsed JSON of servers, with keys in their order and numbers as written.

use std::borrow::Cow;

use hardline_wire::json::{Checker, Kind, Step, Value};
use hardline_wire::limits::Limits;

use crate::json::layout;

/// A JSON value.
#[derive(Clone, Debug)]
pub(super) struct Tree<'a> {
    text: &'a str,
    inside: Inside<'a>,
}

#[derive(Clone, Debug)]
enum Inside<'a> {
    Members(Vec<(Cow<'a, str>, Tree<'a>)>),
    Elements(Vec<Tree<'a>>),
    String(Cow<'a, str>),
    /// A number, a boolean or null.
    Nothing,
}

/// An array or object in progress: its start, its content so far, and the key of the next member.
struct Open<'a> {
    start: usize,
    inside: Inside<'a>,
    key: Cow<'a, str>,
}

impl<'a> Tree<'a> {
    /// Parses a text. `None` if it is not strict JSON.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        let mut checker = Checker::new(&Limits::default());
        let value = checker.check(json.as_bytes()).ok()?.value;
        // An explicit stack instead of recursion: the depth is chosen by the peer.
        let mut open: Vec<Open<'a>> = Vec::new();
        for step in value.steps() {
            let done = match step {
                Step::Enter(kind, start) => {
                    let inside = match kind {
                        Kind::Object => Inside::Members(Vec::new()),
                        _ => Inside::Elements(Vec::new()),
                    };
                    open.push(Open { start, inside, key: Cow::default() });
                    continue;
                }
                Step::Key(key) => {
                    open.last_mut()?.key = key.as_str()?;
                    continue;
                }
                Step::Leave(end) => {
                    let Open { start, inside, .. } = open.pop()?;
                    Self { text: json.get(start..end)?, inside }
                }
                Step::Scalar(scalar) => Self::leaf(scalar),
            };
            match open.last_mut() {
                // The outermost value is complete.
                None => return Some(done),
                Some(Open { inside: Inside::Members(members), key, .. }) => {
                    members.push((std::mem::take(key), done));
                }
                Some(Open { inside: Inside::Elements(elements), .. }) => elements.push(done),
                // Only objects and arrays are ever open.
                Some(_) => return None,
            }
        }
        None
    }

    fn leaf(value: Value<'a>) -> Self {
        let inside = value.as_str().map_or(Inside::Nothing, Inside::String);
        Self { text: value.text(), inside }
    }

    /// Returns the members in order; none if it is not an object.
    pub(super) fn members(&self) -> &[(Cow<'a, str>, Self)] {
        match &self.inside {
            Inside::Members(members) => members,
            _ => &[],
        }
    }

    /// Returns the elements in order; none if it is not an array.
    pub(super) fn elements(&self) -> &[Self] {
        match &self.inside {
            Inside::Elements(elements) => elements,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match &self.inside {
            Inside::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        self.text.parse().ok()
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.inside, Inside::Elements(_))
    }

    /// Returns the target of a JSON pointer.
    pub(super) fn pointer(&self, pointer: &str) -> Option<&Self> {
        let mut parts = pointer.split('/');
        if !parts.next()?.is_empty() {
            return None;
        }
        parts.try_fold(self, |place, part| {
            // RFC 6901 demands this order: `~01` stands for `~1`.
            let part = part.replace("~1", "/").replace("~0", "~");
            if place.is_array() {
                place.elements().get(part.parse::<usize>().ok()?)
            } else {
                place.get(&part)
            }
        })
    }

    /// Returns the value on one line, as written.
    pub(super) fn flat(&self) -> String {
        layout::flat(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_is_found_in_its_order() {
        let json = r#" {"z": 1.10, "a/b": [true, {"~": "\u00e9"}, []], "n": {}} "#;
        let tree = Tree::read(json).unwrap();
        let names: Vec<&str> = tree.members().iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["z", "a/b", "n"]);
        assert_eq!(tree.get("z").unwrap().flat(), "1.10");
        let list = tree.get("a/b").unwrap();
        assert_eq!((list.flat().as_str(), list.elements().len()), (r#"[true,{"~":"é"},[]]"#, 3));
        assert_eq!(tree.pointer("/a~1b/1/~0").unwrap().as_str(), Some("é"));
        assert_eq!(tree.pointer("/a~1b/0").unwrap().as_bool(), Some(true));
        assert!(tree.pointer("").is_some() && tree.pointer("/n").is_some());
        assert!(tree.pointer("/none").is_none() && tree.pointer("n").is_none());
        assert!(tree.pointer("/a~1b/9").is_none() && tree.pointer("/z/0").is_none());
        assert_eq!(tree.flat(), r#"{"z":1.10,"a/b":[true,{"~":"é"},[]],"n":{}}"#);
        assert!(Tree::read("{").is_none());
    }
}
