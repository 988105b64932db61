//! Where in a value a string stands.

use std::borrow::Cow;
use std::fmt;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::Value;

/// Members whose string values are never edited.
const OPAQUE: [&str; 24] = [
    "blob",
    "cursor",
    "data",
    "format",
    "href",
    "id",
    "jsonrpc",
    "level",
    "method",
    "mimeType",
    "name",
    "nextCursor",
    "progressToken",
    "protocolVersion",
    "requestId",
    "requestState",
    "role",
    "sessionId",
    "sizes",
    "src",
    "taskId",
    "type",
    "uri",
    "uriTemplate",
];

/// Members of which nothing inside is ever edited.
const OPAQUE_TREES: [&str; 4] = ["_meta", "inputSchema", "outputSchema", "requestedSchema"];

/// Most bytes of a key in a path.
const KEY_BYTES: usize = 64;

/// The way from the root to a value, as `$.result.content[0].text`.
#[derive(Debug, Default)]
pub(crate) struct Place<'a> {
    levels: Vec<At<'a>>,
}

/// An array or object that is open, and where in it.
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
        self.levels.push(if is_array { At::Index(0) } else { At::Object });
    }

    /// The innermost one ends.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
        self.done();
    }

    /// The value of a member of the innermost object comes next.
    pub(crate) fn key(&mut self, key: Value<'a>) {
        if let Some(level) = self.levels.last_mut() {
            *level = At::Key(key);
        }
    }

    /// The member before has ended: what comes next is the object's own.
    pub(crate) fn next_key(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            *level = At::Object;
        }
    }

    /// A value has ended.
    pub(crate) fn done(&mut self) {
        if let Some(At::Index(index)) = self.levels.last_mut() {
            *index += 1;
        }
    }

    /// Whether the value here must not be edited.
    pub(crate) fn is_opaque(&self) -> bool {
        let names = self.levels.iter().map(At::name);
        let is_tree = |name: Cow<'_, str>| OPAQUE_TREES.contains(&&*name);
        // The elements of an array are what the array is.
        let innermost = self.levels.iter().rposition(|level| matches!(level, At::Key(_)));
        let is_member = |at: usize| {
            let name = self.levels.get(at).and_then(At::name).unwrap_or_default();
            let outer = at.checked_sub(1).and_then(|at| self.levels.get(at)).and_then(At::name);
            match &*name {
                // An error's or a log message's `data` is for people; that of an image is not.
                "data" => !matches!(outer.as_deref(), Some("error" | "params")),
                name => OPAQUE.contains(&name),
            }
        };
        names.flatten().any(is_tree) || innermost.is_some_and(is_member)
    }

    /// Whether it is inside the value that these keys lead to from the root.
    pub(crate) fn is_inside(&self, keys: &[&str]) -> bool {
        let is_key = |(level, name): (&At<'_>, &&str)| level.name().is_some_and(|it| it == **name);
        keys.len() < self.levels.len() && self.levels.iter().zip(keys).all(is_key)
    }
}

impl<'a> At<'a> {
    /// The key of the member, if it is one.
    fn name(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Key(key) => key.as_str(),
            Self::Object | Self::Index(_) => None,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("$")?;
        for level in &self.levels {
            match level {
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
