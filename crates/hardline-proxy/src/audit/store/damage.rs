//! Replacement of a damaged database: it is moved aside, and the next write creates a new one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::file_lock::FileLock;
use super::{BUSY, Opened, StoreError, beside, connect};

/// Moves a damaged database aside, unless another process did so already. Returns its new path.
pub(in super::super) fn mend(path: &Path, now: i64) -> Result<Option<PathBuf>, StoreError> {
    let lock = FileLock::open(&beside(path, ".lock"))?;
    let _guard = lock.lock_exclusive(BUSY * 4)?;
    // Checked under the exclusive lock: another process may have replaced the database meanwhile.
    if !is_broken(path)? {
        return Ok(None);
    }
    let aside = free_name(path, now);
    fs::rename(path, &aside)?;
    // A WAL that stays behind would be applied to the new database.
    for end in ["-wal", "-shm"] {
        match fs::rename(beside(path, end), beside(&aside, end)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(Some(aside))
}

/// Checks the whole database. Its size is bounded by the retention.
fn is_broken(path: &Path) -> Result<bool, StoreError> {
    let checked = connect(path).and_then(|opened| match opened {
        None => Ok("ok".to_owned()),
        Some(Opened { connection, .. }) => {
            Ok(connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))?)
        }
    });
    match checked {
        Ok(result) => Ok(result != "ok"),
        Err(error) if error.is_damage() => Ok(true),
        Err(error) => Err(error),
    }
}

fn free_name(path: &Path, now: i64) -> PathBuf {
    let mut at = now;
    loop {
        let aside = beside(path, &format!(".corrupt-{at}"));
        if !fs::exists(&aside).unwrap_or(false) {
            return aside;
        }
        at += 1;
    }
}
