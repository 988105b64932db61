//! The pins of one session's server. Stands between the guard and the files.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hardline_guard::pin::{Definition, Instructions, Lock, LockFull};
use hardline_guard::tools::{Page, PinKeeper, shell_word};

use super::file::{PinError, Stamp};
use super::neighbor::Neighbors;
use super::page::Pages;
use super::store::PinStore;
use crate::launch::LaunchId;

/// Longest wait for the lock on the directory.
const PATIENCE: Duration = Duration::from_millis(300);
/// Longest wait for the lock when tools are pinned on first use. It is longer because a client
/// starts all its servers at once, and tools that are not written are pinned anew by the next
/// session.
const PIN_PATIENCE: Duration = Duration::from_secs(2);

/// Stores the pins of one session in files.
#[derive(Debug)]
pub struct PinFile {
    store: PinStore,
    /// Store of the last tool lists. `None` if there is no directory for them.
    listed: Option<Shelf>,
    /// Server whose pins were read last. `lock` contains them.
    server: String,
    lock: Arc<Lock>,
    stamps: [Option<Stamp>; 2],
    /// Pins that could not be written, by server.
    unwritten: BTreeMap<String, Unwritten>,
    pages: Pages,
    neighbors: Option<Neighbors>,
    /// Path of the pins, if the user chose one: `hardline pin` needs the same path.
    lock_path: Option<PathBuf>,
    trouble: Option<String>,
    /// Kinds of trouble that were reported. Each is reported once.
    reported: HashSet<&'static str>,
}

/// Last tool lists of servers. Caches one list, because a client may list tools again and again.
#[derive(Debug)]
struct Shelf {
    store: PinStore,
    read: Option<(String, [Option<Stamp>; 2], Lock)>,
}

impl Shelf {
    /// Returns the last list of a server. A list that cannot be read counts as empty.
    fn get(&mut self, server: &str) -> Lock {
        let stamps = self.store.stamps(server);
        // Read again only after a change: a list is compared before every answer.
        if let Some((of, before, lock)) = &self.read
            && of == server
            && *before == stamps
        {
            return lock.clone();
        }
        let lock = self.store.read(server).unwrap_or_default();
        self.read = Some((server.to_owned(), stamps, lock.clone()));
        lock
    }
}

/// Pins that are valid until the session ends.
#[derive(Clone, Debug, Default)]
struct Unwritten {
    /// Tools of the server. `None` if the server has not listed any.
    tools: Option<Vec<Definition>>,
    instructions: Option<Instructions>,
}

impl PinFile {
    /// Opens a file of pins that servers share, if it exists. `listed` is the place for the tool
    /// lists of servers.
    ///
    /// # Errors
    ///
    /// [`PinError`] if the file exists and cannot be read.
    pub fn open(path: impl Into<PathBuf>, listed: Option<PathBuf>) -> Result<Self, PinError> {
        Self::for_server(PinStore::file(path), listed.map(PinStore::at), "")
    }

    /// Opens the pins of a server in a store. `listed` is the store for its tool lists.
    ///
    /// # Errors
    ///
    /// [`PinError`] if the file exists and cannot be read.
    pub fn for_server(
        store: PinStore,
        listed: Option<PinStore>,
        server: &str,
    ) -> Result<Self, PinError> {
        let stamps = store.stamps(server);
        let lock = Arc::new(store.read(server)?);
        let listed = listed.map(|store| Shelf { store, read: None });
        Ok(Self {
            store,
            listed,
            server: server.to_owned(),
            lock,
            stamps,
            unwritten: BTreeMap::new(),
            pages: Pages::default(),
            neighbors: None,
            lock_path: None,
            trouble: None,
            reported: HashSet::new(),
        })
    }

    /// Distinguishes servers by their launches and clients, which are stored in the state
    /// directory. Without this, every other server is a neighbor.
    #[must_use]
    pub fn with_launch(mut self, state: &Path, launch: LaunchId) -> Self {
        self.neighbors = Some(Neighbors::new(state, launch));
        self
    }

