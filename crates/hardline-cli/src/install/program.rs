//! Finds the path of our own program that is written into configurations.
//!
//! Clients start servers with a short `PATH`, so the path is absolute. It should survive an
//! upgrade, so a link that a package manager maintains, such as `/opt/homebrew/bin/hardline`, is
//! better than the versioned directory that it points to.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::server::is_hardline;
use crate::directory;

/// Directories of package managers, searched after `PATH`.
const FOLDERS: &[&str] = &[
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/run/current-system/sw/bin",
    "/usr/bin",
];
/// The same, relative to the user's home.
const HOME_FOLDERS: &[&str] = &[".cargo/bin", ".local/bin", ".nix-profile/bin", "bin"];

/// Path to write, with a warning if the file may not last.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: String,
    pub(crate) warning: Option<String>,
}

impl Program {
    /// Returns the requested program, or the running one.
    pub(crate) fn find(asked: Option<&str>) -> Result<Self> {
        if let Some(path) = asked {
            return Self::asked(path);
        }
        let running = env::current_exe().context("cannot find the path of this program")?;
        // `current_exe` resolves links, which can lead into a versioned directory.
        let path = stable(&running, &candidates(&running));
        let path = path.to_str().map(str::to_owned).with_context(|| {
            format!("{} is not UTF-8: name a program with --command", path.display())
        })?;
        // `uninstall` and `doctor` recognize entries by the name of the program.
        if !is_hardline(&path) {
            bail!("{path} is not named hardline, so uninstall could not recognize it; rename it");
        }
        let warning = temporary_location(Path::new(&path)).map(|what| {
            format!("{path} is in {what}: servers will not start after it is deleted; install hardline first")
        });
        Ok(Self { path, warning })
    }

    fn asked(path: &str) -> Result<Self> {
        if !is_hardline(path) {
            bail!(
                "--command {path}: the program must be named hardline, or uninstall cannot recognize it"
            );
        }
        // A bare name is found in the client's `PATH`.
        let is_name = !path.contains(['/', '\\']);
        if !is_name && !is_absolute(path) {
            bail!(
                "--command {path}: give an absolute path; clients start servers in other directories"
            );
        }
        let is_missing = !is_name && !Path::new(path).is_file();
        let warning = is_missing.then(|| format!("{path} does not exist yet"));
        Ok(Self { path: path.to_owned(), warning })
    }
}

/// Returns the first of `candidates` that is the program `running`, or else its own path.
fn stable(running: &Path, candidates: &[PathBuf]) -> PathBuf {
    let same = fs::canonicalize(running).ok();
    let is_same = |candidate: &&PathBuf| {
        candidate.is_absolute()
            // Another user could replace a program in a world-writable directory.
            && is_safe(candidate)
            && same.is_some()
            && fs::canonicalize(candidate).ok() == same
    };
    candidates.iter().find(is_same).cloned().unwrap_or_else(|| running.to_owned())
}

/// Returns possible paths of the program, the preferred ones first.
fn candidates(running: &Path) -> Vec<PathBuf> {
    let name = running.file_name().unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<_> = env::split_paths(&path).collect();
    let home = directory::home();
    let at_home = HOME_FOLDERS.iter().filter_map(|folder| Some(home.as_ref()?.join(folder)));
    let known = FOLDERS.iter().map(PathBuf::from).chain(at_home);
    let folders = in_path.into_iter().chain(known);
    // Last, because the caller chooses this name freely.
    let started_as = env::args_os().next().map(PathBuf::from);
    folders.map(|folder| folder.join(name)).chain(started_as).collect()
}

/// Returns true if other users cannot replace the program in its directory.
#[cfg(unix)]
fn is_safe(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let folder = program.parent().and_then(|folder| fs::metadata(folder).ok());
    folder.is_some_and(|folder| folder.permissions().mode() & 0o002 == 0)
}

#[cfg(not(unix))]
fn is_safe(_: &Path) -> bool {
    true
}

/// Names the directory of a program if its files do not last.
pub(crate) fn temporary_location(program: &Path) -> Option<&'static str> {
    let parts: Vec<_> = program.iter().filter_map(|part| part.to_str()).collect();
    let is_build = |pair: &[&str]| matches!(pair, ["target", "debug" | "release"]);
    // `cargo clean` deletes it.
    if parts.windows(2).any(is_build) {
        return Some("a build directory");
    }
    let temporary = env::temp_dir();
    let is_temporary = program.starts_with(&temporary) || program.starts_with("/tmp");
    is_temporary.then_some("a directory for temporary files")
}

/// Returns true for an absolute path of this platform or of Windows.
pub(crate) fn is_absolute(path: &str) -> bool {
    let is_drive = |path: &str| matches!(path.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
    Path::new(path).is_absolute() || path.starts_with("\\\\") || is_drive(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_that_stays_is_better_than_the_place_of_a_version() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let at = |path: &str| root.join(path);
        for folder in ["Cellar/hardline/0.1.0/bin", "bin", "open", "other"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let running = at("Cellar/hardline/0.1.0/bin/hardline");
        fs::write(&running, "this").unwrap();
        fs::write(at("other/hardline"), "that").unwrap();
        for link in ["bin/hardline", "open/hardline"] {
            std::os::unix::fs::symlink(&running, at(link)).unwrap();
        }
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(at("open"), permissions).unwrap();

        let check = |candidates: &[PathBuf], expected: &Path| {
            assert_eq!(stable(&running, candidates), expected, "{candidates:?}");
        };
        check(&[], &running);
        check(&[at("other/hardline"), at("none/hardline")], &running);
        check(&[at("open/hardline")], &running);
        check(&["bin/hardline".into(), "hardline".into()], &running);
        check(
            &[at("other/hardline"), at("open/hardline"), at("bin/hardline")],
            &at("bin/hardline"),
        );
    }

    #[test]
    fn only_a_whole_path_or_a_name_is_taken() {
        for path in ["/usr/bin/hardline", "hardline", "C:\\bin\\hardline.exe", "\\\\host\\hardline"]
        {
            assert!(Program::asked(path).is_ok(), "{path}");
        }
        for path in ["./hardline", "bin/hardline", "bin\\hardline.exe", "/usr/bin/env", "/bin/hard"]
        {
            assert!(Program::asked(path).is_err(), "{path}");
        }
    }

    #[test]
    fn notices_what_does_not_last() {
        assert!(
            temporary_location(Path::new("/home/me/src/hardline/target/release/hardline"))
                .is_some()
        );
        assert!(temporary_location(Path::new("/tmp/hardline")).is_some());
        assert_eq!(temporary_location(Path::new("/usr/bin/hardline")), None);
    }
}
