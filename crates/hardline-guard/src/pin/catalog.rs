//! Tools with one name, or with names that look alike.

use std::collections::HashMap;
use std::fmt;

use hardline_wire::excerpt::Excerpt;

use super::definition::shown;
use super::skeleton::{folded, skeleton};

/// The names of the tools of several servers: notices when two servers have one name, or confusable
/// ones. [`Twins`] does the same within one server.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// By skeleton and by the name without case, in the order in which they came.
    names: HashMap<String, Vec<Listed>>,
    /// Number of names in all, at most [`Catalog::MAX_NAMES`].
    len: usize,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Listed {
    server: String,
    tool: String,
}

impl Catalog {
    /// Most names remembered.
    ///
    /// Bounds what servers can make us remember. At the limit further names are still compared with
    /// those remembered, and forgotten.
    pub const MAX_NAMES: usize = 1 << 16;

    /// Creates an empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that `server` lists `tool`. Returns the other server's tool that it shadows, if any:
    /// one of exactly that name if there is one, else the first that looks like it.
    pub fn insert(&mut self, server: &str, tool: &str) -> Option<Shadow> {
        let keys = keys(tool);
        let mut alike = keys.iter().filter_map(|key| self.names.get(key)).flatten();
        let others = || alike.clone().filter(|it| it.server != server);
        let exact = others().find(|it| it.tool == tool);
        let shadow = exact.or_else(|| others().next()).map(|first| Shadow {
            server: server.to_owned(),
            tool: tool.to_owned(),
            first_server: first.server.clone(),
            first_tool: first.tool.clone(),
        });
        // A server that lists a thousand confusable names makes itself one entry, not a thousand.
        let is_known = alike.any(|it| it.server == server);
        if !is_known && self.len < Self::MAX_NAMES {
            for key in keys {
                let listed = Listed { server: server.to_owned(), tool: tool.to_owned() };
                self.names.entry(key).or_default().push(listed);
            }
            self.len += 1;
        }
        shadow
    }

    /// Forgets all tools of `server`.
    pub fn remove_server(&mut self, server: &str) {
        self.names.retain(|_, alike| {
            alike.retain(|it| it.server != server);
            !alike.is_empty()
        });
        self.len = self.names.values().map(Vec::len).sum::<usize>() / KEYS;
    }
}

/// The names of one server's tools: notices those that look like one another.
///
/// ```
/// use hardline_guard::pin::Twins;
///
/// let mut twins = Twins::new();
/// assert_eq!(twins.insert("files", "send"), None);
/// assert_eq!(twins.insert("files", "send"), None); // the same name is no look-alike
/// let shadow = twins.insert("files", "\u{455}end").unwrap(); // a Cyrillic letter
/// assert_eq!(shadow.first_tool, "send");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Twins {
    /// The first name of each skeleton, at most [`Catalog::MAX_NAMES`].
    names: HashMap<String, String>,
}

impl Twins {
    /// Creates an empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that `server` lists `tool`. Returns the other tool of it that `tool` looks like, if any.
    pub fn insert(&mut self, server: &str, tool: &str) -> Option<Shadow> {
        let keys = keys(tool);
        let first = keys.iter().filter_map(|key| self.names.get(key)).find(|it| **it != tool);
        let shadow = first.map(|first| Shadow {
            server: server.to_owned(),
            tool: tool.to_owned(),
            first_server: server.to_owned(),
            first_tool: first.clone(),
        });
        if self.names.len() < KEYS * Catalog::MAX_NAMES {
            for key in keys {
                self.names.entry(key).or_insert_with(|| tool.to_owned());
            }
        }
        shadow
    }
}

/// The names of newcomers, to be looked for among those of other servers.
///
/// It remembers the newcomers, and not the others: however many tools those have, none of them is
/// overlooked.
#[derive(Debug)]
pub(crate) struct Newcomers<'a> {
    server: &'a str,
    /// The first other server that has a tool of exactly that name.
    exact: HashMap<&'a str, Option<String>>,
    /// The first tool of another server that looks like it, by the texts that names are found by.
    alike: HashMap<String, Option<Listed>>,
}

impl<'a> Newcomers<'a> {
    pub(crate) fn new(server: &'a str, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let exact = names.clone().map(|name| (name, None)).collect();
        let alike = names.flat_map(keys).map(|key| (key, None)).collect();
        Self { server, exact, alike }
    }

    /// Takes note of a tool of another server.
    pub(crate) fn compare(&mut self, server: &str, tool: &str) {
        if let Some(first) = self.exact.get_mut(tool) {
            first.get_or_insert_with(|| server.to_owned());
        }
        for key in keys(tool) {
            if let Some(first) = self.alike.get_mut(&key) {
                let listed = || Listed { server: server.to_owned(), tool: tool.to_owned() };
                first.get_or_insert_with(listed);
            }
        }
    }

    /// Returns the other tool that a newcomer can be taken for, if any.
    pub(crate) fn shadow(&self, name: &str) -> Option<Shadow> {
        let exact = self.exact.get(name).cloned().flatten();
        let exact = exact.map(|server| Listed { server, tool: name.to_owned() });
        let alike = || keys(name).iter().find_map(|key| self.alike.get(key).cloned().flatten());
        let first = exact.or_else(alike)?;
        Some(Shadow {
            server: self.server.to_owned(),
            tool: name.to_owned(),
            first_server: first.server,
            first_tool: first.tool,
        })
    }
}

/// Texts that a name is found by.
const KEYS: usize = 2;

/// The texts that a name is found by: names that look alike share one of them.
fn keys(name: &str) -> [String; KEYS] {
    // No skeleton has a control character, so that one kind of text is never taken for the other.
    [skeleton(name), format!("\0{}", folded(name))]
}

/// A newcomer with the name of another tool, or one that looks like it: `tool.shadow`.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Shadow {
    /// The newcomer's server.
    pub server: String,
    /// The newcomer.
    pub tool: String,
    /// The server that had the name first.
    pub first_server: String,
    /// The tool that it had.
    pub first_tool: String,
}

impl Shadow {
    /// Returns true if the names are the same, not only alike.
    pub fn is_exact(&self) -> bool {
        self.tool == self.first_tool
    }
}

impl fmt::Display for Shadow {
    /// For people, with names escaped.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tool, server) = (spelled(&self.tool), shown(&self.server));
        let (first, first_server) = (spelled(&self.first_tool), shown(&self.first_server));
        if self.server == self.first_server {
            return write!(
                formatter,
                "tool {tool} of {server} looks like {first} of the same server"
            );
        }
        if self.is_exact() {
            return write!(formatter, "tool {tool} of {server} is also one of {first_server}");
        }
        write!(formatter, "tool {tool} of {server} looks like {first} of {first_server}")
    }
}

/// A name whose letters can be told apart: what is no ASCII is written by its number.
fn spelled(name: &str) -> String {
    let letters = name.chars().map(|char| match char.is_ascii() {
        true => char.to_string(),
        false => format!("\\u{{{:x}}}", u32::from(char)),
    });
    // Escaped already, but for what is shown of ASCII.
    let spelled: String = letters.collect();
    format!("`{}`", Excerpt::of_json(&spelled, 80))
}