    /// Sets the path of the pins for the commands that users are advised to run.
    #[must_use]
    pub fn with_lock_path(mut self, path: &Path) -> Self {
        // The user may run the command in another directory.
        self.lock_path = Some(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        self
    }

    fn complain(&mut self, what: &'static str, error: &dyn std::fmt::Display) {
        // A fault that stays would be reported with every list.
        if !self.reported.insert(what) {
            return;
        }
        let before = self.trouble.take().map_or(String::new(), |before| before + "\n");
        self.trouble = Some(format!("{before}{what}: {error}"));
    }

    /// Reads the pins of a server again if the files have changed.
    fn refresh(&mut self, server: &str) {
        let stamps = self.store.stamps(server);
        if stamps == self.stamps && server == self.server {
            return;
        }
        match self.store.read(server) {
            Ok(lock) => {
                self.stamps = stamps;
                server.clone_into(&mut self.server);
                self.lock = Arc::new(lock);
                self.add_unwritten();
            }
            Err(error) => self.complain("the pins as last read stay in force", &error),
        }
    }

    /// Returns a command of `hardline pin` for a server, with the pins of this session.
    fn command(&self, verb: &str, server: &str) -> String {
        let server_word = shell_word(server);
        let Some(path) = &self.lock_path else {
            return format!("hardline pin {verb} {server_word}");
        };
        let lock = format!("--lock={}", shell_word(&path.to_string_lossy()));
        // A name that starts with `-` is written after `--`, and options must come before that.
        if server.starts_with('-') {
            return format!("hardline pin {verb} {lock} {server_word}");
        }
        format!("hardline pin {verb} {server_word} {lock}")
    }

    /// Adds the pins that are valid for this session alone.
    fn add_unwritten(&mut self) {
        if self.unwritten.is_empty() {
            return;
        }
        let mut lock = Lock::clone(&self.lock);
        for (server, pins) in &self.unwritten {
            // The limits of a file hold in memory as well.
            if let Some(tools) = &pins.tools {
                let _ = add(&mut lock, server, tools);
            }
            if let Some(instructions) = &pins.instructions {
                let _ = lock.approve_instructions(server, instructions);
            }
        }
        self.lock = Arc::new(lock);
    }

    /// Tries again to write pins that could not be written before.
    fn flush_unwritten(&mut self, server: &str) {
        let Some(pins) = self.unwritten.remove(server) else { return };
        let written = self.store.update(server, PATIENCE, |lock| {
            if let Some(tools) = &pins.tools {
                // Tools over the limit are reported as new.
                let _ = add(lock, server, tools);
            }
            match &pins.instructions {
                // Only if there are none: another session may have pinned instructions meanwhile.
                Some(instructions) if lock.instructions(server).is_none() => {
                    lock.approve_instructions(server, instructions)
                }
                _ => Ok(()),
            }
        });
        if self.take(server, written).is_err() {
            self.unwritten.insert(server.to_owned(), pins);
        }
    }

    /// Applies the result of a change of the file.
    fn take(&mut self, server: &str, written: Result<Lock, PinError>) -> Result<(), PinError> {
        let lock = written?;
        self.stamps = self.store.stamps(server);
        server.clone_into(&mut self.server);
        self.lock = Arc::new(lock);
        self.add_unwritten();
        Ok(())
    }

    /// Stores the launch and client of this server. Called before the pins are written, so that
    /// another session that reads the pins also finds the launch.
    fn introduce(&mut self, server: &str) {
        if let Some(neighbors) = &mut self.neighbors {
            // If this fails, every server is a neighbor of every other. The pins go to the same
            // directory, so writing them reports the problem.
            let _ = neighbors.write(server, PATIENCE);
        }
    }
}

impl PinKeeper for PinFile {
    fn lock(&mut self) -> Arc<Lock> {
        let server = self.server.clone();
        self.refresh(&server);
        Arc::clone(&self.lock)
    }

    fn neighbors(&mut self, server: &str) -> Arc<Lock> {
        let mut errors = Vec::new();
        let others = self.store.read_others(Some(server), &mut errors);
        if let Some(error) = errors.first() {
            // A list that could not be read protects less, so the user learns of it.
            self.complain("names are not compared with those of all other servers", error);
        }
        let Some(neighbors) = &self.neighbors else { return Arc::new(others) };
        let strangers: HashSet<String> = neighbors.strangers().into_iter().collect();
        Arc::new(others.select(|other| !strangers.contains(other)))
    }

