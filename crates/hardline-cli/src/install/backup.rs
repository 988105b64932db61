//! Backups of configuration files: `backups` in the state directory.
//!
//! Each changed file has a folder there, with its contents in `original` and a `record.json` about
//! it. They can contain secrets, as the file can, so only their owner may read them.
//!
//! Invariants:
//! - A backup is written before the file. A crash in between leaves a backup of an unchanged file,
//!   which does no harm: the record has the hash of the contents that it belongs to.
//! - The original is the file without Hardline, also after several installations. Entries that were
//!   wrapped by hand before the first one stay in it, until the user uninstalls them by name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use hardline_transport::file;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file::{create_private_folder, read_all, write_private};
use crate::directory;

/// Record of a changed file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Record {
    /// Path of the file, for people; the folder is found by the hash of the path.
    pub(crate) path: String,
    /// Hash of the original.
    original_sha256: String,
    /// Hash of the contents that we wrote.
    written_sha256: String,
    /// Servers that had no list of arguments, by their keys.
    pub(crate) added_args: Vec<Vec<String>>,
    /// Servers that the user wrapped before `install`, by their keys: uninstall keeps them.
    #[serde(default)]
    pub(crate) by_hand: Vec<Vec<String>>,
}

/// All backups, locked against other processes.
#[derive(Debug)]
pub(crate) struct Backups {
    folder: PathBuf,
    /// Held until the end of the command.
    _lock: Option<File>,
}

impl Backups {
    /// Opens the backups for writing. Waits for other hardline processes that write them.
    pub(crate) fn open() -> Result<Self> {
        let folder = folder()?;
        create_private_folder(&folder)?;
        let path = folder.join("lock");
        let name = || format!("cannot lock {}", path.display());
        let mut options = OpenOptions::new();
        let lock = file::open_with(options.create(true).append(true), &path).with_context(name)?;
        // Tell the user before blocking, which may take long.
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            let _ = io::Write::write_all(
                &mut io::stderr(),
                b"hardline: waiting for another hardline process that changes configurations\n",
            );
        }
        match lock.lock() {
            Ok(()) => Ok(Self { folder, _lock: Some(lock) }),
            // Some file systems have no locks; a single user rarely runs two installs at once.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Self { folder, _lock: None })
            }
            Err(error) => Err(error).with_context(name),
        }
    }

    /// Opens the backups for reading only.
    pub(crate) fn look() -> Result<Self> {
        Ok(Self { folder: folder()?, _lock: None })
    }

    /// Returns the folder of a file's backup.
    pub(crate) fn folder_of(&self, path: &Path) -> PathBuf {
        let hash = sha256(path.as_os_str().as_encoded_bytes());
        // Files of different directories can have the same name.
        let hash = hash.get(..16).unwrap_or(&hash);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.folder.join(format!("{name}-{hash}"))
    }

    /// Returns the record of a file. An unreadable record counts as missing.
    pub(crate) fn record(&self, path: &Path) -> Option<Record> {
        let bytes = file::open(&self.folder_of(path).join("record.json")).ok();
        serde_json::from_slice(&bytes.and_then(|file| read_all(file).ok())?).ok()
    }

    /// Returns the original of a file, if the file still has the contents that we wrote.
    pub(crate) fn original(&self, path: &Path, current: &[u8]) -> Option<Vec<u8>> {
        let record = self.record(path)?;
        // The user has edited the file since, so the backup would undo those edits.
        if record.written_sha256 != sha256(current) {
            return None;
        }
        let original = read_all(file::open(&self.folder_of(path).join("original")).ok()?).ok()?;
        (record.original_sha256 == sha256(&original)).then_some(original)
    }

    /// Stores the original of a file and a record of its new contents.
    pub(crate) fn keep(
        &self,
        path: &Path,
        original: &[u8],
        written: &[u8],
        added_args: Vec<Vec<String>>,
        by_hand: Vec<Vec<String>>,
    ) -> Result<()> {
        let folder = self.folder_of(path);
        create_private_folder(&folder)?;
        // The record is written last: without it, the backup is ignored.
        write_private(&folder.join("original"), original)?;
        let record = Record {
            path: path.display().to_string(),
            original_sha256: sha256(original),
            written_sha256: sha256(written),
            added_args,
            by_hand,
        };
        let text = serde_json::to_vec_pretty(&record).context("cannot write a record")?;
        write_private(&folder.join("record.json"), &text)
    }

    /// Deletes the backup of a file that has no entries of Hardline any more.
    pub(crate) fn forget(&self, path: &Path) -> Result<()> {
        let folder = self.folder_of(path);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", folder.display()))
            }
            _ => Ok(()),
        }
    }
}

fn folder() -> Result<PathBuf> {
    let state = directory::state().ok_or_else(|| {
        anyhow!("HOME is not set, so backups have no directory; set HOME or XDG_STATE_HOME")
    })?;
    Ok(state.join("backups"))
}

fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
