//! Location of the pins: one file for each server, or one shared file.
//!
//! In the state directory each server has a file of its own, so that no server can fill or break
//! the file of another. A file in a repository (`--lock FILE`) is shared, so that people can review
//! and merge it. A directory in its place (`--lock DIRECTORY`) contains one file for each server
//! again.
//!
//! Earlier versions had one shared file in the state directory. It is still read for a server that
//! has no file of its own; the next change writes the server's own file.
//!
//! Invariants:
//! - The file of a server takes precedence over the shared file.
//! - The file of one server is never written for another.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::time::Duration;

use hardline_guard::pin::{Lock, LockFull};
use sha2::{Digest, Sha256};

use super::file::{self, PinError, Stamp};
use crate::state;

/// Name of the shared file.
pub const FILE_NAME: &str = "hardline.lock";

/// Directory in the state directory with one file for each server.
const FOLDER_NAME: &str = "pins";
/// Suffix of the file names.
const ENDING: &str = ".lock";
/// Limit on the characters of a server's name in its file name.
const MAX_NAME_CHARS: usize = 40;
/// Limit on the files read from a directory: thousands of servers. Further files are ignored.
const MAX_FILES: usize = 4096;

/// Location of pins.
#[derive(Clone, Debug)]
pub struct PinStore {
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    File(PathBuf),
    Folder {
        folder: PathBuf,
        /// Shared file of earlier versions, if one may exist.
        shared: Option<PathBuf>,
    },
}

