//! The pins of servers, and the format of the lock files that store them.
//!
//! A file is indented JSON, sorted by server and tool. Down to a few levels, each member has a line
//! of its own, so that versions of the file can be compared and merged line by line:
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
//! A definition is stored whole, so that a change can be shown; one that is too long has an
//! `outline` instead. Invisible characters are written as `\u` escapes, so that a reviewer of the
//! file sees them. A server without the member `tools` has not listed any tools yet. A server
//! without `instructions` was pinned by a version that did not pin those; an empty `definition`
//! means that the server has none.
//!
//! Invariants:
//! - The same pins give the same bytes.
//! - A written file can be read again, with the same result.
//! - A definition that does not match its fingerprint is an error: a merge went wrong, or one of
//!   the two was edited.
//! - No server takes the room of another: each has limits of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::definition::Definition;
use super::instructions::Instructions;
use super::write::write_tool;

/// The pins of several servers.
///
/// Clones share all parts that neither of them changes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lock {
    servers: BTreeMap<String, Arc<ServerPins>>,
}

/// The pins of one server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ServerPins {
    /// `None` if they were never inspected.
    pub(super) instructions: Option<Instructions>,
    /// By name. `None` if the server has not listed any tools yet; its first list is pinned.
    tools: Option<BTreeMap<String, Pin>>,
    /// Size of the tools in the file in bytes, at most [`Lock::MAX_SERVER_BYTES`].
    written: usize,
}

