//! Packages from npm and PyPI for the tests. They are installed once, in pinned versions, and again
//! only when the list of versions or the runtime changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{capture, command, show, works};

/// Interval between checks of a running command.
const POLL: Duration = Duration::from_millis(20);

/// Names the programs of this list that cannot be started here, if any.
pub(crate) fn missing(programs: &[&str]) -> Option<String> {
    let missing: Vec<_> =
        programs.iter().copied().filter(|it| !works(it, &["--version"])).collect();
    if missing.is_empty() { None } else { Some(format!("not installed: {}", missing.join(", "))) }
}

/// Installs the npm packages of `source` into `folder`.
pub(crate) fn npm(folder: &Path, source: &Path) -> Result<(), String> {
    install_npm(folder, source, &[])
}

/// Installs the npm packages of `source` into `folder`, and runs no install script of theirs.
pub(crate) fn npm_without_scripts(folder: &Path, source: &Path) -> Result<(), String> {
    install_npm(folder, source, &["--ignore-scripts"])
}

/// Installs the Python packages of `source` into a virtual environment in `folder`. Returns its
/// interpreter.
pub(crate) fn python(folder: &Path, source: &Path) -> Result<PathBuf, String> {
    let environment = folder.join("venv");
    let program = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let requirements = source.join("requirements.txt");
    once(folder, &requirements, capture(&mut command("python3", &["--version"])).1, || {
        show(command("python3", &["-m", "venv", "--clear"]).arg(&environment)).map_err(
            |error| {
                format!(
                    "python3 cannot make a virtual environment; is its venv installed? ({error})"
                )
            },
        )?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        show(command(&program.to_string_lossy(), &install).arg(&requirements)).map_err(|error| {
            let list = source.display();
            format!("the packages of {list} could not be fetched from the index ({error})")
        })
    })?;
    Ok(program)
}

/// Runs a command with a time limit and shows its output.
pub(crate) fn finish(command: &mut Command, limit: Duration) -> Result<(), String> {
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("the command ended with {status}")),
            Ok(None) if start.elapsed() < limit => thread::sleep(POLL),
            outcome => {
                let killed = child.kill().and_then(|()| child.wait());
                return Err(format!(
                    "the command did not end in {limit:?}: {outcome:?}, {killed:?}"
                ));
            }
        }
    }
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(from, to))
        .map(drop)
        .map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

pub(crate) fn remove(file: &Path) -> Result<(), String> {
    match fs::remove_file(file) {
        // A file that does not exist need not be removed.
        Err(error) if file.exists() => Err(format!("{}: {error}", file.display())),
        _ => Ok(()),
    }
}

fn install_npm(folder: &Path, source: &Path, options: &[&str]) -> Result<(), String> {
    for file in ["package.json", "package-lock.json"] {
        copy(&source.join(file), &folder.join(file))?;
    }
    let lock = folder.join("package-lock.json");
    // An installation may depend on the version of the runtime, so that is part of the stamp.
    once(folder, &lock, capture(&mut command("node", &["--version"])).1, || {
        let install = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        show(command("npm", &install).args(options).current_dir(folder)).map_err(|error| {
            let list = source.display();
            format!("the packages of {list} could not be fetched from the npm registry ({error})")
        })
    })
}

/// Runs an installation, unless it was done with the same list of versions and the same runtime.
fn once(
    folder: &Path,
    versions: &Path,
    runtime: String,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let wanted = fs::read_to_string(versions)
        .map_err(|error| format!("{}: {error}", versions.display()))?
        + &runtime;
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    // Removed first: an installation that fails halfway must not look complete.
    remove(&stamp)?;
    install()?;
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}
