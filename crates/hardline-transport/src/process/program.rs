//! Finds the file of a program, as `execvp` would, but before a process is started.
//!
//! This makes "not found" an error for the caller instead of an exit of the child, even if a keeper
//! starts the program.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::error::SpawnError;

/// Search path for programs if there is no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Finds `program`: as a path if it contains a `/`, otherwise in the directories of `path`.
/// Relative paths are relative to `directory`, which must be absolute.
pub(super) fn find(
    program: &OsStr,
    path: Option<&OsStr>,
    directory: &Path,
) -> Result<PathBuf, SpawnError> {
    if program.as_bytes().contains(&b'/') {
        return check(directory.join(program));
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut refused = None;
    // An empty name would match the directories themselves.
    for entry in env::split_paths(path).filter(|_| !program.is_empty()) {
        match check(directory.join(entry).join(program)) {
            Err(SpawnError::NoSuchFile { .. }) => {}
            // A later directory may have a usable file.
            Err(error) => refused = refused.or(Some(error)),
            found => return found,
        }
    }
    Err(refused.unwrap_or_else(|| SpawnError::NotFound {
        program: program.to_string_lossy().into_owned(),
        path: path.to_string_lossy().into_owned(),
    }))
}

fn check(path: PathBuf) -> Result<PathBuf, SpawnError> {
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => Err(SpawnError::NotAFile { path }),
        // `access` also respects ACLs and mount options.
        Ok(_) if rustix::fs::access(&path, Access::EXEC_OK).is_err() => {
            Err(SpawnError::NotExecutable { path })
        }
        Ok(_) => Ok(path),
        Err(error) if is_absent(&error) => Err(SpawnError::NoSuchFile { path }),
        Err(error) => {
            Err(SpawnError::System { program: path.to_string_lossy().into_owned(), error })
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, path: Option<&str>, directory: &str, expected: &str) {
        let found = find(program.as_ref(), path.map(OsStr::new), directory.as_ref());
        let actual = match found {
            Ok(path) => path.display().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(actual, expected);
    }

    #[test]
    fn finds_what_execvp_would() {
        check("sh", Some("/nowhere:/bin"), "/", "/bin/sh");
        assert!(find("sh".as_ref(), None, "/".as_ref()).is_ok());
        check("/bin/sh", Some(""), "/nowhere", "/bin/sh");
        check("bin/sh", Some(""), "/", "/bin/sh");
        check("sh", Some(""), "/bin", "/bin/sh");
        check("sh", Some("bin"), "/", "/bin/sh");
    }

    #[test]
    fn says_what_is_wrong() {
        let no_such = "program \"no-such\" not found in PATH (\"/bin:/etc\"): install it, or give \
                       its full path";
        check("no-such", Some("/bin:/etc"), "/", no_such);
        check("", Some("/bin"), "/", &no_such.replace("no-such", "").replace(":/etc", ""));
        check("/no/such", None, "/", "no program at /no/such: check the path");
        check("/etc/passwd/x", None, "/", "no program at /etc/passwd/x: check the path");
        check("/etc", None, "/", "/etc is not a file: give the path of a program");
        check("etc", Some("/nowhere:/"), "/", "/etc is not a file: give the path of a program");
        let passwd = "/etc/passwd is not executable: give it the permission (chmod +x), or start \
                      its interpreter with it as an argument";
        check("/etc/passwd", None, "/", passwd);
        check("passwd", Some("/nowhere:/etc"), "/", passwd);
    }
}
