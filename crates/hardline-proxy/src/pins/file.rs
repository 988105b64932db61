//! One file of pins: reads and replaces it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hardline_guard::pin::{Lock, LockError, LockFull};
use thiserror::Error;

use crate::state::{self, StateError};

/// Error of reading or writing pins.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PinError {
    /// The file cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// The content of the file is invalid.
    #[error("{} is broken: {error}; mend it, or delete it and the tools are pinned again", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        error: LockError,
    },
    /// The file belongs to another server.
    #[error("{} has no pins of the server that it is named after; move it away, and the tools are pinned again", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The limit on pins is reached.
    #[error("{}: {error}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The limit that is reached.
        error: LockFull,
    },
}

/// Version of a file, to notice changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// A replaced file has a new inode, even if its length and time are the same.
    inode: u64,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Self { length: metadata.len(), modified: metadata.modified().ok(), inode })
    }
}

/// Reads the pins in a file. A missing file contains no pins.
///
/// # Errors
///
/// [`PinError`], also for an empty file: emptying a file would otherwise pin all tools anew.
pub fn read(path: &Path) -> Result<Lock, PinError> {
    Ok(read_if_there(path)?.unwrap_or_default())
}

/// Reads the pins in a file. Returns `None` if the file does not exist.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Lock>, PinError> {
    // The format around the tools needs space too. A file over twice the limit is not ours.
    let most = u64::try_from(Lock::MAX_BYTES).unwrap_or(u64::MAX).saturating_mul(2);
    let Some(text) = state::read(path, most)? else { return Ok(None) };
    let lock = Lock::parse(&text);
    lock.map(Some).map_err(|error| PinError::Broken { path: path.to_owned(), error })
}

/// Changes the pins in a file under a lock, so that no other process changes it meanwhile. Creates
/// the file if it does not exist. Waits for the lock up to `patience`. Returns the new pins.
///
/// # Errors
///
/// [`PinError`]; the file is then unchanged.
pub fn update(
    path: &Path,
    patience: Duration,
    change: impl FnOnce(&mut Lock) -> Result<(), LockFull>,
) -> Result<Lock, PinError> {
    let _lock = state::lock_directory(path, patience)?;
    let before = read(path)?;
    let mut lock = before.clone();
    change(&mut lock).map_err(|error| PinError::Full { path: path.to_owned(), error })?;
    // An unchanged file is not written, so that other sessions need not read it again.
    if lock != before || !path.exists() {
        state::replace(path, lock.to_string().as_bytes())?;
    }
    Ok(lock)
}

/// Returns a short hash for use in file names.
pub(super) fn mark(bytes: &[u8]) -> String {
    // FNV-1a is enough: an attacker gains nothing from two paths with the same hash.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
