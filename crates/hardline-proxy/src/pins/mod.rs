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
//! - No session fails because of a pin that cannot be written: it counts until the session ends.

mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hardline_guard::pin::{Definition, Lock, LockFull};
use hardline_guard::tools::PinKeeper;

use file::Stamp;

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
    /// Pages of the list so far.
    pages: Vec<Definition>,
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
            pages: Vec::new(),
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

    fn list(&mut self, server: &str, tools: &[Definition], is_first_page: bool) {
        if is_first_page {
            self.pages.clear();
        }
        let room = 4096usize.saturating_sub(self.pages.len());
        self.pages.extend(tools.iter().take(room).cloned());
        let Some(path) = self.listed.clone() else { return };
        // Most servers list what was pinned: there is nothing to show.
        let is_listed = read(&path).is_ok_and(|listed| listed.has_server(server));
        if !is_listed && self.lock.compare(server, &self.pages).is_empty() {
            return;
        }
        let pages = &self.pages;
        let is_same = |listed: &Lock| {
            listed.tools(server).count() == pages.len()
                && pages.iter().all(|tool| {
                    let known = listed.tool(server, tool.name());
                    known.is_some_and(|known| known.fingerprint() == tool.fingerprint())
                })
        };
        if read(&path).is_ok_and(|listed| is_same(&listed)) {
            return;
        }
        if let Err(error) = update(&path, PATIENCE, |listed| listed.pin(server, pages)) {
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
