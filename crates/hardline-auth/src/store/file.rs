//! Tokens in files that only their owner can read.
//!
//! Invariants:
//! - A file is readable only by its owner from the moment it exists, and so is its directory.
//! - A file is replaced atomically: a reader sees the old contents or the new ones.
//! - A symbolic link in place of a file is not followed.
//! - Before a file that others could read is used, its permissions are restricted.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{TokenKey, TokenStore, read_file};
use crate::random;
use crate::secret::Secret;

/// Stores tokens in a directory, one file per server.
#[derive(Clone, Debug)]
pub struct FileStore {
    directory: PathBuf,
}

/// The contents of a file.
#[derive(Deserialize, Serialize)]
struct Content {
    /// Address of the server, for a person who looks into the directory.
    server: String,
    credentials: Secret,
}

impl FileStore {
    /// Creates a store in this directory, which is created on demand.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    fn path(&self, key: &TokenKey) -> PathBuf {
        self.directory.join(format!("{}.json", key.digest()))
    }

    fn replace(&self, key: &TokenKey, text: &str) -> io::Result<()> {
        make_directory(&self.directory)?;
        // A random name cannot be prepared by another user as a link.
        let name = random::token().map_err(io::Error::other)?;
        let temporary = self.directory.join(format!(".{name}.tmp"));
        let written = hardline_transport::file::create_new(&temporary)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

impl TokenStore for FileStore {
    fn load(&self, key: &TokenKey) -> Result<Option<Secret>, String> {
        let path = self.path(key);
        let failed =
            |error: io::Error| format!("cannot read tokens from {}: {error}", path.display());
        let Some(file) = open(&path).map_err(failed)? else { return Ok(None) };
        match read(file, key) {
            Ok(credentials) => Ok(Some(credentials)),
            Err(why) => Err(format!(
                "{} does not contain a valid login ({why}): log in again, which replaces it",
                path.display()
            )),
        }
    }

    fn is_damaged(&self, key: &TokenKey) -> bool {
        let path = self.path(key);
        match open(&path) {
            // A file of another user may be an attack, and is not ours to replace.
            Ok(Some(file)) => is_ours(&file, &self.directory) && read(file, key).is_err(),
            Ok(None) | Err(_) => false,
        }
    }

    fn save(&self, key: &TokenKey, text: &Secret) -> Result<(), String> {
        let content = Content { server: key.server().to_owned(), credentials: text.clone() };
        let text = serde_json::to_string(&content).map_err(|_| "cannot write JSON".to_owned())?;
        self.replace(key, &text)
            .map_err(|error| format!("cannot save tokens in {}: {error}", self.directory.display()))
    }

    fn remove(&self, key: &TokenKey) -> Result<bool, String> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(format!("cannot remove {}: {error}", path.display())),
        }
    }

    fn lock_file(&self, key: &TokenKey) -> Option<PathBuf> {
        lock_file(&self.directory, key)
    }
}

/// Reads the credentials for a server, or the reason for which there are none. The reason never quotes the
/// file, which could contain part of a token.
fn read(file: File, key: &TokenKey) -> Result<Secret, String> {
    let text = read_file(file).map_err(|error| error.to_string())?;
    let content: Content = serde_json::from_str(&text).map_err(|_| "it is damaged".to_owned())?;
    if content.server == key.server() {
        Ok(content.credentials)
    } else {
        Err("it belongs to another server".to_owned())
    }
}

/// Returns a file to lock for a server. Creates the directory on demand.
pub(super) fn lock_file(directory: &Path, key: &TokenKey) -> Option<PathBuf> {
    make_directory(directory).ok()?;
    Some(directory.join(format!("{}.lock", key.digest())))
}

#[cfg(unix)]
fn make_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let found = fs::symlink_metadata(path)?;
    // The user may have replaced the directory by a link; then the target's permissions count.
    let found = if found.is_symlink() { fs::metadata(path)? } else { found };
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Opens a file and restricts its permissions to the owner. Returns `None` if it does not exist.
fn open(path: &Path) -> io::Result<Option<File>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(io::Error::other("it is not a file of its own")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = hardline_transport::file::open(path)?;
    restrict(&file, path)?;
    Ok(Some(file))
}

/// Removes the permissions of other users.
#[cfg(unix)]
fn restrict(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let found = file.metadata()?;
    let there = fs::symlink_metadata(path)?;
    // A rename between the check and the open could have put another file here.
    if (found.dev(), found.ino()) != (there.dev(), there.ino()) {
        return Err(io::Error::other("it was replaced while it was opened"));
    }
    if found.mode() & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "other users could read this token file; its permissions are restricted now");
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Returns true if the file has the same owner as the directory.
#[cfg(unix)]
fn is_ours(file: &File, directory: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |found: io::Result<fs::Metadata>| found.ok().map(|it| it.uid());
    owner(file.metadata()).is_some() && owner(file.metadata()) == owner(fs::metadata(directory))
}

#[cfg(not(unix))]
fn is_ours(_file: &File, _directory: &Path) -> bool {
    true
}

#[cfg(not(unix))]
fn restrict(_file: &File, _path: &Path) -> io::Result<()> {
    Ok(())
}
