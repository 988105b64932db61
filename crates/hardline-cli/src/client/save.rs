//! Saves content that a terminal cannot show to files.
//!
//! Invariants:
//! - No existing file is overwritten and no link is followed: every file is new.
//! - No part of a file name comes from the server. The name consists of the requested tool or
//!   resource (its letters and digits), a number, and an extension from a table of content types.
//! - Only its owner can read it.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hardline_transport::file;

use super::Format;
use crate::terminal::complain;

/// Servers write base64 with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Limit on the number in a file name.
const MAX_NUMBER: u32 = 100_000;
/// Limit on the files of one result: a server could fill a disk with empty ones.
const MAX_FILES: usize = 100;
/// Limit on the part of a file name that is not fixed, in characters.
const MAX_NAME: usize = 40;

/// File extensions of content types. Other types get `.bin`, which no program opens.
const ENDINGS: &[(&str, &str)] = &[
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/jpg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/avif", "avif"),
    ("image/bmp", "bmp"),
    ("image/tiff", "tiff"),
    ("image/svg+xml", "svg"),
    ("image/x-icon", "ico"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/wave", "wav"),
    ("audio/mpeg", "mp3"),
    ("audio/mp3", "mp3"),
    ("audio/mp4", "m4a"),
    ("audio/aac", "aac"),
    ("audio/ogg", "ogg"),
    ("audio/opus", "opus"),
    ("audio/flac", "flac"),
    ("audio/webm", "webm"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
    ("application/pdf", "pdf"),
    ("application/json", "json"),
    ("application/zip", "zip"),
    ("application/gzip", "gz"),
    ("text/plain", "txt"),
    ("text/csv", "csv"),
    ("text/markdown", "md"),
];

/// Directory and name for files, and counts.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    name: String,
    /// Next number to try for a free name.
    next: u32,
    /// Counts of saved files, of files over the limit, and of failures.
    saved: usize,
    left_out: usize,
    failed: usize,
}

impl Folder {
    /// Saves to `folder`, which is created if needed, or to the temporary directory. `asked` is the
    /// tool or resource that gives the files their name.
    pub(super) fn new(folder: Option<&Path>, asked: &str) -> Self {
        let name: String = asked
            .chars()
            .take(MAX_NAME)
            .map(|char| if char.is_ascii_alphanumeric() { char } else { '_' })
            .collect();
        let name = if name.is_empty() { "content".to_owned() } else { name };
        match folder {
            Some(folder) => Self::at(folder.to_owned(), name),
            // The prefix tells the user who left the file in the temporary directory.
            None => Self::at(std::env::temp_dir(), format!("hardline-{name}")),
        }
    }

    fn at(path: PathBuf, name: String) -> Self {
        Self { path, name, next: 1, saved: 0, left_out: 0, failed: 0 }
    }

    /// Saves base64 content. Returns the path and the size, or `None` if the limit is reached.
    pub(super) fn save(&mut self, base64: &str, mime: &str) -> Option<Result<(PathBuf, usize)>> {
        // Checked before decoding, so that a flood costs no memory.
        if self.saved >= MAX_FILES {
            self.left_out += 1;
            return None;
        }
        let outcome = self.try_save(base64, mime);
        match &outcome {
            Ok(_) => self.saved += 1,
            Err(_) => self.failed += 1,
        }
        Some(outcome)
    }

    /// Returns a line about the files that were left out, if any were.
    pub(super) fn left_out(&self) -> Option<String> {
        let count = Some(self.left_out).filter(|it| *it > 0)?;
        Some(format!(
            "[{count} more: not saved, because a result may have at most {MAX_FILES} files]"
        ))
    }

    /// Prints a message if something was not saved. Returns true if everything was.
    pub(super) fn tell(&self) -> bool {
        let count = self.failed + self.left_out;
        if count > 0 {
            let of = count + self.saved;
            complain(&format!("{count} of {of} parts of the result could not be saved"));
        }
        count == 0
    }

    fn try_save(&mut self, base64: &str, mime: &str) -> Result<(PathBuf, usize)> {
        let bytes = decode(base64)?;
        fs::create_dir_all(&self.path)
            .with_context(|| format!("cannot create {}", self.path.display()))?;
        let ending = ending(mime);
        // Names of earlier runs are taken, so the next free number is searched.
        while self.next < MAX_NUMBER {
            let path = self.path.join(format!("{}-{}.{ending}", self.name, self.next));
            self.next += 1;
            match create(&path, &bytes) {
                Ok(()) => return Ok((path, bytes.len())),
                // Existing files are never overwritten.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot write {}", path.display()));
                }
            }
        }
        bail!("{} has too many files with this name", self.path.display());
    }
}

