//! Cargo's extensions that the test run needs: found where they are, installed where they are not.

use std::path::PathBuf;

use crate::process::{command, show, target, works};

/// Where tools are installed: with the build's other products, away from the user's own.
pub(crate) fn folder() -> PathBuf {
    target().join("tools")
}

/// Makes sure that `cargo NAME` works.
pub(crate) fn ensure(name: &str, version: &str) -> Result<(), String> {
    if works("cargo", &[name, "--version"]) {
        return Ok(());
    }
    let package = format!("cargo-{name}@{version}");
    println!("cargo-{name} is not here: it is installed into {}", folder().display());
    let mut install = command("cargo", &["install", "--locked", "--quiet", &package, "--root"]);
    show(install.arg(folder()).env("CARGO_TARGET_DIR", target().join("tools-build")))
        .map_err(|error| format!("cargo-{name} is missing and could not be installed ({error})"))
}
