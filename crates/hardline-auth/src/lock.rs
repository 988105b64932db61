//! An advisory file lock, so that only one process at a time refreshes a token.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

/// Time limit for acquiring the lock: longer than a refresh may take.
const WAIT: Duration = Duration::from_secs(30);
/// Interval between two attempts to acquire the lock.
const INTERVAL: Duration = Duration::from_millis(25);

/// A lock that is released on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Acquires the lock. Returns `None` if that fails: a concurrent refresh is bad, but better than none.
pub(crate) async fn lock(path: &Path) -> Option<Lock> {
    let file = open(path).ok()?;
    let end = Instant::now() + WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Some(Lock { _file: file }),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                tokio::time::sleep(INTERVAL).await;
            }
            Err(_) => return None,
        }
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    hardline_transport::file::open_with(&mut options, path)
}