/// Creates the directory of `--save` and checks that it is writable, before the call: a call cannot
/// be undone.
///
/// # Errors
///
/// The directory is not writable, or nothing would be saved.
pub(super) fn prepare(folder: Option<&Path>, format: Format) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    if format == Format::Json {
        bail!("--save and --format json cannot be used together: the JSON includes all content");
    }
    fs::create_dir_all(folder)
        .with_context(|| format!("--save: cannot create {}", folder.display()))?;
    // Permissions alone do not tell if a directory is writable.
    let trial = folder.join(format!(".hardline-{}", std::process::id()));
    create(&trial, b"")
        .and_then(|()| fs::remove_file(&trial))
        .with_context(|| format!("--save: cannot write to {}", folder.display()))
}

/// Writes a new file.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    match create(path, bytes) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} already exists and is not overwritten; give another name", path.display())
        }
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
}

/// Decodes base64 with any padding and line breaks.
pub(super) fn decode(base64: &str) -> Result<Vec<u8>> {
    // Some encoders break their output into lines.
    let decoded = if base64.contains(|it: char| it.is_ascii_whitespace()) {
        BASE64.decode(base64.split_ascii_whitespace().collect::<String>())
    } else {
        BASE64.decode(base64)
    };
    decoded.map_err(|_| anyhow::anyhow!("it is not base64"))
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = file::create_new(path)?;
    let written = file.write_all(bytes);
    if written.is_err() {
        // A partial file would look like the whole content.
        let _ = fs::remove_file(path);
    }
    written
}

fn ending(mime: &str) -> &'static str {
    // Parameters such as `charset` do not matter for the extension.
    let essence = mime.split(';').next().unwrap_or_default().trim();
    let known = ENDINGS.iter().find(|(kind, _)| kind.eq_ignore_ascii_case(essence));
    known.map_or("bin", |(_, ending)| ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ours_and_no_file_is_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("new/place");
        let mut folder = Folder::new(Some(&place), "../../etc/päss wd");
        let (first, size) = folder.save("AAEC", "image/png; x=\"../y\"").unwrap().unwrap();
        assert_eq!((first, size), (place.join("______etc_p_ss_wd-1.png"), 3));
        let (second, _) = folder.save("AAE=\n", "IMAGE/JPEG").unwrap().unwrap();
        assert_eq!(second, place.join("______etc_p_ss_wd-2.jpg"));
        let mut again = Folder::new(Some(&place), "../../etc/päss wd");
        let (third, _) = again.save("AAE", "image/png").unwrap().unwrap();
        assert_eq!(third, place.join("______etc_p_ss_wd-2.png"));
        let (fourth, _) = again.save("", "../../x").unwrap().unwrap();
        assert_eq!(fourth, place.join("______etc_p_ss_wd-3.bin"));
        assert!(again.save("no base64!", "image/png").unwrap().is_err());
        assert!(write_new(&third, b"x").is_err());
        assert_eq!(fs::read(&third).unwrap(), [0, 1]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_and_others_cannot_read() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target");
        std::os::unix::fs::symlink(&target, directory.path().join("a-1.png")).unwrap();
        let mut folder = Folder::new(Some(directory.path()), "a");
        let (path, _) = folder.save("AAAA", "image/png").unwrap().unwrap();
        assert_eq!(path, directory.path().join("a-2.png"));
        assert!(!target.exists());
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_name_is_never_empty_nor_long() {
        assert_eq!(Folder::new(Some(Path::new("x")), "").name, "content");
        assert_eq!(Folder::new(None, &"x".repeat(999)).name.len(), MAX_NAME + "hardline-".len());
    }

    #[test]
    fn a_result_has_only_so_many_files() {
        let directory = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(Some(directory.path()), "a");
        for _ in 0..MAX_FILES {
            assert!(folder.left_out().is_none());
            folder.save("", "image/png").unwrap().unwrap();
        }
        assert!(folder.tell());
        assert!(folder.save("", "image/png").is_none() && folder.save("", "x").is_none());
        assert!(folder.left_out().unwrap().starts_with("[2 more: not saved"));
        assert!(!folder.tell());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), MAX_FILES);
    }
}
