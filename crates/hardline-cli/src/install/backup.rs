//! What a configuration was before: `backups` in the state directory.
//!
//! Each file that was changed has a folder there, with its original in `original` and a `record.json`
//! about it. They can hold secrets, as the file can, so nobody but their owner may read them.
//!
//! Invariants:
//! - They are written before the file itself is. A crash in between leaves a backup of a file that did
//!   not change, which does no harm: the record says which contents it is about.
//! - The original is the file without us in it, also after several installations. What was wrapped by
//!   hand before the first stays in it as it was, until somebody undoes it by name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use hardline_transport::file;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file::{create_private_folder, read_all, write_private};
use crate::place;

/// What is known of a file that was changed.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Record {
    /// Which file, for people; the folder is found by its path.
    pub(crate) path: String,
    /// What the original hashes to.
    original_sha256: String,
    /// What we wrote hashes to.
    written_sha256: String,
    /// The servers that had no list of arguments, by their keys.
    pub(crate) added_args: Vec<Vec<String>>,
    /// The servers that were wrapped before we came, by their keys: they are not ours to undo.
    #[serde(default)]
    pub(crate) by_hand: Vec<Vec<String>>,
}

/// All backups, locked against other processes.
#[derive(Debug)]
pub(crate) struct Backups {
    folder: PathBuf,
    /// Held until the end.
    _lock: Option<File>,
}

impl Backups {
    /// Opens them for writing, and waits for another process that is at it.
    pub(crate) fn open() -> Result<Self> {
        let folder = folder()?;
        create_private_folder(&folder)?;
        let path = folder.join("lock");
        let name = || format!("cannot lock {}", path.display());
        let mut options = OpenOptions::new();
        let lock = file::open_with(options.create(true).append(true), &path).with_context(name)?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            let _ = io::Write::write_all(
                &mut io::stderr(),
                b"hardline: waiting for another hardline that changes configurations\n",
            );
        }
        match lock.lock() {
            Ok(()) => Ok(Self { folder, _lock: Some(lock) }),
            // Not every file system has locks.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Self { folder, _lock: None })
            }
            Err(error) => Err(error).with_context(name),
        }
    }

    /// Opens them to look at, and writes nothing.
    pub(crate) fn look() -> Result<Self> {
        Ok(Self { folder: folder()?, _lock: None })
    }

    /// Where the backup of a file is.
    pub(crate) fn folder_of(&self, path: &Path) -> PathBuf {
        let hash = sha256(path.as_os_str().as_encoded_bytes());
        let hash = hash.get(..16).unwrap_or(&hash);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.folder.join(format!("{name}-{hash}"))
    }

    /// What is known of a file. Whatever is no record is as good as none.
    pub(crate) fn record(&self, path: &Path) -> Option<Record> {
        let bytes = file::open(&self.folder_of(path).join("record.json")).ok();
        serde_json::from_slice(&bytes.and_then(|file| read_all(file).ok())?).ok()
    }

    /// The original of a file, if the file is what we wrote.
    pub(crate) fn original(&self, path: &Path, current: &[u8]) -> Option<Vec<u8>> {
        let record = self.record(path)?;
        if record.written_sha256 != sha256(current) {
            return None;
        }
        let original = read_all(file::open(&self.folder_of(path).join("original")).ok()?).ok()?;
        (record.original_sha256 == sha256(&original)).then_some(original)
    }

    /// Remembers what a file was and what it is about to become.
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

    /// Forgets a file that has nothing of us in it any more.
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
    let state = place::state().ok_or_else(|| {
        anyhow!("HOME is not set, so there is no place for backups; set HOME or XDG_STATE_HOME")
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
