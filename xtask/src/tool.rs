//! Programs from crates.io: cargo extensions that the tests need, installed if they are missing.

use std::path::{Path, PathBuf};

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
    println!("installing cargo-{name} {version} into {}", folder().display());
    install(&format!("cargo-{name}"), version, &folder())
        .map_err(|error| format!("cargo-{name} is missing and could not be installed ({error})"))
}

/// Installs the programs of a package from crates.io into a directory.
pub(crate) fn install(package: &str, version: &str, root: &Path) -> Result<(), String> {
    let package = format!("{package}@{version}");
    let mut install = command("cargo", &["install", "--locked", "--quiet", &package, "--root"]);
    // A directory of its own, so that these builds do not mix with those of the workspace.
    show(install.arg(root).env("CARGO_TARGET_DIR", target().join("tools-build")))
}

/// Returns the numbers of a version, or `None` if `text` is not a version.
fn numbers(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}
