//! The executables of servers, by their hash: one that changed is noticed.
//!
//! A small JSON file in the state directory has, for each server, the file that it was started with last
//! and its SHA-256. Reading a large executable takes a while, so that a file which looks as it did
//! (same size, times and place on the disk) is not read again.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use hardline_transport::file;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::state::{self, StateError};

/// The name of the file in the state directory.
pub const FILE_NAME: &str = "programs.json";

/// Most bytes of that file: far more than anybody has servers.
const MAX_BYTES: u64 = 4 << 20;
/// Longest executable that is read, in bytes. A larger one is known by its looks alone.
const MAX_PROGRAM_BYTES: u64 = 1 << 30;

/// An executable.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Program {
    /// The file, as it is called.
    pub path: PathBuf,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// What it looks like from outside.
    #[serde(default)]
    looks: String,
}

/// The executables of all servers.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Programs {
    servers: BTreeMap<String, Program>,
    /// Those that were not started because they are others than before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    refused: BTreeMap<String, Program>,
}

/// What became of a server's executable.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// It is the first time, or it is the same.
    None,
    /// It is another.
    Changed {
        /// The one of before.
        before: Program,
    },
}

impl Programs {
    /// Reads the file at `path`; without one, nothing is known.
    ///
    /// # Errors
    ///
    /// [`StateError`], if it cannot be read or is none.
    pub fn read(path: &Path) -> Result<Self, StateError> {
        let Some(text) = state::read(path, MAX_BYTES)? else { return Ok(Self::default()) };
        serde_json::from_str(&text)
            .map_err(|error| StateError::Broken { path: path.to_owned(), what: error.to_string() })
    }

    /// The executable of a server.
    pub fn get(&self, server: &str) -> Option<&Program> {
        self.servers.get(server)
    }

    /// The servers and their executables, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Program)> {
        self.servers.iter().map(|(server, program)| (server.as_str(), program))
    }

    /// The executable that a server was not started with, because it is another than before.
    pub fn refused(&self, server: &str) -> Option<&Program> {
        self.refused.get(server)
    }

    /// Takes the executable of a server for the one of before, in memory alone.
    pub fn insert(&mut self, server: &str, program: Program) {
        self.servers.insert(server.to_owned(), program);
    }

    /// Takes note in memory alone that a server was not started with this executable, so that it need not be
    /// read again.
    pub fn insert_refused(&mut self, server: &str, program: Program) {
        self.refused.insert(server.to_owned(), program);
    }

    /// Looks at the executable of a server, reading it only if it does not look as it did.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn look(&self, server: &str, path: &Path) -> io::Result<(Program, Change)> {
        let looks = looks(path)?;
        let is_same = |it: &&Program| it.path == path && it.looks == looks;
        let known = self.servers.get(server);
        if let Some(known) = known.filter(is_same) {
            return Ok((known.clone(), Change::None));
        }
        let program = match self.refused.get(server).filter(is_same) {
            Some(refused) => refused.clone(),
            None => Program { path: path.to_owned(), sha256: hash(path)?, looks },
        };
        let change = match known {
            Some(before) if before.sha256 != program.sha256 => {
                Change::Changed { before: before.clone() }
            }
            _ => Change::None,
        };
        Ok((program, change))
    }

    /// Remembers the executable of a server.
    ///
    /// # Errors
    ///
    /// [`StateError`], and the file is as it was.
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

    /// Remembers that a server was not started because its executable is another.
    ///
    /// # Errors
    ///
    /// [`StateError`], and the file is as it was.
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

    /// Forgets the executable of a server. Says whether there was one.
    ///
    /// # Errors
    ///
    /// [`StateError`], and the file is as it was.
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
        let _alone = state::alone(file, patience)?;
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

/// What a file looks like from outside: an honest change changes that.
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

/// The SHA-256 of a file.
fn hash(path: &Path) -> io::Result<String> {
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
