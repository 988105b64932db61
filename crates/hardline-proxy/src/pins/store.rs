//! The place of pins: one file for each server, or one that several share.
//!
//! In the state directory each server has a file of its own, so that no server can fill or break the
//! file of another. A file in a repository (`--lock FILE`) is shared: people review and merge it. A
//! directory given in its place (`--lock DIRECTORY`) has one file for each server again.
//!
//! Before that, the state directory had one shared file. It is still read: the pins of a server that has
//! no file of its own are looked for there, and written to its own with the next change.
//!
//! Invariants:
//! - A server's own file decides over the shared one.
//! - The file of one server is never written for another.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::time::Duration;

use hardline_guard::pin::{Lock, LockFull};
use sha2::{Digest, Sha256};

use super::file::{self, PinError, Stamp};
use crate::state;

/// The name of the file of pins that servers share.
pub const FILE_NAME: &str = "hardline.lock";

/// The directory in the state directory with one file of pins for each server.
const FOLDER_NAME: &str = "pins";
/// The end of the name of a file of pins.
const ENDING: &str = ".lock";
/// Most characters of a server's name in the name of its file.
const MAX_NAME_CHARS: usize = 40;
/// Most files of a directory that are read: thousands of servers. Further ones are left out.
const MAX_FILES: usize = 4096;

/// A place of pins.
#[derive(Clone, Debug)]
pub struct PinStore {
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    File(PathBuf),
    Folder {
        folder: PathBuf,
        /// The file that servers shared before, if there may be one.
        shared: Option<PathBuf>,
    },
}

impl PinStore {
    /// The place that a user names: a directory if there is one, or if the path ends like one; else a
    /// file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let text = path.to_string_lossy();
        let is_folder = text.ends_with('/') || text.ends_with(MAIN_SEPARATOR) || path.is_dir();
        if !is_folder {
            return Self::file(path);
        }
        Self { place: Place::Folder { folder: path, shared: None } }
    }

    /// A file that servers share.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::File(path.into()) }
    }

    /// The place in the state directory.
    pub fn in_state(state: &Path) -> Self {
        let shared = Some(state.join(FILE_NAME));
        Self { place: Place::Folder { folder: state.join(FOLDER_NAME), shared } }
    }

    /// The place, in the state directory, of what servers listed last, for the pins at this one.
    #[must_use]
    pub fn listed(&self, state: &Path) -> Self {
        let name = match &self.place {
            Place::Folder { folder, .. } if *folder == state.join(FOLDER_NAME) => {
                "listed".to_owned()
            }
            Place::Folder { folder: path, .. } | Place::File(path) => {
                let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                // The same file by another way is the same.
                let absolute = absolute.canonicalize().unwrap_or(absolute);
                format!("listed-{}", file::mark(absolute.to_string_lossy().as_bytes()))
            }
        };
        let shared = Some(state.join(format!("{name}{ENDING}")));
        Self { place: Place::Folder { folder: state.join(name), shared } }
    }

    /// The file that has the pins of a server, or will have them.
    pub fn path(&self, server: &str) -> PathBuf {
        match &self.place {
            Place::File(path) => path.clone(),
            Place::Folder { folder, .. } => folder.join(file_name(server)),
        }
    }

    /// Reads the pins of a server; in a shared file, with those of others.
    ///
    /// # Errors
    ///
    /// [`PinError`], also for a file with nothing in it: emptying one would have all tools pinned anew.
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

    /// Reads the pins of all servers `but` one. What cannot be read is left out, and told in `errors`.
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
        // The system lists them in any order.
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

    /// Changes the pins of a server: read, changed and replaced, while no other process does the same.
    /// Waits for others up to `patience`. Returns what the file holds now.
    ///
    /// # Errors
    ///
    /// [`PinError`], and the file is as it was.
    pub fn update(
        &self,
        server: &str,
        patience: Duration,
        change: impl FnOnce(&mut Lock) -> Result<(), LockFull>,
    ) -> Result<Lock, PinError> {
        let path = self.path(server);
        let _alone = state::alone(&path, patience)?;
        let before = self.read(server)?;
        let mut lock = before.clone();
        change(&mut lock).map_err(|error| PinError::Full { path: path.clone(), error })?;
        let is_shared = matches!(self.place, Place::File(_));
        let is_changed = lock != before || !path.exists();
        if is_changed && (is_shared || lock.has_server(server)) {
            state::replace(&path, lock.to_string().as_bytes())?;
        }
        Ok(lock)
    }

    /// Forgets a server.
    ///
    /// # Errors
    ///
    /// [`PinError`], and no file was changed, or not all.
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
                if let Some(shared) = shared
                    && file::read(shared)?.has_server(server)
                {
                    forget_in(shared)?;
                }
                let path = self.path(server);
                let _alone = state::alone(&path, patience)?;
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        Err(state::StateError::Write { path, error }.into())
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// The versions of the files that have the pins of a server.
    pub(super) fn stamps(&self, server: &str) -> [Option<Stamp>; 2] {
        let shared = match &self.place {
            Place::Folder { shared: Some(shared), .. } => Stamp::of(shared),
            Place::Folder { shared: None, .. } | Place::File(_) => None,
        };
        [Stamp::of(&self.path(server)), shared]
    }
}

/// Reads the file of one server, if there is one.
fn read_own(path: &Path, server: Option<&str>) -> Result<Option<Lock>, PinError> {
    let Some(lock) = file::read_if_there(path)? else { return Ok(None) };
    let is_own = |it: &str| match server {
        Some(server) => it == server,
        // By its name, the file says whose it is.
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

/// The name of a server's file: what can be read of the server's name, and a digest of all of it, so that
/// names which differ in case or in odd characters have files of their own everywhere.
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
