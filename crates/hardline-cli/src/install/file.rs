//! Files of other programs: read within a limit, replaced completely or not at all.
//!
//! Invariants:
//! - A file has its old or its new contents at every moment, even if the process or the machine
//!   dies: the new contents are written beside it, and renamed when they are on disk.
//! - A link stays a link; its target is replaced.
//! - The new file has the permissions of the old one and, if the system allows it, its owner. It is
//!   never readable for more users, not even while it is written.
//! - A read-only file is not replaced, even if its directory would allow it.
//! - The temporary file has one fixed name. If a run is killed, the next run removes it.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hardline_transport::file;

/// Limit on the size of a configuration file.
///
/// Bounds memory. Some clients store their history in the same file, which takes megabytes. A
/// larger file is refused.
const MAX_BYTES: u64 = 64 << 20;

/// A file and its contents when it was read.
#[derive(Debug)]
pub(crate) struct Original {
    /// Path with all links resolved.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    metadata: Metadata,
}

/// Outcome of replacing a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Replaced {
    Done,
    /// Another program wrote the file after it was read. It was left alone.
    Changed,
}

impl Original {
    /// Reads a file. Returns `None` if it does not exist.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    bail!("it is a link to a file that does not exist");
                }
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let file = file::open(&path)?;
        let metadata = file.metadata()?;
        let bytes = read_all(file)?;
        Ok(Some(Self { path, bytes, metadata }))
    }

    /// Fails with the reason if the file must not be replaced.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.metadata.permissions().readonly() {
            bail!("it is read-only; make it writable, or change its source");
        }
        // The directory may belong to the user and the file to another one.
        let mut options = OpenOptions::new();
        file::open_with(options.append(true), &self.path).context("cannot write it")?;
        let folder = self.folder()?;
        // The rename needs a writable directory.
        let is_readonly = fs::metadata(folder)?.permissions().readonly();
        if is_readonly {
            let folder = folder.display();
            bail!(
                "its directory {folder} is read-only; make it writable, or change the source of the file"
            );
        }
        Ok(())
    }

    /// Replaces the contents of the file, unless it has changed since it was read.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<Replaced> {
        self.check_writable()?;
        // In the same directory, because a rename across file systems is not atomic.
        let beside = self.beside()?;
        remove_leftover(&beside)?;
        let outcome = self.write_beside(&beside, bytes).and_then(|()| {
            // The last check before the rename keeps the race with other writers short.
            if read_all(file::open(&self.path)?)? != self.bytes {
                return Ok(Replaced::Changed);
            }
            fs::rename(&beside, &self.path).context("cannot replace it")?;
            Ok(Replaced::Done)
        });
        if !matches!(outcome, Ok(Replaced::Done)) {
            // Fails if the new file was never created.
            let _ = fs::remove_file(&beside);
        }
        let outcome = outcome?;
        sync_folder(self.folder()?);
        Ok(outcome)
    }

    /// Removes a temporary file that a killed run left behind.
    pub(crate) fn clean(&self) -> Result<()> {
        remove_leftover(&self.beside()?)
    }

    fn write_beside(&self, beside: &Path, bytes: &[u8]) -> Result<()> {
        let name = || format!("cannot write {}", beside.display());
        let mut file = file::create_new(beside).with_context(name)?;
        file.write_all(bytes).with_context(name)?;
        // The owner first: changing it can clear permission bits.
        own(&file, &self.metadata);
        file.set_permissions(self.metadata.permissions()).with_context(name)?;
        file.sync_all().with_context(name)
    }

    fn folder(&self) -> Result<&Path> {
        self.path.parent().context("it has no directory")
    }

    /// Returns the path of the temporary file for new contents.
    fn beside(&self) -> Result<PathBuf> {
        let mut name = OsString::from(".");
        name.push(self.path.file_name().context("it has no name")?);
        name.push(".hardline-new");
        Ok(self.folder()?.join(name))
    }
}

/// Writes a file of our own that only its owner can read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = || format!("cannot write {}", path.display());
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    remove_leftover(&beside)?;
    let mut file = file::create_new(&beside).with_context(name)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).with_context(name)?;
    fs::rename(&beside, path).with_context(name)?;
    path.parent().map(sync_folder);
    Ok(())
}

/// Creates a directory of our own that only its owner can enter.
pub(crate) fn create_private_folder(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).with_context(|| format!("cannot create {}", path.display()))
}

/// Reads a file of at most [`MAX_BYTES`].
pub(crate) fn read_all(file: File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    #[expect(clippy::disallowed_methods, reason = "the size is limited")]
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("it is larger than {} MiB", MAX_BYTES >> 20);
    }
    Ok(bytes)
}

fn remove_leftover(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Gives a file the owner of another one. Only an administrator can, and only then it is needed.
#[cfg(unix)]
fn own(file: &File, like: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let is_same = file.metadata().is_ok_and(|it| (it.uid(), it.gid()) == (like.uid(), like.gid()));
    if !is_same && fchown(file, Some(like.uid()), Some(like.gid())).is_err() {
        // The group alone may be allowed, if the user is a member of it.
        let _ = fchown(file, None, Some(like.gid()));
    }
}

#[cfg(not(unix))]
fn own(_: &File, _: &Metadata) {}

/// Flushes a directory, so that a rename is on disk. Not every file system supports it.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    if let Ok(folder) = file::open_directory(folder) {
        let _ = folder.sync_all();
    }
    #[cfg(not(unix))]
    let _ = folder;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        fs::write(&path, "old").unwrap();
        let original = Original::read(&path).unwrap().unwrap();
        fs::write(&path, "theirs").unwrap();
        assert_eq!(original.replace(b"ours").unwrap(), Replaced::Changed);
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");

        let original = Original::read(&path).unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        assert!(original.replace(b"ours").is_err(), "what was deleted stays so");
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_run_has_left_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        fs::write(&path, "old").unwrap();
        let original = Original::read(&path).unwrap().unwrap();
        for _ in 0..2 {
            fs::write(original.beside().unwrap(), "half").unwrap();
            original.clean().unwrap();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        fs::write(original.beside().unwrap(), "half").unwrap();
        assert_eq!(original.replace(b"new").unwrap(), Replaced::Done);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
