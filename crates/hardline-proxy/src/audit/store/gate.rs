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
pub(super) struct Gate {
    file: File,
}

/// A held lock, released on drop.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    gate: Option<&'a Gate>,
}

impl Gate {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        super::keep_private(&mut options);
        Ok(Self { file: file::open_with(&mut options, path)? })
    }

    /// Takes the lock shared.
    pub(super) fn pass(&self, patience: Duration) -> io::Result<Pass<'_>> {
        self.wait(patience, File::try_lock_shared)
    }

    /// Takes the lock exclusively.
    pub(super) fn pass_alone(&self, patience: Duration) -> io::Result<Pass<'_>> {
        self.wait(patience, File::try_lock)
    }

    fn wait(
        &self,
        patience: Duration,
        lock: fn(&File) -> Result<(), TryLockError>,
    ) -> io::Result<Pass<'_>> {
        let mut waited = Duration::ZERO;
        loop {
            match lock(&self.file) {
                Ok(()) => return Ok(Pass { gate: Some(self) }),
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
                    return Ok(Pass { gate: None });
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.gate {
            // An error does no harm: the lock ends when the file is closed.
            let _ = gate.file.unlock();
        }
    }
}