impl PinStore {
    /// Returns the store at a path that a user chose: a directory if it exists as one or ends with
    /// a separator, else a file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let text = path.to_string_lossy();
        let is_folder = text.ends_with('/') || text.ends_with(MAIN_SEPARATOR) || path.is_dir();
        if !is_folder {
            return Self::file(path);
        }
        Self { place: Place::Folder { folder: path, shared: None } }
    }

    /// Returns a store that is one shared file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::File(path.into()) }
    }

    /// Returns the store in the state directory.
    pub fn in_state(state: &Path) -> Self {
        let shared = Some(state.join(FILE_NAME));
        Self { place: Place::Folder { folder: state.join(FOLDER_NAME), shared } }
    }

    /// Returns the store in the state directory for the last tool lists of the servers pinned in
    /// `self`.
    #[must_use]
    pub fn listed(&self, state: &Path) -> Self {
        let name = match &self.place {
            Place::Folder { folder, .. } if *folder == state.join(FOLDER_NAME) => {
                "listed".to_owned()
            }
            Place::Folder { folder: path, .. } | Place::File(path) => {
                let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                // The same file reached by another path must give the same store.
                let absolute = absolute.canonicalize().unwrap_or(absolute);
                format!("listed-{}", file::mark(absolute.to_string_lossy().as_bytes()))
            }
        };
        let shared = Some(state.join(format!("{name}{ENDING}")));
        Self { place: Place::Folder { folder: state.join(name), shared } }
    }

    /// Returns the path of the file for the pins of a server.
    pub fn path(&self, server: &str) -> PathBuf {
        match &self.place {
            Place::File(path) => path.clone(),
            Place::Folder { folder, .. } => folder.join(file_name(server)),
        }
    }

    /// Reads the pins of a server. A shared file also contains those of others.
    ///
    /// # Errors
    ///
    /// [`PinError`], also for an empty file: emptying a file would otherwise pin all tools anew.
    pub fn read(&self, server: &str) -> Result<Lock, PinError> {
        let (path, shared) = match &self.place {
            Place::File(path) => return file::read(path),
            Place::Folder { shared, .. } => (self.path(server), shared),
        };
        if let Some(own) = read_own(&path, Some(server))? {
            return Ok(own);
        }
        let Some(shared) = shared else { return Ok(Lock::new()) };
        Ok(file::read(shared)?.select(|it| it == server))
    }

    /// Reads the pins of all servers.
    ///
    /// # Errors
    ///
    /// [`PinError`] of the first file that cannot be read.
    pub fn read_all(&self) -> Result<Lock, PinError> {
        let mut errors = Vec::new();
        let lock = self.read_others(None, &mut errors);
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(lock),
        }
    }

    /// Reads the pins of all servers `but` one. Skips files that cannot be read and adds their
    /// errors to `errors`.
    pub(super) fn read_others(&self, but: Option<&str>, errors: &mut Vec<PinError>) -> Lock {
        let mut take = |lock: Result<Option<Lock>, PinError>| match lock {
            Ok(lock) => lock.unwrap_or_default(),
            Err(error) => {
                errors.push(error);
                Lock::new()
            }
        };
        let is_other = |it: &str| Some(it) != but;
        let (folder, shared) = match &self.place {
            Place::File(path) => return take(file::read(path).map(Some)).select(is_other),
            Place::Folder { folder, shared } => (folder, shared),
        };
        let own_path = but.map(|server| self.path(server));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).take(MAX_FILES).collect();
        paths.retain(|path| is_pin_file(path) && Some(path) != own_path.as_ref());
        // The operating system lists files in any order.
        paths.sort();
        let mut all = Lock::new();
        for path in paths {
            all.absorb(take(read_own(&path, None)));
        }
        if let Some(shared) = shared {
            all.absorb(take(file::read(shared).map(Some)).select(is_other));
        }
        all
    }

    /// Changes the pins of a server under a lock, so that no other process changes them meanwhile.
    /// Waits for the lock up to `patience`. Returns the new content of the file.
    ///
    /// # Errors
    ///
    /// [`PinError`]; the file is then unchanged.
    pub fn update(
        &self,
        server: &str,
        patience: Duration,
        change: impl FnOnce(&mut Lock) -> Result<(), LockFull>,
    ) -> Result<Lock, PinError> {
        let path = self.path(server);
        let _lock = state::lock_directory(&path, patience)?;
        let before = self.read(server)?;
        let mut lock = before.clone();
        change(&mut lock).map_err(|error| PinError::Full { path: path.clone(), error })?;
        let is_shared = matches!(self.place, Place::File(_));
        let is_changed = lock != before || !path.exists();
        // A server's own file without pins would count as broken, so none is created.
        if is_changed && (is_shared || lock.has_server(server)) {
            state::replace(&path, lock.to_string().as_bytes())?;
        }
        Ok(lock)
    }

    /// Deletes the pins of a server.
    ///
    /// # Errors
    ///
    /// [`PinError`]; some files may be changed already.
    pub fn forget(&self, server: &str, patience: Duration) -> Result<(), PinError> {
        let forget_in = |path: &Path| {
            file::update(path, patience, |lock| {
                lock.forget(server);
                Ok(())
            })
            .map(drop)
        };
        match &self.place {
            Place::File(path) => forget_in(path),
            Place::Folder { shared, .. } => {
                // The shared file first: its pins would be valid again once the server's own file
                // is gone.
                if let Some(shared) = shared
                    && file::read(shared)?.has_server(server)
                {
                    forget_in(shared)?;
                }
                let path = self.path(server);
                let _lock = state::lock_directory(&path, patience)?;
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        Err(state::StateError::Write { path, error }.into())
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// Returns the versions of the files that contain the pins of a server.
    pub(super) fn stamps(&self, server: &str) -> [Option<Stamp>; 2] {
        let shared = match &self.place {
            Place::Folder { shared: Some(shared), .. } => Stamp::of(shared),
            Place::Folder { shared: None, .. } | Place::File(_) => None,
        };
        [Stamp::of(&self.path(server)), shared]
    }
}

/// Reads the file of one server. Returns `None` if it does not exist.
fn read_own(path: &Path, server: Option<&str>) -> Result<Option<Lock>, PinError> {
    let Some(lock) = file::read_if_there(path)? else { return Ok(None) };
    let is_own = |it: &str| match server {
        Some(server) => it == server,
        // The file name tells which server it belongs to.
        None => path.file_name().is_some_and(|name| *name == *file_name(it)),
    };
    let own = lock.select(is_own);
    if own == Lock::new() {
        return Err(PinError::Foreign { path: path.to_owned() });
    }
    Ok(Some(own))
}

fn is_pin_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(ENDING) && !name.starts_with('.')
}

/// Returns the file name for a server: the readable part of the server's name, and a digest of the
/// whole name, so that names that differ in case or in special characters have different files on
/// every system.
fn file_name(server: &str) -> String {
    let is_fit = |char: &char| char.is_ascii_alphanumeric() || "-_".contains(*char);
    let readable: String = server.chars().filter(is_fit).take(MAX_NAME_CHARS).collect();
    let digest = Sha256::digest(server);
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{readable}-{digits}{ENDING}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_server_has_a_file_of_its_own() {
        let names = ["shop", "Shop", "sh/op", "../shop", "", ".", "ſhop", "con", &"x".repeat(5000)];
        let files: HashSet<String> =
            names.iter().map(|name| file_name(name).to_lowercase()).collect();
        assert_eq!(files.len(), names.len());
        assert!(files.iter().all(|it| it.len() < 80 && !it.contains('/') && !it.starts_with('.')));
    }
}
