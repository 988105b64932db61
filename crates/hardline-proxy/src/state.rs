//! Small files that several processes share. They are read whole and replaced whole.
//!
//! Invariants:
//! - A file is replaced completely or not at all.
//! - A process that changes a file holds the lock on its directory: see [`lock_directory`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hardline_transport::file;
use thiserror::Error;

/// Error of reading or writing a shared file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StateError {
    /// The file cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The content of the file is invalid.
    #[error("{} is broken: {what}; repair it, or delete it to start over", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        what: String,
    },
    /// The file cannot be written.
    #[error("{} cannot be written: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// Another process holds the lock for too long.
    #[error("{} is locked by another process; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

/// Lock on the directory of a shared file. Released on drop.
#[derive(Debug)]
#[must_use = "the lock is released when this value is dropped"]
pub struct DirectoryLock {
    _directory: Option<File>,
}

/// Reads a file. Returns `None` if it does not exist.
///
/// # Errors
///
/// [`StateError::Read`], also if the file is longer than `max_bytes`.
#[expect(clippy::disallowed_methods, reason = "`take` bounds the read")]
pub fn read(path: &Path, max_bytes: u64) -> Result<Option<String>, StateError> {
    let failed = |error| StateError::Read { path: path.to_owned(), error };
    let file = match file::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    // One byte more than allowed, so that a file over the limit is noticed and not cut.
    file.take(max_bytes + 1).read_to_string(&mut text).map_err(failed)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > max_bytes {
        return Err(failed(io::Error::other(format!("it is longer than {max_bytes} bytes"))));
    }
    Ok(Some(text))
}

/// Creates the directory of `path` if needed and locks it, so that no other process changes a file
/// in it. Waits up to `patience` for the lock.
///
/// # Errors
///
/// [`StateError::Busy`] on a timeout, [`StateError::Write`] if the directory cannot be created.
pub fn lock_directory(path: &Path, patience: Duration) -> Result<DirectoryLock, StateError> {
    const STEP: Duration = Duration::from_millis(5);
    let directory = directory(path);
    make_directory(&directory)
        .map_err(|error| StateError::Write { path: path.to_owned(), error })?;
    // Where directories cannot be locked, the last writer wins.
    let Ok(file) = file::open_directory(&directory) else {
        return Ok(DirectoryLock { _directory: None });
    };
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(DirectoryLock { _directory: Some(file) }),
            // Some network file systems have no locks. Working without one is better than failing.
            Err(fs::TryLockError::Error(_)) => return Ok(DirectoryLock { _directory: None }),
            Err(fs::TryLockError::WouldBlock) if patience <= waited => {
                return Err(StateError::Busy { path: path.to_owned() });
            }
            Err(fs::TryLockError::WouldBlock) => {
                std::thread::sleep(STEP);
                waited += STEP;
            }
        }
    }
}

/// Replaces a file atomically and keeps its permissions. A symbolic link is followed, not replaced.
///
/// # Errors
///
/// [`StateError::Write`]; the file is then unchanged.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), StateError> {
    // Renaming over a link would replace the link by a file.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // In the same directory, because a rename is atomic only within one file system.
    let draft = directory(&real).join(format!(".{name}.{}.tmp", std::process::id()));
    let written = write(&draft, content).and_then(|()| {
        if let Ok(before) = fs::metadata(&real) {
            fs::set_permissions(&draft, before.permissions())?;
        }
        fs::rename(&draft, &real)
    });
    if written.is_err() {
        // An incomplete draft must not stay behind. If removing it fails, it does no harm.
        let _ = fs::remove_file(&draft);
    }
    written.map_err(|error| StateError::Write { path: path.to_owned(), error })
}

fn write(draft: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = file::open_with(options.write(true).create(true).truncate(true), draft)?;
    file.write_all(content)?;
    // Without it, a crash after the rename could leave an empty file.
    file.sync_all()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Creates a directory, and those above it, that only its owner can read.
fn make_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
