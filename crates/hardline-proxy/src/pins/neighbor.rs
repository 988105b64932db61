//! Neighbors: different programs that one client uses as servers.
//!
//! A small JSON file in the state directory contains, for each server, the identities of its last
//! launches and the names of its clients. A tool of one server can be mistaken for a tool of
//! another only if one client uses both servers, and if they are different programs.
//!
//! Invariants:
//! - A session writes its entry before it pins anything, so a session that reads the pins finds the
//!   entry.
//! - A server without an entry counts as a neighbor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::launch::LaunchId;
use crate::state::{self, StateError};

/// File name in the state directory.
const FILE_NAME: &str = "launches.json";

/// Limit on the bytes of that file: enough for some thousand servers.
const MAX_BYTES: u64 = 4 << 20;
/// Limit on the stored launches of a server. The oldest is dropped.
const MAX_LAUNCHES: usize = 8;
/// Limit on the stored clients of a server. At the limit, every client counts as one of them.
const MAX_CLIENTS: usize = 16;
/// Longest stored name of a client, in bytes. Longer names are cut.
const MAX_CLIENT_BYTES: usize = 128;

/// The entry of one server.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
struct Entry {
    /// Identities of launches, newest first.
    launches: Vec<String>,
    /// Names that clients give themselves.
    clients: Vec<String>,
}

/// The entries of all servers.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
struct Entries {
    servers: BTreeMap<String, Entry>,
}

/// View of one session on the entries.
#[derive(Debug)]
pub(super) struct Neighbors {
    path: PathBuf,
    launch: LaunchId,
    client: Option<String>,
    /// True once this session's entry is in the file.
    is_written: bool,
}

impl Neighbors {
    pub(super) fn new(state: &Path, launch: LaunchId) -> Self {
        Self { path: state.join(FILE_NAME), launch, client: None, is_written: false }
    }

    /// Sets the name of the client.
    pub(super) fn meet_client(&mut self, client: &str) {
        let name = client.get(..client.floor_char_boundary(MAX_CLIENT_BYTES)).unwrap_or_default();
        // Another client, so the entry must be written again.
        self.is_written &= self.client.as_deref() == Some(name);
        self.client = Some(name.to_owned());
    }

    /// Writes this session's entry, unless it is in the file already.
    pub(super) fn write(&mut self, server: &str, patience: Duration) -> Result<(), StateError> {
        if self.is_written {
            return Ok(());
        }
        let is_known = |entries: &Entries| {
            let entry = entries.servers.get(server);
            entry.is_some_and(|entry| self.is_in(entry))
        };
        if !is_known(&read(&self.path)?) {
            let _lock = state::lock_directory(&self.path, patience)?;
            // Read again under the lock, so that entries of other sessions are not lost.
            let mut entries = read(&self.path)?;
            self.add_to(entries.servers.entry(server.to_owned()).or_default());
            let text = serde_json::to_string_pretty(&entries).unwrap_or_default() + "\n";
            state::replace(&self.path, text.as_bytes())?;
        }
        self.is_written = true;
        Ok(())
    }

    /// Returns the servers that are not neighbors: the same program, or not used by this client.
    pub(super) fn strangers(&self) -> Vec<String> {
        // Without a readable file nothing is known, and every server is a neighbor.
        let entries = read(&self.path).unwrap_or_default();
        let is_stranger = |entry: &Entry| {
            let is_same = entry.launches.iter().any(|it| it == self.launch.as_str());
            let clients = &entry.clients;
            // A full list may lack a client that uses the server.
            let is_known = !clients.is_empty() && clients.len() < MAX_CLIENTS;
            let is_elsewhere =
                self.client.as_ref().is_some_and(|client| is_known && !clients.contains(client));
            is_same || is_elsewhere
        };
        let strangers = entries.servers.into_iter().filter(|(_, entry)| is_stranger(entry));
        strangers.map(|(server, _)| server).collect()
    }

    fn is_in(&self, entry: &Entry) -> bool {
        let is_newest = entry.launches.first().is_some_and(|it| it == self.launch.as_str());
        is_newest && self.client.as_ref().is_none_or(|client| entry.clients.contains(client))
    }

    fn add_to(&self, entry: &mut Entry) {
        entry.launches.retain(|it| it != self.launch.as_str());
        entry.launches.insert(0, self.launch.as_str().to_owned());
        entry.launches.truncate(MAX_LAUNCHES);
        if let Some(client) = &self.client
            && !entry.clients.contains(client)
            && entry.clients.len() < MAX_CLIENTS
        {
            entry.clients.push(client.clone());
        }
    }
}

/// Deletes the stored launches and clients of a server.
///
/// # Errors
///
/// [`StateError`]; the file is then unchanged.
pub fn forget_launches(state: &Path, server: &str, patience: Duration) -> Result<(), StateError> {
    let path = state.join(FILE_NAME);
    let _lock = state::lock_directory(&path, patience)?;
    let mut entries = read(&path)?;
    if entries.servers.remove(server).is_none() {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&entries).unwrap_or_default() + "\n";
    state::replace(&path, text.as_bytes())
}

fn read(path: &Path) -> Result<Entries, StateError> {
    let Some(text) = state::read(path, MAX_BYTES)? else { return Ok(Entries::default()) };
    serde_json::from_str(&text)
        .map_err(|error| StateError::Broken { path: path.to_owned(), what: error.to_string() })
}
