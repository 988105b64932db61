//! Small files that several processes share: read whole, replaced whole.
//!
//! Invariants:
//! - A file is replaced as a whole or not at all.
//! - Who changes one holds the others off: see [`alone`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hardline_transport::file;
use thiserror::Error;

/// Why a file cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StateError {
    /// It cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It is not what it should be.
    #[error("{} is broken: {what}; mend it, or delete it to begin anew", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// It cannot be written.
    #[error("{} cannot be written: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Somebody else writes it all the time.
    #[error("{} is being written by another process", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

/// Holds other processes off, until it is dropped.
#[derive(Debug)]
#[must_use = "others are held off only as long as it is there"]
pub struct Alone {
    _directory: Option<File>,
}

/// Reads a file, if there is one.
///
/// # Errors
///
/// [`StateError::Read`], also if it is longer than `max_bytes`.
#[expect(clippy::disallowed_methods, reason = "no more is read than it may have")]
pub fn read(path: &Path, max_bytes: u64) -> Result<Option<String>, StateError> {
    let failed = |error| StateError::Read { path: path.to_owned(), error };
    let file = match file::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    file.take(max_bytes + 1).read_to_string(&mut text).map_err(failed)?;
    if max_bytes < u64::try_from(text.len()).unwrap_or(u64::MAX) {
        return Err(failed(io::Error::other("it is too long")));
    }
    Ok(Some(text))
}

/// Makes the directory of a file, and holds others off that ask for a file in the same one. Waits for
/// them up to `patience`.
///
/// # Errors
///
/// [`StateError::Busy`], and [`StateError::Write`] if there can be no such directory.
pub fn alone(path: &Path, patience: Duration) -> Result<Alone, StateError> {
    const STEP: Duration = Duration::from_millis(5);
    let directory = directory(path);
    make_directory(&directory)
        .map_err(|error| StateError::Write { path: path.to_owned(), error })?;
    // Where directories cannot be locked, the last to write wins.
    let Ok(file) = file::open_directory(&directory) else { return Ok(Alone { _directory: None }) };
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Alone { _directory: Some(file) }),
            Err(fs::TryLockError::Error(_)) => return Ok(Alone { _directory: None }),
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

/// Puts a whole file in the place of another, whose permissions it gets. A link stays one.
///
/// # Errors
///
/// [`StateError::Write`], and the file is as it was.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), StateError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = directory(&real).join(format!(".{name}.{}.tmp", std::process::id()));
    let written = write(&draft, content).and_then(|()| {
        if let Ok(before) = fs::metadata(&real) {
            fs::set_permissions(&draft, before.permissions())?;
        }
        fs::rename(&draft, &real)
    });
    if written.is_err() {
        // What is left of it is of no use to anybody.
        let _ = fs::remove_file(&draft);
    }
    written.map_err(|error| StateError::Write { path: path.to_owned(), error })
}

fn write(draft: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = file::open_with(options.write(true).create(true).truncate(true), draft)?;
    file.write_all(content)?;
    file.sync_all()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Makes a directory that only its owner can look into.
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
