//! The pins of one session's server, between the guard and the files.

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

/// Longest wait of a session for others that write to the same directory.
const PATIENCE: Duration = Duration::from_millis(300);
/// The same for pins of a first use: all servers of a client begin at once, and what is not written is
/// pinned anew the next time.
const PIN_PATIENCE: Duration = Duration::from_secs(2);

/// Keeps pins in files, for one session.
#[derive(Debug)]
pub struct PinFile {
    store: PinStore,
    /// The lists of now. `None` if there is no place for them.
    listed: Option<Shelf>,
    /// The server whose pins were read last, and what they were.
    server: String,
    lock: Arc<Lock>,
    stamps: [Option<Stamp>; 2],
    /// Pins that could not be written, by server.
    unwritten: BTreeMap<String, Unwritten>,
    pages: Pages,
    neighbors: Option<Neighbors>,
    /// Path of the pins, if a user named one: `hardline pin` must be given the same.
    lock_path: Option<PathBuf>,
    trouble: Option<String>,
    /// Trouble that was told: once is enough for each kind.
    told: HashSet<&'static str>,
}

/// The last lists of servers, with a cache of one: a client may list again and again.
#[derive(Debug)]
struct Shelf {
    store: PinStore,
    read: Option<(String, [Option<Stamp>; 2], Lock)>,
}

impl Shelf {
    /// Returns the last list of a server. One that cannot be read counts as none.
    fn get(&mut self, server: &str) -> Lock {
        let stamps = self.store.stamps(server);
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

/// Pins that count until the session ends.
#[derive(Clone, Debug, Default)]
struct Unwritten {
    /// `None` if the server has not listed any.
    tools: Option<Vec<Definition>>,
    instructions: Option<Instructions>,
}

impl PinFile {
    /// Reads the pins in a file that servers share, if there are any. What servers list is kept at
    /// `listed`.
    ///
    /// # Errors
    ///
    /// [`PinError`], if there is a file and it cannot be read.
    pub fn open(path: impl Into<PathBuf>, listed: Option<PathBuf>) -> Result<Self, PinError> {
        Self::for_server(PinStore::file(path), listed.map(PinStore::at), "")
    }

    /// Reads the pins of a server in a store. What it lists is kept in another one.
    ///
    /// # Errors
    ///
    /// [`PinError`], if there is a file and it cannot be read.
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
            told: HashSet::new(),
        })
    }

    /// Tells servers apart by how they are launched, and by their clients: without it, every other
    /// server is a neighbor. What is known of them is kept in the state directory.
    #[must_use]
    pub fn with_launch(mut self, state: &Path, launch: LaunchId) -> Self {
        self.neighbors = Some(Neighbors::new(state, launch));
        self
    }

    /// Names the path of the pins in what people are told to run.
    #[must_use]
    pub fn with_lock_path(mut self, path: &Path) -> Self {
        // Whoever runs it may be in another directory.
        self.lock_path = Some(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        self
    }

    fn complain(&mut self, what: &'static str, error: &dyn std::fmt::Display) {
        if !self.told.insert(what) {
            return;
        }
        let before = self.trouble.take().map_or(String::new(), |before| before + "\n");
        self.trouble = Some(format!("{before}{what}: {error}"));
    }

    /// Reads the pins of a server again if they are others than before.
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
            Err(error) => self.complain("the pins of before still count", &error),
        }
    }

    /// Adds the pins that count for this session alone.
    fn add_unwritten(&mut self) {
        if self.unwritten.is_empty() {
            return;
        }
        let mut lock = Lock::clone(&self.lock);
        for (server, pins) in &self.unwritten {
            // What is too much for a file is too much for us.
            if let Some(tools) = &pins.tools {
                let _ = add(&mut lock, server, tools);
            }
            if let Some(instructions) = &pins.instructions {
                let _ = lock.approve_instructions(server, instructions);
            }
        }
        self.lock = Arc::new(lock);
    }

    /// Tries again to write what could not be written.
    fn flush_unwritten(&mut self, server: &str) {
        let Some(pins) = self.unwritten.remove(server) else { return };
        let written = self.store.update(server, PATIENCE, |lock| {
            if let Some(tools) = &pins.tools {
                // What there is no room for counts as new.
                let _ = add(lock, server, tools);
            }
            match &pins.instructions {
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

    /// Takes what became of a change of the file.
    fn take(&mut self, server: &str, written: Result<Lock, PinError>) -> Result<(), PinError> {
        let lock = written?;
        self.stamps = self.store.stamps(server);
        server.clone_into(&mut self.server);
        self.lock = Arc::new(lock);
        self.add_unwritten();
        Ok(())
    }

    /// Writes down who this server is: before its pins, so that another session that sees those knows.
    fn introduce(&mut self, server: &str) {
        if let Some(neighbors) = &mut self.neighbors {
            // Where that cannot be written, every server is a neighbor of every other. The pins go to the
            // same directory, and what is wrong with it is told for them.
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
            // What there is room for is pinned, and the rest counts as new.
            full = add(lock, server, tools).err();
            Ok(())
        });
        if let Err(error) = self.take(server, written) {
            self.complain("the tools are pinned for this session only", &error);
            let unwritten = self.unwritten.entry(server.to_owned()).or_default();
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
            // What is not on these pages is what it was when it was listed last, or as it was pinned.
            let known = if before.has_list(server) { &before } else { &*self.lock };
            self.pages.over(known.tools(server))
        };
        // Of several with one name, a person must see the one that differs.
        listed.sort_by_cached_key(|tool| {
            let pinned = self.lock.tool(server, tool.name());
            pinned.is_some_and(|pinned| pinned.fingerprint() == tool.fingerprint())
        });
        let mut names = HashSet::new();
        listed.retain(|tool| names.insert(tool.name().to_owned()));
        // Most servers list what was pinned: there is nothing to show.
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
            before.pin(server, [])?;
            full = add(before, server, &listed).err();
            Ok(())
        });
        if let Err(error) = written {
            self.complain("what changed cannot be kept for `hardline pin diff`", &error);
        }
        if let Some(full) = full {
            self.complain("not all that changed is kept for `hardline pin diff`", &full);
        }
    }

    fn pins_instructions(&self) -> bool {
        true
    }

    fn pin_instructions(&mut self, server: &str, instructions: &Instructions) {
        self.introduce(server);
        let written = self.store.update(server, PIN_PATIENCE, |lock| {
            // Another process may have been first.
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
            self.complain("what changed cannot be kept for `hardline pin diff`", &error);
        }
    }

    fn meet_client(&mut self, server: &str, client: &str) {
        if let Some(neighbors) = &mut self.neighbors {
            neighbors.meet_client(client);
        }
        self.introduce(server);
    }

    fn approval(&self, server: &str) -> String {
        let server_word = shell_word(server);
        let Some(path) = &self.lock_path else {
            return format!("hardline pin approve {server_word}");
        };
        let lock = format!("--lock={}", shell_word(&path.to_string_lossy()));
        // Behind `--` there are no options.
        if server.starts_with('-') {
            return format!("hardline pin approve {lock} {server_word}");
        }
        format!("hardline pin approve {server_word} {lock}")
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }
}

/// Pins tools of a server that are not pinned yet, as many as there is room for.
fn add(lock: &mut Lock, server: &str, tools: &[Definition]) -> Result<(), LockFull> {
    if !lock.has_list(server) {
        lock.pin(server, [])?;
    }
    let mut outcome = Ok(());
    for tool in tools {
        // Another process may have been first.
        if lock.tool(server, tool.name()).is_none() {
            outcome = outcome.and(lock.approve(server, tool));
        }
    }
    outcome
}