    fn pin(&mut self, server: &str, tools: &[Definition]) {
        self.introduce(server);
        let mut full = None;
        let written = self.store.update(server, PIN_PATIENCE, |lock| {
            // Pins as many tools as fit; the rest count as new.
            full = add(lock, server, tools).err();
            Ok(())
        });
        if let Err(error) = self.take(server, written) {
            self.complain("the tools are pinned for this session only", &error);
            let unwritten = self.unwritten.entry(server.to_owned()).or_default();
            // Kept for the rest of the session, and written with the next list.
            unwritten.tools.get_or_insert_default().extend_from_slice(tools);
            self.add_unwritten();
        }
        if let Some(full) = full {
            self.complain("not all tools are pinned, and the others count as new", &full);
        }
    }

    fn list(&mut self, server: &str, tools: &[Definition], page: Page) {
        let is_whole = self.pages.add(tools, page);
        self.flush_unwritten(server);
        let Some(shelf) = &mut self.listed else { return };
        let before = shelf.get(server);
        let mut listed = if is_whole {
            self.pages.tools.clone()
        } else {
            // For tools that are not on these pages, the last list counts, or else the pins.
            let known = if before.has_list(server) { &before } else { &*self.lock };
            self.pages.over(known.tools(server))
        };
        // Of several tools with one name, `pin diff` must show the one that differs.
        listed.sort_by_cached_key(|tool| {
            let pinned = self.lock.tool(server, tool.name());
            pinned.is_some_and(|pinned| pinned.fingerprint() == tool.fingerprint())
        });
        let mut names = HashSet::new();
        listed.retain(|tool| names.insert(tool.name().to_owned()));
        // Most servers list what is pinned; then there is no difference to store.
        if !before.has_list(server) && self.lock.compare(server, &listed).is_empty() {
            return;
        }
        let is_same = before.tools(server).count() == listed.len()
            && listed.iter().all(|tool| {
                let known = before.tool(server, tool.name());
                known.is_some_and(|known| known.fingerprint() == tool.fingerprint())
            });
        if before.has_list(server) && is_same {
            return;
        }
        let mut full = None;
        let written = shelf.store.update(server, PATIENCE, |before| {
            // An empty pin list replaces the old one, so that removed tools disappear.
            before.pin(server, [])?;
            full = add(before, server, &listed).err();
            Ok(())
        });
        if let Err(error) = written {
            self.complain("the change cannot be stored for `hardline pin diff`", &error);
        }
        if let Some(full) = full {
            self.complain("the change is stored only in part for `hardline pin diff`", &full);
        }
    }

    fn pins_instructions(&self) -> bool {
        true
    }

    fn pin_instructions(&mut self, server: &str, instructions: &Instructions) {
        self.introduce(server);
        let written = self.store.update(server, PIN_PATIENCE, |lock| {
            // Another process may have pinned them first.
            match lock.instructions(server) {
                Some(_) => Ok(()),
                None => lock.approve_instructions(server, instructions),
            }
        });
        if let Err(error) = self.take(server, written) {
            self.complain("the instructions are pinned for this session only", &error);
            let unwritten = self.unwritten.entry(server.to_owned()).or_default();
            unwritten.instructions = Some(instructions.clone());
            self.add_unwritten();
        }
    }

    fn list_instructions(&mut self, server: &str, instructions: &Instructions) {
        let Some(shelf) = &mut self.listed else { return };
        let before = shelf.get(server);
        let is_pinned = self.lock.compare_instructions(server, instructions).is_none();
        let is_same = match before.instructions(server) {
            Some(before) => before.fingerprint() == instructions.fingerprint(),
            None => is_pinned,
        };
        if is_same {
            return;
        }
        let approve = |lock: &mut Lock| lock.approve_instructions(server, instructions);
        let written = shelf.store.update(server, PATIENCE, approve);
        if let Err(error) = written {
            self.complain("the change cannot be stored for `hardline pin diff`", &error);
        }
    }

    fn meet_client(&mut self, server: &str, client: &str) {
        if let Some(neighbors) = &mut self.neighbors {
            neighbors.meet_client(client);
        }
        self.introduce(server);
    }

    fn approval(&self, server: &str) -> String {
        self.command("approve", server)
    }

    fn comparison(&self, server: &str) -> String {
        self.command("diff", server)
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }
}

/// Pins the tools of a server that are not pinned yet, as many as fit.
fn add(lock: &mut Lock, server: &str, tools: &[Definition]) -> Result<(), LockFull> {
    if !lock.has_list(server) {
        lock.pin(server, [])?;
    }
    let mut outcome = Ok(());
    for tool in tools {
        // Another process may have pinned it first.
        if lock.tool(server, tool.name()).is_none() {
            outcome = outcome.and(lock.approve(server, tool));
        }
    }
    outcome
}
