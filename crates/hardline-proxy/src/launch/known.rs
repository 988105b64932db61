//! Known executables of servers, by their hash, so that a changed executable is noticed.
//!
//! A small JSON file in the state directory contains, for each server, the file that it was last
//! started with and its SHA-256. Reading a large executable takes a while, so a file with unchanged
//! metadata (size, times, device and inode) is not read again.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use hardline_transport::file;
use hardline_wire::excerpt::Excerpt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::state::{self, StateError};

/// File name in the state directory.
pub const FILE_NAME: &str = "programs.json";

/// Limit on the bytes of that file: enough for far more servers than a user has.
const MAX_BYTES: u64 = 4 << 20;
/// Limit on the bytes of a server's name in an error.
const NAME_BYTES: usize = 80;
/// Limit on the bytes hashed of an executable. Beyond it, only metadata shows a change.
const MAX_PROGRAM_BYTES: u64 = 1 << 30;

/// An executable.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Program {
    /// Path of the file as it was started.
    pub path: PathBuf,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Metadata of the file, which changes when the file does.
    #[serde(default)]
    looks: String,
}

/// Known executables of all servers.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Programs {
    servers: BTreeMap<String, Program>,
    /// Executables that were not started because they differ from the known ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    refused: BTreeMap<String, Program>,
}

/// Result of comparing a server's executable with the known one.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProgramChange {
    /// The executable is unchanged, or none was known.
    None,
    /// The executable has changed.
    Changed {
        /// The known executable.
        before: Program,
    },
}

impl Programs {
    /// Reads the file at `path`. A missing file contains no executables.
    ///
    /// # Errors
    ///
    /// [`StateError`] if the file cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self, StateError> {
        let Some(text) = state::read(path, MAX_BYTES)? else { return Ok(Self::default()) };
        let broken = |what| StateError::Broken { path: path.to_owned(), what };
        let programs: Self =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let mut all = programs.servers.iter().chain(&programs.refused);
        match all.find(|(_, program)| !is_sha256(&program.sha256)) {
            Some((server, _)) => {
                let name = Excerpt::new(server.as_bytes(), NAME_BYTES);
                Err(broken(format!("the sha256 of {name} is not 64 hexadecimal digits")))
            }
            None => Ok(programs),
        }
    }

    /// Returns the known executable of a server.
    pub fn get(&self, server: &str) -> Option<&Program> {
        self.servers.get(server)
    }

    /// Iterates over the servers and their executables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Program)> {
        self.servers.iter().map(|(server, program)| (server.as_str(), program))
    }

    /// Returns the executable with which a server was not started, because it differs from the
    /// known one.
    pub fn refused(&self, server: &str) -> Option<&Program> {
        self.refused.get(server)
    }

    /// Sets the known executable of a server, in memory only.
    pub fn insert(&mut self, server: &str, program: Program) {
        self.servers.insert(server.to_owned(), program);
    }

    /// Notes in memory only that a server was not started with this executable, so that it need not
    /// be hashed again.
    pub fn insert_refused(&mut self, server: &str, program: Program) {
        self.refused.insert(server.to_owned(), program);
    }

    /// Compares the executable of a server with the known one. Reads it only if its metadata has
    /// changed.
    ///
    /// # Errors
    ///
    /// An I/O error if the executable cannot be read.
    pub fn look(&self, server: &str, path: &Path) -> io::Result<(Program, ProgramChange)> {
        let looks = looks(path)?;
        // The path counts too, because only on Unix the metadata contains an inode.
        let is_same = |it: &&Program| it.path == path && it.looks == looks;
        let known = self.servers.get(server);
        if let Some(known) = known.filter(is_same) {
            return Ok((known.clone(), ProgramChange::None));
        }
        // Clients retry a refused server often; its executable is hashed once.
        let program = match self.refused.get(server).filter(is_same) {
            Some(refused) => refused.clone(),
            None => Program { path: path.to_owned(), sha256: hash(path)?, looks },
        };
        // Compared by hash: a file that was only touched or moved has not changed.
        let change = match known {
            Some(before) if before.sha256 != program.sha256 => {
                ProgramChange::Changed { before: before.clone() }
            }
            _ => ProgramChange::None,
        };
        Ok((program, change))
    }

    /// Stores the executable of a server as known.
    ///
    /// # Errors
    ///
    /// [`StateError`]; the file is then unchanged.
    pub fn remember(
        file: &Path,
        server: &str,
        program: &Program,
        patience: Duration,
    ) -> Result<(), StateError> {
        Self::update(file, patience, |programs| {
            programs.servers.insert(server.to_owned(), program.clone());
            programs.refused.remove(server);
        })
    }

    /// Stores that a server was not started because its executable has changed.
    ///
    /// # Errors
    ///
    /// [`StateError`]; the file is then unchanged.
    pub fn refuse(
        file: &Path,
        server: &str,
        program: &Program,
        patience: Duration,
    ) -> Result<(), StateError> {
        Self::update(file, patience, |programs| {
            programs.refused.insert(server.to_owned(), program.clone());
        })
    }

    /// Deletes the known executable of a server. Returns true if there was one.
    ///
    /// # Errors
    ///
    /// [`StateError`]; the file is then unchanged.
    pub fn forget(file: &Path, server: &str, patience: Duration) -> Result<bool, StateError> {
        let mut was_there = false;
        Self::update(file, patience, |programs| {
            was_there = programs.servers.remove(server).is_some();
            programs.refused.remove(server);
        })?;
        Ok(was_there)
    }

    fn update(
        file: &Path,
        patience: Duration,
        change: impl FnOnce(&mut Self),
    ) -> Result<(), StateError> {
        let _lock = state::lock_directory(file, patience)?;
        // Read again under the lock, so that entries of other processes are not lost.
        let before = Self::read(file)?;
        let mut programs = before.clone();
        change(&mut programs);
        if programs == before {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&programs).unwrap_or_default() + "\n";
        state::replace(file, text.as_bytes())
    }
}

/// Returns true for a SHA-256 in hexadecimal.
fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the metadata of a file as text. Any regular change of the file changes it.
fn looks(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    let modified = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default().as_nanos();
    let length = metadata.len();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (device, inode) = (metadata.dev(), metadata.ino());
        let changed =
            i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
        Ok(format!("{device}:{inode}:{length}:{modified}:{changed}"))
    }
    #[cfg(not(unix))]
    Ok(format!("{length}:{modified}"))
}

/// Returns the SHA-256 of a file in hexadecimal.
fn hash(path: &Path) -> io::Result<String> {
    // Bounds the time that a start can take.
    let mut file = file::open(path)?.take(MAX_PROGRAM_BYTES);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
