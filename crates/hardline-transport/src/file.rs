//! Opening of regular files without blocking, and of nothing else.
//!
//! `open(2)` blocks until there is a writer if the path names a FIFO, and a read from a terminal or
//! a device may never end. State, policies and configurations are regular files; anything else at
//! such a path is an error that names its kind. Every crate of the workspace opens such files here.
//! Commands that read any input, such as `scan`, open it themselves.
//!
//! Invariants:
//! - Opening never blocks, even if the path is replaced after the first check.
//! - A [`File`] from here is a regular file, even if the path is replaced after the first check.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Opens a regular file for reading.
///
/// # Errors
///
/// See [`open_with`].
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file with `options`. Custom flags of the options are replaced.
///
/// # Errors
///
/// I/O errors; [`ErrorKind::InvalidInput`] with the kind of the file if it is not a regular file
/// ([`ErrorKind::IsADirectory`] for a directory).
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_if(options, path, FileType::is_file)
}

/// Opens a regular file or a character device with `options`, for output to a path that the user
/// chose: `/dev/null` is allowed. Custom flags of the options are replaced.
///
/// # Errors
///
/// See [`open_with`].
pub fn open_output(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_if(options, path, |kind| kind.is_file() || is_character_device(kind))
}

/// Creates a file that only its owner can read and write.
///
/// # Errors
///
/// I/O errors; [`ErrorKind::AlreadyExists`] if the path exists, even as a dangling symbolic link.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens a directory, to lock it or to sync it to disk.
///
/// # Errors
///
/// I/O errors; [`ErrorKind::NotADirectory`] if it is not a directory.
pub fn open_directory(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = wait_for_nothing(options.read(true)).open(path)?;
    if file.metadata()?.is_dir() { Ok(file) } else { Err(ErrorKind::NotADirectory.into()) }
}

/// Checks that a path names a regular file or does not exist. For files that a library opens by
/// path.
///
/// # Errors
///
/// See [`open_with`]; a missing file is not an error.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) => check_kind(&metadata, FileType::is_file),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn open_if(
    options: &mut OpenOptions,
    path: &Path,
    is_fit: impl Fn(&FileType) -> bool,
) -> io::Result<File> {
    // Check before opening: merely opening some devices has side effects.
    if let Ok(metadata) = fs::metadata(path) {
        check_kind(&metadata, &is_fit)?;
    }
    let file = wait_for_nothing(options).open(path)?;
    // The path may have been replaced between the check and the open.
    check_kind(&file.metadata()?, is_fit)?;
    Ok(file)
}

fn check_kind(metadata: &Metadata, is_fit: impl Fn(&FileType) -> bool) -> io::Result<()> {
    let kind = metadata.file_type();
    if is_fit(&kind) {
        return Ok(());
    }
    let error = if kind.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::InvalidInput };
    Err(io::Error::new(error, format!("it is not a regular file but {}", describe(&kind))))
}

#[cfg(unix)]
fn wait_for_nothing(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;

    // NONBLOCK: a FIFO must not block. NOCTTY: a terminal must not become our controlling terminal.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed())
}

#[cfg(not(unix))]
fn wait_for_nothing(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(unix)]
fn is_character_device(kind: &FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(kind)
}

#[cfg(not(unix))]
fn is_character_device(_: &FileType) -> bool {
    false
}

#[cfg(unix)]
fn describe(kind: &FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    match kind {
        _ if kind.is_dir() => "a directory",
        _ if kind.is_fifo() => "a named pipe (FIFO)",
        _ if kind.is_socket() => "a socket",
        _ if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    }
}

#[cfg(not(unix))]
fn describe(kind: &FileType) -> &'static str {
    if kind.is_dir() { "a directory" } else { "something else" }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};

    use super::*;

    /// A directory that is removed on drop.
    struct Place(PathBuf);

    impl Place {
        fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("hardline-file-{}-{count}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn fifo(&self) -> PathBuf {
            let path = self.0.join("fifo");
            mknodat(CWD, &path, Kind::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            path
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn anything_but_a_regular_file_is_refused_without_waiting() {
        let place = Place::new();
        let socket = place.0.join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let link = place.0.join("link");
        std::os::unix::fs::symlink(place.fifo(), &link).unwrap();
        for (path, what) in [
            (place.0.join("fifo"), "a named pipe (FIFO)"),
            (link, "a named pipe (FIFO)"),
            (socket, "a socket"),
            (PathBuf::from("/dev/zero"), "a device"),
            (place.0.clone(), "a directory"),
        ] {
            let expected = format!("it is not a regular file but {what}");
            for options in [
                OpenOptions::new().read(true),
                OpenOptions::new().append(true).create(true),
                OpenOptions::new().read(true).write(true),
            ] {
                assert_eq!(open_with(options, &path).unwrap_err().to_string(), expected);
            }
            assert_eq!(check(&path).unwrap_err().to_string(), expected);
        }
        assert!(check(&place.0.join("none")).is_ok());
        assert!(open_directory(&place.0).is_ok());
        let error = open_directory(&place.0.join("fifo")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotADirectory);
    }

    #[test]
    fn what_takes_the_place_of_a_file_after_the_look_is_refused_as_well() {
        let place = Place::new();
        let fifo = place.fifo();
        // As if it had been a regular file when it was looked at.
        let file = wait_for_nothing(OpenOptions::new().read(true)).open(&fifo).unwrap();
        assert!(check_kind(&file.metadata().unwrap(), FileType::is_file).is_err());
        drop(file);
        // Without a reader the system refuses to open it for writing.
        assert!(wait_for_nothing(OpenOptions::new().write(true)).open(&fifo).is_err());
    }

    #[test]
    fn regular_files_are_opened_as_asked_for() {
        let place = Place::new();
        let path = place.0.join("file");
        let error = open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        for text in ["one", "two"] {
            let mut file = open_with(OpenOptions::new().append(true).create(true), &path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "onetwo");
        assert!(check(&path).is_ok() && open(&path).is_ok());
        assert!(open_output(OpenOptions::new().write(true), Path::new("/dev/null")).is_ok());
        assert!(open_output(OpenOptions::new().write(true), &place.fifo()).is_err());
    }
}
