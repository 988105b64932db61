//! The path of our own program, as it is written into configurations.
//!
//! Clients start servers with a poor `PATH`, so it is an absolute path; and it should still be there
//! after an upgrade, so a link that package managers keep, like `/opt/homebrew/bin/hardline`, is better
//! than the place of one version that it points to.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::server::is_hardline;
use crate::place;

/// Where package managers put programs, beside `PATH`.
const FOLDERS: &[&str] = &[
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/run/current-system/sw/bin",
    "/usr/bin",
];
/// The same in the user's home.
const HOME_FOLDERS: &[&str] = &[".cargo/bin", ".local/bin", ".nix-profile/bin", "bin"];

/// A path to write, and why it may not last.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: String,
    pub(crate) warning: Option<String>,
}

impl Program {
    /// The program that was asked for, or the one that runs.
    pub(crate) fn find(asked: Option<&str>) -> Result<Self> {
        if let Some(path) = asked {
            return Self::asked(path);
        }
        let running = env::current_exe().context("cannot find out which program this is")?;
        let path = stable(&running, &candidates(&running));
        let path = path.to_str().map(str::to_owned).with_context(|| {
            format!("{} is no UTF-8: name a program with --command", path.display())
        })?;
        if !is_hardline(&path) {
            bail!("{path} is not called hardline, so it would not be found again; rename it");
        }
        let warning = passing(Path::new(&path)).map(|what| {
            format!("{path} is in {what}: servers will not start once it is gone; install hardline first")
        });
        Ok(Self { path, warning })
    }

    fn asked(path: &str) -> Result<Self> {
        if !is_hardline(path) {
            bail!(
                "--command {path}: a program that is not called hardline would not be found again"
            );
        }
        let is_name = !path.contains(['/', '\\']);
        if !is_name && !is_absolute(path) {
            bail!("--command {path}: clients start servers elsewhere, so write the whole path");
        }
        let is_missing = !is_name && !Path::new(path).is_file();
        let warning = is_missing.then(|| format!("{path} does not exist (yet)"));
        Ok(Self { path: path.to_owned(), warning })
    }
}

/// The first of `candidates` that is the program `running`, or its own path.
fn stable(running: &Path, candidates: &[PathBuf]) -> PathBuf {
    let same = fs::canonicalize(running).ok();
    let is_same = |candidate: &&PathBuf| {
        candidate.is_absolute()
            && is_safe(candidate)
            && same.is_some()
            && fs::canonicalize(candidate).ok() == same
    };
    candidates.iter().find(is_same).cloned().unwrap_or_else(|| running.to_owned())
}

/// Where the program may be found, the best places first.
fn candidates(running: &Path) -> Vec<PathBuf> {
    let name = running.file_name().unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<_> = env::split_paths(&path).collect();
    let home = place::home();
    let at_home = HOME_FOLDERS.iter().filter_map(|folder| Some(home.as_ref()?.join(folder)));
    let known = FOLDERS.iter().map(PathBuf::from).chain(at_home);
    let folders = in_path.into_iter().chain(known);
    let started_as = env::args_os().next().map(PathBuf::from);
    folders.map(|folder| folder.join(name)).chain(started_as).collect()
}

/// Whether nobody but its owner can put another program there.
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

/// A directory whose files do not last, if a program is in one.
pub(crate) fn passing(program: &Path) -> Option<&'static str> {
    let parts: Vec<_> = program.iter().filter_map(|part| part.to_str()).collect();
    let is_build = |pair: &[&str]| matches!(pair, ["target", "debug" | "release"]);
    if parts.windows(2).any(is_build) {
        return Some("a build directory");
    }
    let temporary = env::temp_dir();
    let is_temporary = program.starts_with(&temporary) || program.starts_with("/tmp");
    is_temporary.then_some("a directory for temporary files")
}

/// Whether a path is a whole one, on this platform or another.
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
        assert!(passing(Path::new("/home/me/src/hardline/target/release/hardline")).is_some());
        assert!(passing(Path::new("/tmp/hardline")).is_some());
        assert_eq!(passing(Path::new("/usr/bin/hardline")), None);
    }
}
