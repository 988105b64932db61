//! One file of pins: read, and replaced.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hardline_guard::pin::{Lock, LockError, LockFull};
use thiserror::Error;

use crate::state::{self, StateError};

/// Why pins cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PinError {
    /// The file cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// It holds no pins.
    #[error("{} is broken: {error}; mend it, or delete it and the tools are pinned again", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: LockError,
    },
    /// It is the file of another server.
    #[error("{} has no pins of the server that it is named after; move it away, and the tools are pinned again", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// There is no room for more pins.
    #[error("{}: {error}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// Why.
        error: LockFull,
    },
}

/// The version of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// A file that was replaced is another one, however quickly it was.
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

/// Reads the pins in a file. If there is none, there are none.
///
/// # Errors
///
/// [`PinError`], also for a file with nothing in it: emptying one would have all tools pinned anew.
pub fn read(path: &Path) -> Result<Lock, PinError> {
    Ok(read_if_there(path)?.unwrap_or_default())
}

/// Reads the pins in a file, if there is one.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Lock>, PinError> {
    // What frames the tools comes on top; what is more than that is no file of ours.
    let most = u64::try_from(Lock::MAX_BYTES).unwrap_or(u64::MAX).saturating_mul(2);
    let Some(text) = state::read(path, most)? else { return Ok(None) };
    let lock = Lock::parse(&text);
    lock.map(Some).map_err(|error| PinError::Broken { path: path.to_owned(), error })
}

/// Changes the pins in a file, which is made if there is none: read, changed and replaced, while no
/// other process does the same. Waits for others up to `patience`. Returns what it holds now.
///
/// # Errors
///
/// [`PinError`], and the file is as it was.
pub fn update(
    path: &Path,
    patience: Duration,
    change: impl FnOnce(&mut Lock) -> Result<(), LockFull>,
) -> Result<Lock, PinError> {
    let _alone = state::alone(path, patience)?;
    let before = read(path)?;
    let mut lock = before.clone();
    change(&mut lock).map_err(|error| PinError::Full { path: path.to_owned(), error })?;
    if lock != before || !path.exists() {
        state::replace(path, lock.to_string().as_bytes())?;
    }
    Ok(lock)
}

/// Returns a short name for bytes.
pub(super) fn mark(bytes: &[u8]) -> String {
    // FNV-1a: there is nothing to gain by two paths with one mark.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
