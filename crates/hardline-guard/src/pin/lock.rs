//! The pins of servers, and the text of the lock files that keep them.
//!
//! A file is JSON, indented, sorted by server and tool, with one member a line down to a few
//! levels, so that versions of it can be compared and merged line by line:
//!
//! ```json
//! {
//!   "version": 1,
//!   "servers": {
//!     "docs": {
//!       "instructions": {
//!         "sha256": "91d2…",
//!         "definition": {
//!           "instructions": "Call read_page first."
//!         }
//!       },
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
//! A definition is kept whole, so that a change can be shown in words; one that is too long has an
//! `outline` instead. Characters that people do not see are written as `\u` escapes: a reviewer of the
//! file sees them. A server without the member `tools` has not listed any yet, and one without
//! `instructions` was pinned before those were; an empty `definition` says that it has none.
//!
//! Invariants:
//! - The same pins give the same bytes.
//! - What is written can be read again, and is the same.
//! - A definition that does not match its fingerprint is an error: a merge went wrong, or somebody
//!   edited one of the two.
//! - No server takes the room of another: each has limits of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::definition::Definition;
use super::instructions::Instructions;
use super::write::write_tool;

/// The pins of some servers.
///
/// Clones share what neither of them changes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lock {
    servers: BTreeMap<String, Arc<ServerPins>>,
}

/// The pins of one server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ServerPins {
    /// `None` if they were never looked at.
    pub(super) instructions: Option<Instructions>,
    /// By name. `None` if the server has not listed any yet: its first list pins.
    tools: Option<BTreeMap<String, Pin>>,
    /// Bytes that the tools take in the file, at most [`Lock::MAX_SERVER_BYTES`].
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

impl ServerPins {
    /// The tools, sorted by name; `None` if there was no list of them yet.
    pub(super) fn tools(&self) -> Option<impl Iterator<Item = &Definition>> {
        Some(self.tools.as_ref()?.values().map(|pin| &pin.definition))
    }

    /// Puts a tool in the place of one with its name.
    fn insert(&mut self, pin: Pin) {
        self.written += pin.written;
        let tools = self.tools.get_or_insert_default();
        if let Some(before) = tools.insert(pin.definition.name().to_owned(), pin) {
            self.written -= before.written;
        }
    }

    fn count(&self) -> usize {
        self.tools.as_ref().map_or(0, BTreeMap::len)
    }
}

impl Lock {
    /// The version of the format.
    pub const VERSION: i64 = 1;

    /// Most bytes of one file, but for what frames the tools in it.
    ///
    /// Bounds what servers can make us keep in a file that they share. Pins that would make it longer
    /// are refused.
    pub const MAX_BYTES: usize = 64 << 20;

    /// Most bytes that the tools of one server take in a file.
    ///
    /// Bounds what one server can make us keep and read, and leaves room for others in a file that
    /// they share: the largest servers seen in the field have a twentieth of that. Pins that would make
    /// it more are refused.
    pub const MAX_SERVER_BYTES: usize = 16 << 20;

    /// Most tools of one server. Further ones are refused.
    pub const MAX_TOOLS: usize = 1 << 16;

    /// Creates one without pins.
    pub fn new() -> Self {
        Self::default()
    }

    /// The servers of which something is pinned, sorted.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Returns true if anything of a server is pinned, be it that it has no tools.
    pub fn has_server(&self, server: &str) -> bool {
        self.servers.contains_key(server)
    }

    /// Returns true if a server's list of tools is pinned, be it an empty one.
    pub fn has_list(&self, server: &str) -> bool {
        self.servers.get(server).is_some_and(|pins| pins.tools.is_some())
    }

    /// The pinned tools of a server, sorted by name.
    pub fn tools(&self, server: &str) -> impl Iterator<Item = &Definition> {
        self.servers.get(server).and_then(|pins| pins.tools()).into_iter().flatten()
    }

    /// A pinned tool.
    pub fn tool(&self, server: &str, tool: &str) -> Option<&Definition> {
        self.servers.get(server)?.tools.as_ref()?.get(tool).map(|pin| &pin.definition)
    }

    /// The pinned instructions of a server; `None` if they were never pinned.
    pub fn instructions(&self, server: &str) -> Option<&Instructions> {
        self.servers.get(server)?.instructions.as_ref()
    }

