//! Lock on the database's file, across processes.
//!
//! A process that writes to the database holds the lock shared. A process that creates the database
//! or moves it aside holds it exclusively. So no process writes to a file that is no longer the
//! database. The kernel releases the lock of a process that dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use hardline_transport::file;

/// Interval between attempts to take the lock.
const INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct FileLock {
    file: File,
}

/// A held lock, released on drop.
#[derive(Debug)]
pub(super) struct FileLockGuard<'a> {
    lock: Option<&'a FileLock>,
}

impl FileLock {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        super::keep_private(&mut options);
        Ok(Self { file: file::open_with(&mut options, path)? })
    }

    /// Takes the lock shared.
    pub(super) fn lock_shared(&self, patience: Duration) -> io::Result<FileLockGuard<'_>> {
        self.wait(patience, File::try_lock_shared)
    }

    /// Takes the lock exclusively.
    pub(super) fn lock_exclusive(&self, patience: Duration) -> io::Result<FileLockGuard<'_>> {
        self.wait(patience, File::try_lock)
    }

    fn wait(
        &self,
        patience: Duration,
        lock: fn(&File) -> Result<(), TryLockError>,
    ) -> io::Result<FileLockGuard<'_>> {
        let mut waited = Duration::ZERO;
        loop {
            match lock(&self.file) {
                Ok(()) => return Ok(FileLockGuard { lock: Some(self) }),
                Err(TryLockError::WouldBlock) if waited < patience => {
                    sleep(INTERVAL);
                    waited += INTERVAL;
                }
                Err(TryLockError::WouldBlock) => {
                    let error = "another process holds its lock for too long";
                    return Err(io::Error::new(ErrorKind::TimedOut, error));
                }
                // Some network file systems have no locks. Every process then works without one.
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                    return Ok(FileLockGuard { lock: None });
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Drop for FileLockGuard<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.lock {
            // An error does no harm: the lock ends when the file is closed.
            let _ = lock.file.unlock();
        }
    }
}
