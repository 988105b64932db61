//! What a server lists beside what was pinned, and beside what other servers list.

use std::collections::{HashMap, HashSet};
use std::fmt;

use hardline_wire::excerpt::Excerpt;

use super::definition::{Definition, shown};
use super::diff::Diff;
use super::lock::Lock;
use super::skeleton::skeleton;
use crate::rule::Rule;

/// A difference between a server's tools and its pins.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// A tool is not what was pinned: `tool.changed`.
    Changed {
        /// Its name.
        tool: String,
        /// What changed.
        diff: Diff,
    },
    /// A tool was not there when the server was pinned: `tool.new`.
    New {
        /// Its name.
        tool: String,
    },
    /// A tool is pinned and not listed any more. There is no rule about it: nobody can call it.
    Removed {
        /// Its name.
        tool: String,
    },
}

impl Difference {
    /// The rule that it breaks, if it breaks one.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Self::Changed { .. } => Some(Rule::ToolChanged),
            Self::New { .. } => Some(Rule::ToolNew),
            Self::Removed { .. } => None,
        }
    }

    /// The tool's name, as the server writes it.
    pub fn tool(&self) -> &str {
        match self {
            Self::Changed { tool, .. } | Self::New { tool } | Self::Removed { tool } => tool,
        }
    }
}

impl fmt::Display for Difference {
    /// For people, with names and values escaped.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = shown(self.tool());
        match self {
            Self::Changed { diff, .. } => {
                write!(formatter, "tool {tool} is not what was pinned:")?;
                diff.to_string().lines().try_for_each(|line| write!(formatter, "\n  {line}"))
            }
            Self::New { .. } => write!(formatter, "tool {tool} is new"),
            Self::Removed { .. } => write!(formatter, "tool {tool} is gone"),
        }
    }
}

impl Lock {
    /// Compares one tool with its pin: for lists that come in pages.
    ///
    /// `None` if it is as pinned, and for a server without pins: its first use pins.
    pub fn compare_tool(&self, server: &str, tool: &Definition) -> Option<Difference> {
        if !self.has_server(server) {
            return None;
        }
        let name = tool.name().to_owned();
        let Some(pinned) = self.tool(server, tool.name()) else {
            return Some(Difference::New { tool: name });
        };
        if pinned.fingerprint() == tool.fingerprint() {
            return None;
        }
        Some(Difference::Changed { tool: name, diff: Diff::between(pinned, tool) })
    }

    /// Compares a server's whole list with its pins: first what is listed, in its order, then what
    /// is gone.
    ///
    /// A name that is listed twice is compared twice. A server without pins has no differences: its
    /// first use pins.
    pub fn compare(&self, server: &str, tools: &[Definition]) -> Vec<Difference> {
        let mut found: Vec<_> =
            tools.iter().filter_map(|tool| self.compare_tool(server, tool)).collect();
        let listed: HashSet<_> = tools.iter().map(Definition::name).collect();
        let gone = self.tools(server).filter(|pinned| !listed.contains(pinned.name()));
        found.extend(gone.map(|pinned| Difference::Removed { tool: pinned.name().to_owned() }));
        found
    }
}

/// Who has tools of which names: notices when two servers have one name, or confusable ones.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// By skeleton, in the order in which they came.
    names: HashMap<String, Vec<Listed>>,
    /// How many there are in all, at most [`Catalog::MAX_NAMES`].
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
        let skeleton = skeleton(tool);
        let alike = self.names.get(&skeleton).map_or(&[][..], Vec::as_slice);
        let mut others = alike.iter().filter(|it| it.server != server);
        let exact = others.clone().find(|it| it.tool == tool);
        let shadow = exact.or_else(|| others.next()).map(|first| Shadow {
            server: server.to_owned(),
            tool: tool.to_owned(),
            first_server: first.server.clone(),
            first_tool: first.tool.clone(),
        });
        // A server that lists a thousand confusable names makes itself one entry, not a thousand.
        let is_known = alike.iter().any(|it| it.server == server);
        if !is_known && self.len < Self::MAX_NAMES {
            let listed = Listed { server: server.to_owned(), tool: tool.to_owned() };
            self.names.entry(skeleton).or_default().push(listed);
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
        self.len = self.names.values().map(Vec::len).sum();
    }
}

/// A newcomer with another server's name, or one that looks like it: `tool.shadow`.
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
    /// Whether the names are the same, not only alike.
    pub fn is_exact(&self) -> bool {
        self.tool == self.first_tool
    }
}

impl fmt::Display for Shadow {
    /// For people, with names escaped.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tool, server) = (spelled(&self.tool), shown(&self.server));
        let (first, first_server) = (spelled(&self.first_tool), shown(&self.first_server));
        match self.is_exact() {
            true => write!(formatter, "tool {tool} of {server} is also one of {first_server}"),
            false => {
                write!(formatter, "tool {tool} of {server} looks like {first} of {first_server}")
            }
        }
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
