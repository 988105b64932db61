//! JSON of servers to be looked into: with its keys in their order, and its numbers as they were written.

use std::borrow::Cow;

use hardline_wire::json::{Checker, Kind, Step, Value};
use hardline_wire::limits::Limits;

use crate::json::layout;

/// A value, and what is inside it.
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
    /// A number, a truth value or null.
    Nothing,
}

/// An array or object that has begun: where, what is in it so far, and the key of what comes next.
struct Open<'a> {
    start: usize,
    inside: Inside<'a>,
    key: Cow<'a, str>,
}

impl<'a> Tree<'a> {
    /// Reads a text. `None` if it is no strict JSON.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        let mut checker = Checker::new(&Limits::default());
        let value = checker.check(json.as_bytes()).ok()?.value;
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
                None => return Some(done),
                Some(Open { inside: Inside::Members(members), key, .. }) => {
                    members.push((std::mem::take(key), done));
                }
                Some(Open { inside: Inside::Elements(elements), .. }) => elements.push(done),
                Some(_) => return None,
            }
        }
        None
    }

    fn leaf(value: Value<'a>) -> Self {
        let inside = value.as_str().map_or(Inside::Nothing, Inside::String);
        Self { text: value.text(), inside }
    }

    /// The members in their order, none if it is no object.
    pub(super) fn members(&self) -> &[(Cow<'a, str>, Self)] {
        match &self.inside {
            Inside::Members(members) => members,
            _ => &[],
        }
    }

    /// The elements in their order, none if it is no array.
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

    /// What a JSON pointer leads to.
    pub(super) fn pointer(&self, pointer: &str) -> Option<&Self> {
        let mut parts = pointer.split('/');
        if !parts.next()?.is_empty() {
            return None;
        }
        parts.try_fold(self, |place, part| {
            let part = part.replace("~1", "/").replace("~0", "~");
            match place.is_array() {
                true => place.elements().get(part.parse::<usize>().ok()?),
                false => place.get(&part),
            }
        })
    }

    /// What was written, on one line.
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
