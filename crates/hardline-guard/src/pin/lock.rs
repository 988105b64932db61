//! The pins of all servers, and `hardline.lock`, the file that keeps them.
//!
//! The file is JSON, indented, sorted by server and tool, with one member a line down to a few
//! levels, so that versions of it can be compared and merged line by line:
//!
//! ```json
//! {
//!   "version": 1,
//!   "servers": {
//!     "docs": {
//!       "tools": {
//!         "read_page": {
//!           "sha256": "4ebd…",
//!           "definition": {
//!             "description": "Reads a page.",
//!             "inputSchema": { … },
//!             "name": "read_page"
//!           }
//!         }
//!       }
//!     }
//!   }
//! }
//! ```
//!
//! A definition is kept whole, so that a change can be shown in words. Characters that nobody sees
//! are written as `\u` escapes: a reviewer of the file sees them.
//!
//! Invariants:
//! - The same pins give the same bytes.
//! - What is written can be read again, and is the same.
//! - A definition that does not match its fingerprint is an error: a merge went wrong, or somebody
//!   edited one of the two.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use super::definition::Definition;
use super::write::write_tool;

/// The pins of all servers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lock {
    servers: BTreeMap<String, BTreeMap<String, Pin>>,
    /// Bytes that the tools take in the file, at most [`Lock::MAX_BYTES`].
    written: usize,
}

/// A pinned tool.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Pin {
    definition: Definition,
    /// Bytes that it takes in the file.
    written: usize,
}

impl Pin {
    fn new(definition: &Definition) -> Self {
        let mut text = String::new();
        write_tool(&mut text, definition);
        Self { definition: definition.clone(), written: text.len() }
    }
}

impl Lock {
    /// The version of the format.
    pub const VERSION: i64 = 1;

    /// Longest file in bytes, but for what frames the tools in it.
    ///
    /// Bounds what servers can make us keep: some ten thousand tools of the usual size. Pins that
    /// would make it longer are refused.
    pub const MAX_BYTES: usize = 64 << 20;

    /// Creates one without pins.
    pub fn new() -> Self {
        Self::default()
    }

    /// The servers that are pinned, sorted.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Whether a server is pinned, be it without tools.
    pub fn has_server(&self, server: &str) -> bool {
        self.servers.contains_key(server)
    }

    /// The pinned tools of a server, sorted by name.
    pub fn tools(&self, server: &str) -> impl Iterator<Item = &Definition> {
        self.servers.get(server).into_iter().flat_map(|it| it.values()).map(|pin| &pin.definition)
    }

    /// A pinned tool.
    pub fn tool(&self, server: &str, tool: &str) -> Option<&Definition> {
        self.servers.get(server)?.get(tool).map(|pin| &pin.definition)
    }

    /// Pins a server with just these tools, in place of those that were pinned.
    ///
    /// Of several tools of one name the first is pinned; the others then count as changed.
    ///
    /// # Errors
    ///
    /// [`LockFull`], and the pins are as they were.
    pub fn pin<'d>(
        &mut self,
        server: &str,
        tools: impl IntoIterator<Item = &'d Definition>,
    ) -> Result<(), LockFull> {
        let mut pins = BTreeMap::new();
        for tool in tools {
            pins.entry(tool.name().to_owned()).or_insert_with(|| Pin::new(tool));
        }
        let sum = |pins: &BTreeMap<_, Pin>| pins.values().map(|pin| pin.written).sum::<usize>();
        let written = self.written - self.servers.get(server).map_or(0, sum) + sum(&pins);
        if Self::MAX_BYTES < written {
            return Err(LockFull);
        }
        self.written = written;
        self.servers.insert(server.to_owned(), pins);
        Ok(())
    }

    /// Pins one tool as it is now, and its server if that was not.
    ///
    /// # Errors
    ///
    /// [`LockFull`], and the pins are as they were.
    pub fn approve(&mut self, server: &str, tool: &Definition) -> Result<(), LockFull> {
        let pin = Pin::new(tool);
        let before = self.servers.get(server).and_then(|it| it.get(tool.name()));
        let written = self.written - before.map_or(0, |pin| pin.written) + pin.written;
        if Self::MAX_BYTES < written {
            return Err(LockFull);
        }
        self.written = written;
        self.servers.entry(server.to_owned()).or_default().insert(tool.name().to_owned(), pin);
        Ok(())
    }

    /// Forgets a server and its tools. Returns whether it was pinned.
    pub fn forget(&mut self, server: &str) -> bool {
        let Some(tools) = self.servers.remove(server) else { return false };
        self.written -= tools.values().map(|pin| pin.written).sum::<usize>();
        true
    }

    /// Forgets one tool. Returns whether it was pinned.
    pub fn forget_tool(&mut self, server: &str, tool: &str) -> bool {
        let Some(pin) = self.servers.get_mut(server).and_then(|it| it.remove(tool)) else {
            return false;
        };
        self.written -= pin.written;
        true
    }

    /// Adds a server without tools.
    pub(super) fn add_server(&mut self, server: String) {
        self.servers.entry(server).or_default();
    }

    /// The tools of all servers.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &Definition>)> {
        self.servers
            .iter()
            .map(|(server, tools)| (server.as_str(), tools.values().map(|pin| &pin.definition)))
    }
}

impl fmt::Display for Lock {
    /// The text of `hardline.lock`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&super::write::write(self))
    }
}

/// The pins would take more than [`Lock::MAX_BYTES`].
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("the pins would take more than {} bytes", Lock::MAX_BYTES)]
#[non_exhaustive]
pub struct LockFull;
