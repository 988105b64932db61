//! Starts other programs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tool;

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Returns the directory for everything that is built or fetched.
pub(crate) fn target() -> PathBuf {
    // The same variable that cargo uses, so that built programs are found.
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns a command in the root, without standard input, that prefers the tools installed by
/// xtask.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    // A tool that asks a question would wait forever.
    command.args(arguments).current_dir(root()).stdin(Stdio::null()).env("PATH", path());
    command
}

/// Runs a command and shows its output.
pub(crate) fn show(command: &mut Command) -> Result<(), String> {
    println!("$ {}", describe(command));
    let status = command.status().map_err(|error| format!("{}: {error}", describe(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", describe(command))) }
}

/// Runs a command. Returns true if it succeeded, and all its output.
pub(crate) fn capture(command: &mut Command) -> (bool, String) {
    match command.output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8_lossy(&text).into_owned())
        }
        Err(error) => (false, error.to_string()),
    }
}

/// Returns true if a program can be started and succeeds.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    capture(&mut command(program, arguments)).0
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn path() -> OsString {
    let existing = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tool::folder().join("bin")).chain(env::split_paths(&existing));
    env::join_paths(folders).unwrap_or(existing)
}
