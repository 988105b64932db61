//! Compares the current state of a server with its pins.

use std::collections::HashSet;
use std::fmt;

use super::definition::{Definition, shown};
use super::diff::Diff;
use super::instructions::Instructions;
use super::lock::Lock;
use crate::rule::Rule;

/// A difference between a server and its pins.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// A tool differs from its pin: `tool.changed`.
    Changed {
        /// Name of the tool.
        tool: String,
        /// The changes.
        diff: Diff,
    },
    /// A tool is not pinned, although its server is: `tool.new`.
    New {
        /// Name of the tool.
        tool: String,
    },
    /// A tool is pinned and no longer listed. No rule covers it, because no client can call it.
    Removed {
        /// Name of the tool.
        tool: String,
    },
    /// The instructions of the server differ from their pin: `tool.changed`.
    Instructions {
        /// The changes.
        diff: Diff,
    },
}

impl Difference {
    /// Returns the rule that the difference violates, if any.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Self::Changed { .. } | Self::Instructions { .. } => Some(Rule::ToolChanged),
            Self::New { .. } => Some(Rule::ToolNew),
            Self::Removed { .. } => None,
        }
    }

    /// Returns the name of the tool, as the server writes it; empty for instructions.
    pub fn tool(&self) -> &str {
        match self {
            Self::Instructions { .. } => "",
            Self::Changed { tool, .. } | Self::New { tool } | Self::Removed { tool } => tool,
        }
    }
}

impl Difference {
    /// Returns the description for a finding. If it leaves something out, it says so in its first
    /// line and names `command`, which shows everything.
    pub fn summary(&self, command: &str) -> String {
        let note = match self.diff() {
            Some(Diff { more: more @ 1.., .. }) => {
                format!("; {more} more differences are not shown here: `{command}` shows all")
            }
            Some(Diff { is_shortened: true, .. }) => format!("; `{command}` shows whole values"),
            _ => String::new(),
        };
        self.text(&note)
    }

    fn diff(&self) -> Option<&Diff> {
        match self {
            Self::Changed { diff, .. } | Self::Instructions { diff } => Some(diff),
            Self::New { .. } | Self::Removed { .. } => None,
        }
    }

    /// Returns the description, with a note behind the first words.
    fn text(&self, note: &str) -> String {
        let tool = shown(self.tool());
        let words = match self {
            Self::Changed { .. } => format!("tool {tool} differs from its pin"),
            Self::Instructions { .. } => {
                "the server's instructions differ from their pin".to_owned()
            }
            Self::New { .. } => format!("tool {tool} is new"),
            Self::Removed { .. } => format!("tool {tool} is gone"),
        };
        let Some(diff) = self.diff() else { return words };
        let diff = diff.to_string().replace('\n', "\n  ");
        format!("{words}{note}:\n  {diff}")
    }
}

impl fmt::Display for Difference {
    /// Writes a description for people, with names and values escaped.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text(""))
    }
}

impl Lock {
    /// Compares one tool with its pin, for lists that arrive in pages.
    ///
    /// Returns `None` if the tool matches its pin, or if the list of its server is not pinned: its
    /// first use pins.
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

    /// Compares the instructions of a server with their pin.
    ///
    /// Returns `None` if they match, or if none were ever pinned: the first use pins.
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

    /// Compares the whole tool list of a server with its pins. Returns the differences of listed
    /// tools, in the order of the list, and then the removed tools.
    ///
    /// A name that is listed twice is compared twice. A server without pins has no differences: its
    /// first use pins.
    pub fn compare(&self, server: &str, tools: &[Definition]) -> Vec<Difference> {
        let mut found: Vec<_> =
            tools.iter().filter_map(|tool| self.compare_tool(server, tool)).collect();
        let listed: HashSet<_> = tools.iter().map(Definition::name).collect();
        // Removed tools come last, because they are no findings.
        let gone = self.tools(server).filter(|pinned| !listed.contains(pinned.name()));
        found.extend(gone.map(|pinned| Difference::Removed { tool: pinned.name().to_owned() }));
        found
    }
}