/// A pinned tool.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Pin {
    definition: Definition,
    /// Size in the file in bytes.
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
    /// Returns the tools, sorted by name; `None` if none were listed yet.
    pub(super) fn tools(&self) -> Option<impl Iterator<Item = &Definition>> {
        Some(self.tools.as_ref()?.values().map(|pin| &pin.definition))
    }

    /// Adds a tool, or replaces the one with its name.
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
    /// Version of the format.
    pub const VERSION: i64 = 1;

    /// Limit on the size of one file in bytes, without the syntax around the tools.
    ///
    /// Bounds the space that servers can take in a file that they share. Pins beyond it are
    /// refused.
    pub const MAX_BYTES: usize = 64 << 20;

    /// Limit on the size of the tools of one server in a file, in bytes.
    ///
    /// Bounds the data that one server can make us store and read, and leaves room for the other
    /// servers of a shared file. The largest servers seen in the field take a twentieth of it. Pins
    /// beyond it are refused.
    pub const MAX_SERVER_BYTES: usize = 16 << 20;

    /// Limit on the tools of one server. Further ones are refused.
    pub const MAX_TOOLS: usize = 1 << 16;

    /// Creates a lock without pins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the names of the pinned servers, sorted.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Returns true if anything of a server is pinned, even an empty list of tools.
    pub fn has_server(&self, server: &str) -> bool {
        self.servers.contains_key(server)
    }

    /// Returns true if the tool list of a server is pinned, even an empty one.
    pub fn has_list(&self, server: &str) -> bool {
        self.servers.get(server).is_some_and(|pins| pins.tools.is_some())
    }

    /// Returns the pinned tools of a server, sorted by name.
    pub fn tools(&self, server: &str) -> impl Iterator<Item = &Definition> {
        self.servers.get(server).and_then(|pins| pins.tools()).into_iter().flatten()
    }

    /// Returns a pinned tool.
    pub fn tool(&self, server: &str, tool: &str) -> Option<&Definition> {
        self.servers.get(server)?.tools.as_ref()?.get(tool).map(|pin| &pin.definition)
    }

    /// Returns the pinned instructions of a server, or `None` if they were never pinned.
    pub fn instructions(&self, server: &str) -> Option<&Instructions> {
        self.servers.get(server)?.instructions.as_ref()
    }

    /// Pins exactly these tools of a server, in place of the earlier ones. Its instructions stay.
    ///
    /// Of several tools with the same name the first is pinned; the others then count as changed.
    ///
    /// # Errors
    ///
    /// [`LockFull`] if a limit is exceeded; the pins stay unchanged.
    pub fn pin<'d>(
        &mut self,
        server: &str,
        tools: impl IntoIterator<Item = &'d Definition>,
    ) -> Result<(), LockFull> {
        let instructions = self.instructions(server).cloned();
        let mut pins = ServerPins { instructions, tools: Some(BTreeMap::new()), written: 0 };
        for tool in tools {
            // The first definition wins, so a later duplicate cannot replace it.
            let is_known = pins.tools.as_ref().is_some_and(|it| it.contains_key(tool.name()));
            if !is_known {
                pins.insert(Pin::new(tool));
            }
        }
        self.check(server, pins.count(), pins.written)?;
        self.servers.insert(server.to_owned(), Arc::new(pins));
        Ok(())
    }

    /// Pins one tool as it is now, and its server if that was not pinned.
    ///
    /// # Errors
    ///
    /// [`LockFull`] if a limit is exceeded; the pins stay unchanged.
    pub fn approve(&mut self, server: &str, tool: &Definition) -> Result<(), LockFull> {
        let pin = Pin::new(tool);
        // The old pin of this tool no longer counts.
        let (count, written) = self.servers.get(server).map_or((0, 0), |pins| {
            let before = pins.tools.as_ref().and_then(|it| it.get(tool.name()));
            let is_new = usize::from(before.is_none());
            (pins.count() + is_new, pins.written - before.map_or(0, |pin| pin.written))
        });
        self.check(server, count.max(1), written + pin.written)?;
        self.of_mut(server).insert(pin);
        Ok(())
    }

    /// Pins the instructions of a server as they are now.
    ///
    /// # Errors
    ///
    /// [`LockFull`] if a limit is exceeded; the pins stay unchanged.
    pub fn approve_instructions(
        &mut self,
        server: &str,
        instructions: &Instructions,
    ) -> Result<(), LockFull> {
        // Instructions do not count against the limit for tools, so that tools cannot take their
        // room.
        if self.written() + instructions.definition.canonical().len() > Self::MAX_BYTES {
            return Err(LockFull::Bytes);
        }
        self.of_mut(server).instructions = Some(instructions.clone());
        Ok(())
    }

    /// Removes a server and its tools. Returns true if it was pinned.
    pub fn forget(&mut self, server: &str) -> bool {
        self.servers.remove(server).is_some()
    }

    /// Removes one tool. Returns true if it was pinned.
    pub fn forget_tool(&mut self, server: &str, tool: &str) -> bool {
        if self.tool(server, tool).is_none() {
            return false;
        }
        let pins = self.of_mut(server);
        let pin = pins.tools.as_mut().and_then(|tools| tools.remove(tool));
        pins.written -= pin.map_or(0, |pin| pin.written);
        true
    }

    /// Returns a lock with the pins of the selected servers only.
    #[must_use]
    pub fn select(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let wanted = self.servers.iter().filter(|(server, _)| is_wanted(server));
        Self { servers: wanted.map(|(server, pins)| (server.clone(), Arc::clone(pins))).collect() }
    }

    /// Adds the pins of the servers that are not pinned here.
    pub fn absorb(&mut self, others: Self) {
        for (server, pins) in others.servers {
            self.servers.entry(server).or_insert(pins);
        }
    }

    /// Adds the pins of a server that were read from a file.
    pub(super) fn add_server(&mut self, server: String, pins: ServerPins) {
        self.servers.insert(server, Arc::new(pins));
    }

    /// Returns the pins of all servers.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &ServerPins)> {
        self.servers.iter().map(|(server, pins)| (server.as_str(), &**pins))
    }

    fn of_mut(&mut self, server: &str) -> &mut ServerPins {
        // Clones that readers hold stay unchanged.
        Arc::make_mut(self.servers.entry(server.to_owned()).or_default())
    }

    fn written(&self) -> usize {
        self.servers.values().map(|pins| pins.written).sum()
    }

    /// Checks the limits for the given number and size of tools. A decrease is always allowed.
    fn check(&self, server: &str, count: usize, written: usize) -> Result<(), LockFull> {
        // A server over a limit, from an older file, may still shrink.
        let before = self.servers.get(server).map_or((0, 0), |it| (it.count(), it.written));
        if before.0 < count && count > Self::MAX_TOOLS {
            return Err(LockFull::Tools);
        }
        if before.1 < written && written > Self::MAX_SERVER_BYTES {
            return Err(LockFull::ServerBytes);
        }
        if before.1 < written && self.written() - before.1 + written > Self::MAX_BYTES {
            return Err(LockFull::Bytes);
        }
        Ok(())
    }
}

impl ServerPins {
    /// Creates the pins of a server from a file. The limits are not checked, so that a file from a
    /// version with other limits still counts.
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
    /// Writes the text of a lock file.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&super::write::write(self))
    }
}

/// Error returned when there is no room for a pin.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum LockFull {
    /// The server would have more than [`Lock::MAX_TOOLS`] tools.
    #[error("a server may have at most {} pinned tools", Lock::MAX_TOOLS)]
    Tools,
    /// The tools of the server would take more than [`Lock::MAX_SERVER_BYTES`].
    #[error("the pinned tools of a server may take at most {} bytes", Lock::MAX_SERVER_BYTES)]
    ServerBytes,
    /// The file would have more than [`Lock::MAX_BYTES`].
    #[error("a file of pins may have at most {} bytes", Lock::MAX_BYTES)]
    Bytes,
}
