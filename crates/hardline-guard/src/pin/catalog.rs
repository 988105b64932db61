//! Finds tools with the same name, or with names that look alike.

use std::collections::HashMap;
use std::fmt;

use hardline_wire::excerpt::Excerpt;

use super::definition::shown;
use super::skeleton::{folded, skeleton};

/// The tool names of several servers. Finds names that two servers share, and names that are
/// confusable. [`Twins`] does the same within one server.
#[derive(Clone, Debug, Default)]
pub struct ToolNames {
    /// By skeleton and by folded name, in the order of insertion.
    names: HashMap<String, Vec<Listed>>,
    /// Number of names, at most [`ToolNames::MAX_NAMES`].
    len: usize,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Listed {
    server: String,
    tool: String,
}

impl ToolNames {
    /// Limit on stored names.
    ///
    /// Bounds the memory that servers can make us use. At the limit, further names are still
    /// compared with the stored ones, but not stored.
    pub const MAX_NAMES: usize = 1 << 16;

    /// Creates an empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool of `server`. Returns the tool of another server that it shadows, if any: the one
    /// with exactly this name, or else the first one that looks like it.
    pub fn insert(&mut self, server: &str, tool: &str) -> Option<Shadow> {
        let keys = keys(tool);
        let mut alike = keys.iter().filter_map(|key| self.names.get(key)).flatten();
        let others = || alike.clone().filter(|it| it.server != server);
        // An exact duplicate is worse than a look-alike, so it is reported first.
        let exact = others().find(|it| it.tool == tool);
        let shadow = exact.or_else(|| others().next()).map(|first| Shadow {
            server: server.to_owned(),
            tool: tool.to_owned(),
            first_server: first.server.clone(),
            first_tool: first.tool.clone(),
        });
        // A server with a thousand confusable names takes one entry, not a thousand.
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

    /// Removes all tools of `server`.
    pub fn remove_server(&mut self, server: &str) {
        self.names.retain(|_, alike| {
            alike.retain(|it| it.server != server);
            !alike.is_empty()
        });
        // Every name is stored once under each of its keys.
        self.len = self.names.values().map(Vec::len).sum::<usize>() / KEYS;
    }
}

/// The tool names of one server. Finds names that look like one another.
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
    /// The first name of each key, at most twice [`ToolNames::MAX_NAMES`].
    names: HashMap<String, String>,
}

impl Twins {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool of `server`. Returns the tool of the same server that it looks like, if any.
    pub fn insert(&mut self, server: &str, tool: &str) -> Option<Shadow> {
        let keys = keys(tool);
        let first = keys.iter().filter_map(|key| self.names.get(key)).find(|it| **it != tool);
        let shadow = first.map(|first| Shadow {
            server: server.to_owned(),
            tool: tool.to_owned(),
            first_server: server.to_owned(),
            first_tool: first.clone(),
        });
        if self.names.len() < KEYS * ToolNames::MAX_NAMES {
            for key in keys {
                self.names.entry(key).or_insert_with(|| tool.to_owned());
            }
        }
        shadow
    }
}

/// The names of new tools, to be searched among those of other servers.
///
/// It stores the new names and not the others, so it misses none of the others, no matter how many
/// there are.
#[derive(Debug)]
pub(crate) struct Newcomers<'a> {
    server: &'a str,
    /// The first other server that has a tool of exactly this name.
    exact: HashMap<&'a str, Option<String>>,
    /// The first tool of another server that looks like the new one, by key.
    alike: HashMap<String, Option<Listed>>,
}

impl<'a> Newcomers<'a> {
    pub(crate) fn new(server: &'a str, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let exact = names.clone().map(|name| (name, None)).collect();
        let alike = names.flat_map(keys).map(|key| (key, None)).collect();
        Self { server, exact, alike }
    }

    /// Compares a tool of another server with the new ones.
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

    /// Returns the tool that a new one can be mistaken for, if any.
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

/// Number of keys per name.
const KEYS: usize = 2;

/// Returns the keys of a name. Names that look alike have at least one key in common.
fn keys(name: &str) -> [String; KEYS] {
    // No skeleton contains a control character, so the two kinds of keys never collide.
    [skeleton(name), format!("\0{}", folded(name))]
}

/// A new tool with the name of another tool, or with a name that looks like it: `tool.shadow`.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Shadow {
    /// Server of the new tool.
    pub server: String,
    /// Name of the new tool.
    pub tool: String,
    /// Server that had the name first.
    pub first_server: String,
    /// Name of its tool.
    pub first_tool: String,
}

impl Shadow {
    /// Returns true if the names are equal, not only similar.
    pub fn is_exact(&self) -> bool {
        self.tool == self.first_tool
    }
}

impl fmt::Display for Shadow {
    /// Writes a description for people, with names escaped.
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

/// Spells a name so that its letters can be distinguished: every character outside of ASCII as its
/// code point.
fn spelled(name: &str) -> String {
    let letters = name.chars().map(|char| {
        if char.is_ascii() { char.to_string() } else { format!("\\u{{{:x}}}", u32::from(char)) }
    });
    // Everything but ASCII is already escaped; `of_json` does not escape the backslashes again.
    let spelled: String = letters.collect();
    format!("`{}`", Excerpt::of_json(&spelled, 80))
}
