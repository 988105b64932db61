//! Cargo extensions that the tests need. Installed if they are missing.

use std::path::PathBuf;

use crate::process::{capture, command, show, target};

/// Returns the installation directory for tools: in the target directory, apart from the user's own
/// tools.
pub(crate) fn folder() -> PathBuf {
    target().join("tools")
}

/// Makes sure that `cargo NAME` works in this version or a later one.
pub(crate) fn ensure(name: &str, version: &str) -> Result<(), String> {
    let (is_here, printed) = capture(&mut command("cargo", &[name, "--version"]));
    if is_here
        && printed.split_whitespace().filter_map(numbers).any(|it| numbers(version) <= Some(it))
    {
        return Ok(());
    }
    let package = format!("cargo-{name}@{version}");
    println!("installing cargo-{name} {version} into {}", folder().display());
    let mut install = command("cargo", &["install", "--locked", "--quiet", &package, "--root"]);
    // A directory of its own, so that these builds do not mix with those of the workspace.
    show(install.arg(folder()).env("CARGO_TARGET_DIR", target().join("tools-build")))
        .map_err(|error| format!("cargo-{name} is missing and could not be installed ({error})"))
}

/// Returns the numbers of a version, or `None` if `text` is not a version.
fn numbers(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}