    /// Pins a server with just these tools, in place of those that were pinned. Its instructions stay.
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
        let instructions = self.instructions(server).cloned();
        let mut pins = ServerPins { instructions, tools: Some(BTreeMap::new()), written: 0 };
        for tool in tools {
            let is_known = pins.tools.as_ref().is_some_and(|it| it.contains_key(tool.name()));
            if !is_known {
                pins.insert(Pin::new(tool));
            }
        }
        self.check(server, pins.count(), pins.written)?;
        self.servers.insert(server.to_owned(), Arc::new(pins));
        Ok(())
    }

    /// Pins one tool as it is now, and its server if that was not.
    ///
    /// # Errors
    ///
    /// [`LockFull`], and the pins are as they were.
    pub fn approve(&mut self, server: &str, tool: &Definition) -> Result<(), LockFull> {
        let pin = Pin::new(tool);
        let (count, written) = self.servers.get(server).map_or((0, 0), |pins| {
            let before = pins.tools.as_ref().and_then(|it| it.get(tool.name()));
            let is_new = usize::from(before.is_none());
            (pins.count() + is_new, pins.written - before.map_or(0, |pin| pin.written))
        });
        self.check(server, count.max(1), written + pin.written)?;
        self.of_mut(server).insert(pin);
        Ok(())
    }

    /// Pins a server's instructions as they are now.
    ///
    /// # Errors
    ///
    /// [`LockFull`], and the pins are as they were.
    pub fn approve_instructions(
        &mut self,
        server: &str,
        instructions: &Instructions,
    ) -> Result<(), LockFull> {
        // They have a limit of their own, so that tools do not take their room.
        if Self::MAX_BYTES < self.written() + instructions.definition.canonical().len() {
            return Err(LockFull::Bytes);
        }
        self.of_mut(server).instructions = Some(instructions.clone());
        Ok(())
    }

    /// Forgets a server and its tools. Returns whether it was pinned.
    pub fn forget(&mut self, server: &str) -> bool {
        self.servers.remove(server).is_some()
    }

    /// Forgets one tool. Returns whether it was pinned.
    pub fn forget_tool(&mut self, server: &str, tool: &str) -> bool {
        if self.tool(server, tool).is_none() {
            return false;
        }
        let pins = self.of_mut(server);
        let pin = pins.tools.as_mut().and_then(|tools| tools.remove(tool));
        pins.written -= pin.map_or(0, |pin| pin.written);
        true
    }

    /// The pins of those servers alone that are wanted.
    #[must_use]
    pub fn select(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let wanted = self.servers.iter().filter(|(server, _)| is_wanted(server));
        Self { servers: wanted.map(|(server, pins)| (server.clone(), Arc::clone(pins))).collect() }
    }

    /// Takes over the pins of servers of which nothing is pinned here.
    pub fn absorb(&mut self, others: Self) {
        for (server, pins) in others.servers {
            self.servers.entry(server).or_insert(pins);
        }
    }

    /// Adds what was read of a server.
    pub(super) fn add_server(&mut self, server: String, pins: ServerPins) {
        self.servers.insert(server, Arc::new(pins));
    }

    /// The pins of all servers.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &ServerPins)> {
        self.servers.iter().map(|(server, pins)| (server.as_str(), &**pins))
    }

    fn of_mut(&mut self, server: &str) -> &mut ServerPins {
        Arc::make_mut(self.servers.entry(server.to_owned()).or_default())
    }

    fn written(&self) -> usize {
        self.servers.values().map(|pins| pins.written).sum()
    }

    /// Checks the limits for so many tools, of so many bytes. Less than before is always within them.
    fn check(&self, server: &str, count: usize, written: usize) -> Result<(), LockFull> {
        let before = self.servers.get(server).map_or((0, 0), |it| (it.count(), it.written));
        if before.0 < count && Self::MAX_TOOLS < count {
            return Err(LockFull::Tools);
        }
        if before.1 < written && Self::MAX_SERVER_BYTES < written {
            return Err(LockFull::ServerBytes);
        }
        if before.1 < written && Self::MAX_BYTES < self.written() - before.1 + written {
            return Err(LockFull::Bytes);
        }
        Ok(())
    }
}

impl ServerPins {
    /// Pins as they were read: a file that was written under other limits still counts.
    pub(super) fn read(instructions: Option<Instructions>, tools: Option<Vec<Definition>>) -> Self {
        let mut pins = Self { instructions, ..Self::default() };
        if let Some(tools) = tools {
            pins.tools = Some(BTreeMap::new());
            tools.iter().for_each(|tool| pins.insert(Pin::new(tool)));
        }
        pins
    }
}

impl fmt::Display for Lock {
    /// The text of a lock file.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&super::write::write(self))
    }
}

/// Error returned when there is no room for a pin.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum LockFull {
    /// The server would have more than [`Lock::MAX_TOOLS`].
    #[error("a server may have {} pinned tools", Lock::MAX_TOOLS)]
    Tools,
    /// The server's tools would take more than [`Lock::MAX_SERVER_BYTES`].
    #[error("the pinned tools of a server may take {} bytes", Lock::MAX_SERVER_BYTES)]
    ServerBytes,
    /// The file would have more than [`Lock::MAX_BYTES`].
    #[error("a file of pins may have {} bytes", Lock::MAX_BYTES)]
    Bytes,
}
