//! Differences between what a server says now and what was pinned.

use std::collections::HashSet;
use std::fmt;

use super::definition::{Definition, shown};
use super::diff::Diff;
use super::instructions::Instructions;
use super::lock::Lock;
use crate::rule::Rule;

/// A difference between a server's tools and its pins.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// A tool is not what was pinned: `tool.changed`.
    Changed {
        /// Its name.
        tool: String,
        /// The changes.
        diff: Diff,
    },
    /// A tool was not there when the server was pinned: `tool.new`.
    New {
        /// Its name.
        tool: String,
    },
    /// A tool is pinned and not listed any more. There is no rule about it: no client can call it.
    Removed {
        /// Its name.
        tool: String,
    },
    /// The server's instructions are not what was pinned: `tool.changed`.
    Instructions {
        /// The changes.
        diff: Diff,
    },
}

impl Difference {
    /// The rule that it breaks, if it breaks one.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Self::Changed { .. } | Self::Instructions { .. } => Some(Rule::ToolChanged),
            Self::New { .. } => Some(Rule::ToolNew),
            Self::Removed { .. } => None,
        }
    }

    /// The tool's name, as the server writes it; empty for the server's instructions.
    pub fn tool(&self) -> &str {
        match self {
            Self::Instructions { .. } => "",
            Self::Changed { tool, .. } | Self::New { tool } | Self::Removed { tool } => tool,
        }
    }
}

impl fmt::Display for Difference {
    /// For people, with names and values escaped.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = shown(self.tool());
        let indent = |formatter: &mut fmt::Formatter<'_>, diff: &Diff| {
            diff.to_string().lines().try_for_each(|line| write!(formatter, "\n  {line}"))
        };
        match self {
            Self::Changed { diff, .. } => {
                write!(formatter, "tool {tool} is not what was pinned:")?;
                indent(formatter, diff)
            }
            Self::Instructions { diff } => {
                formatter.write_str("the server's instructions are not what was pinned:")?;
                indent(formatter, diff)
            }
            Self::New { .. } => write!(formatter, "tool {tool} is new"),
            Self::Removed { .. } => write!(formatter, "tool {tool} is gone"),
        }
    }
}

impl Lock {
    /// Compares one tool with its pin: for lists that come in pages.
    ///
    /// `None` if it is as pinned, and for a server whose list is not pinned: its first use pins.
    pub fn compare_tool(&self, server: &str, tool: &Definition) -> Option<Difference> {
        if !self.has_list(server) {
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

    /// Compares a server's instructions with those that were pinned.
    ///
    /// `None` if they are the same, and if none were ever pinned: the first use pins.
    pub fn compare_instructions(
        &self,
        server: &str,
        instructions: &Instructions,
    ) -> Option<Difference> {
        let pinned = self.instructions(server)?;
        if pinned.fingerprint() == instructions.fingerprint() {
            return None;
        }
        let diff = Diff::between(&pinned.definition, &instructions.definition);
        Some(Difference::Instructions { diff })
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
