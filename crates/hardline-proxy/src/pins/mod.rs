//! Pins in files: `hardline.lock`, and beside it what servers listed last.
//!
//! The lock holds what was pinned at first use or approved since; people put it into repositories. What
//! servers list now is kept in a second file of the same format in the state directory, so that a
//! change can be shown and approved when the server does not run any more.
//!
//! Invariants:
//! - A file is replaced as a whole or not at all, and only after it was read again under a lock: many
//!   processes share it.
//! - A file that cannot be read is never written.
//! - A tool is gone when a whole list is without it. Whatever else differs stays in the second file until it
//!   is approved, forgotten, or listed in another way.
//! - No session fails because of a pin that cannot be written: it counts until the session ends.

mod file;
mod page;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hardline_guard::pin::{Definition, Lock, LockFull};
use hardline_guard::tools::{Page, PinKeeper};

use file::Stamp;
use page::Pages;

pub use file::{PinError, read, update};

/// How long a session waits for others that write pins.
const PATIENCE: Duration = Duration::from_millis(300);

/// Keeps pins in files, for one session.
#[derive(Debug)]
pub struct PinFile {
    path: PathBuf,
    /// What is listed now. `None` if there is no place for it.
    listed: Option<PathBuf>,
    lock: Arc<Lock>,
    stamp: Option<Stamp>,
    /// Pins that could not be written.
    unwritten: BTreeMap<String, Vec<Definition>>,
    pages: Pages,
    trouble: Option<String>,
    /// Whether trouble was told: once is enough.
    has_told: bool,
}

impl PinFile {
    /// Reads the pins at `path`, if there are any. What servers list is kept at `listed`.
    ///
    /// # Errors
    ///
    /// [`PinError`], if there is a file and it cannot be read.
    pub fn open(path: impl Into<PathBuf>, listed: Option<PathBuf>) -> Result<Self, PinError> {
        let path = path.into();
        let stamp = Stamp::of(&path);
        let lock = Arc::new(read(&path)?);
        Ok(Self {
            path,
            listed,
            lock,
            stamp,
            unwritten: BTreeMap::new(),
            pages: Pages::default(),
            trouble: None,
            has_told: false,
        })
    }

    fn complain(&mut self, what: &str, error: &PinError) {
        if !self.has_told {
            self.has_told = true;
            self.trouble = Some(format!("{what}: {error}"));
        }
    }

    /// Reads the file again if it is another than before.
    fn refresh(&mut self) {
        let stamp = Stamp::of(&self.path);
        if stamp == self.stamp {
            return;
        }
        match read(&self.path) {
            Ok(lock) => {
                self.stamp = stamp;
                self.lock = Arc::new(lock);
                let unwritten = self.unwritten.clone();
                for (server, tools) in unwritten {
                    self.add(&server, &tools);
                }
            }
            Err(error) => self.complain("the pins of before still count", &error),
        }
    }

    /// Adds pins that count for this session.
    fn add(&mut self, server: &str, tools: &[Definition]) {
        let mut lock = Lock::clone(&self.lock);
        // What is too much for a file is too much for us.
        let _ = add(&mut lock, server, tools);
        self.lock = Arc::new(lock);
    }
}

impl PinKeeper for PinFile {
    fn lock(&mut self) -> Arc<Lock> {
        self.refresh();
        Arc::clone(&self.lock)
    }

    fn pin(&mut self, server: &str, tools: &[Definition]) {
        let written = update(&self.path, PATIENCE, |lock| add(lock, server, tools));
        match written {
            Ok(lock) => {
                self.stamp = Stamp::of(&self.path);
                self.lock = Arc::new(lock);
            }
            Err(error) => {
                self.complain("the tools are pinned for this session only", &error);
                self.unwritten.entry(server.to_owned()).or_default().extend_from_slice(tools);
                self.add(server, tools);
            }
        }
    }

    fn list(&mut self, server: &str, tools: &[Definition], page: Page) {
        let is_whole = self.pages.add(tools, page);
        let Some(path) = self.listed.clone() else { return };
        let before = read(&path).unwrap_or_default();
        let mut listed = match is_whole {
            true => self.pages.tools.clone(),
            // What is not on these pages is what it was when it was listed last, or as it was pinned.
            false => {
                let known = if before.has_server(server) { &before } else { &*self.lock };
                self.pages.over(known.tools(server))
            }
        };
        // Of several with one name it is the one that differs which somebody must see.
        listed.sort_by_cached_key(|tool| {
            let pinned = self.lock.tool(server, tool.name());
            pinned.is_some_and(|pinned| pinned.fingerprint() == tool.fingerprint())
        });
        let mut names = HashSet::new();
        listed.retain(|tool| names.insert(tool.name().to_owned()));
        // Most servers list what was pinned: there is nothing to show.
        if !before.has_server(server) && self.lock.compare(server, &listed).is_empty() {
            return;
        }
        let is_same = before.tools(server).count() == listed.len()
            && listed.iter().all(|tool| {
                let known = before.tool(server, tool.name());
                known.is_some_and(|known| known.fingerprint() == tool.fingerprint())
            });
        if before.has_server(server) && is_same {
            return;
        }
        if let Err(error) = update(&path, PATIENCE, |before| before.pin(server, &listed)) {
            self.complain("what changed cannot be kept for `hardline pin diff`", &error);
        }
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }
}

/// Pins tools of a server that are not pinned yet.
fn add(lock: &mut Lock, server: &str, tools: &[Definition]) -> Result<(), LockFull> {
    if !lock.has_server(server) {
        lock.pin(server, [])?;
    }
    for tool in tools {
        // Another process may have been first.
        if lock.tool(server, tool.name()).is_none() {
            lock.approve(server, tool)?;
        }
    }
    Ok(())
}

/// Where what servers list is kept, for the pins at `lock`: in the state directory, one file for each
/// file of pins.
pub fn listed_path(state: &Path, lock: &Path) -> PathBuf {
    if lock == state.join(FILE_NAME) {
        return state.join("listed.lock");
    }
    let absolute = std::path::absolute(lock).unwrap_or_else(|_| lock.to_path_buf());
    // The same file by another way is the same.
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    let mark = file::mark(absolute.to_string_lossy().as_bytes());
    state.join(format!("listed-{mark}.lock"))
}

/// The name of the file of pins.
pub const FILE_NAME: &str = "hardline.lock";
