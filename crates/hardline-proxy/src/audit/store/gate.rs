//! Who may do what to the database's file, across processes.
//!
//! Whoever writes to the database passes with others; whoever makes it or moves it aside passes alone.
//! So nobody writes to a file that is no longer the database. The kernel takes a pass back from a process
//! that dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use hardline_transport::file;

/// How often it is tried.
const INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Gate {
    file: File,
}

/// A pass, given back when it is dropped.
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

    /// A pass with others.
    pub(super) fn pass(&self, patience: Duration) -> io::Result<Pass<'_>> {
        self.wait(patience, File::try_lock_shared)
    }

    /// A pass alone.
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
                    return Err(io::Error::new(ErrorKind::TimedOut, "others do not let us pass"));
                }
                // Some network file systems have no locks; then nobody has a pass.
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
            // It ends with the file otherwise.
            let _ = gate.file.unlock();
        }
    }
}
