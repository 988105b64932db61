//! Real clients on real servers behind `hardline wrap`: the reference servers from the registries,
//! and the clients of the official SDKs and of rmcp. The clients must receive the same messages as
//! without `wrap`.
//!
//! The servers are set up once, under `target/servers`, in the versions that `tests/servers` pins.
//! The clients are those of the previous step. `tests/servers/run.py` runs every session twice and
//! compares.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::time::Duration;

use crate::clients;
use crate::environment::{self, copy};
use crate::process::{command, root, show, target};
use crate::step::StepOutcome;

/// Time limit for the whole run. Every session has a limit of its own.
const MAX_RUN: Duration = Duration::from_secs(1200);

/// Runs all sessions, or says what is missing.
pub(crate) fn run() -> StepOutcome {
    if let Some(missing) = environment::missing(&["node", "npm", "python3", "git"]) {
        return StepOutcome::Skipped(missing);
    }
    let build = ["build", "--package", "hardline-cli", "--locked", "--bins", "--examples"];
    show(&mut command("cargo", &build)).and_then(|()| set_up()).and_then(|()| compare()).into()
}

/// Installs the servers and their clients.
pub(crate) fn set_up() -> Result<(), String> {
    clients::set_up()?;
    // Node resolves packages relative to the directory of the module.
    for name in ["typescript-1", "typescript-2"] {
        let folder = target().join("clients").join(name);
        let script = format!("{name}.mjs");
        copy(&source("session.mjs"), &folder.join("session.mjs"))?;
        copy(&source(&script), &folder.join(&script))?;
    }
    environment::npm(&folder("node"), &source("node"))?;
    environment::python(&folder("python"), &source("python")).map(drop)
}

fn compare() -> Result<(), String> {
    let built = |name: &str| target().join("debug").join(format!("{name}{EXE_SUFFIX}"));
    // `-B`: Python must not write its cache into the source tree.
    let mut run = command("python3", &["-B"]);
    run.arg(source("run.py")).arg("--hardline").arg(built("hardline"));
    run.arg("--rmcp").arg(built("examples/rmcp_session"));
    run.arg("--servers").arg(target().join("servers"));
    run.arg("--clients").arg(target().join("clients"));
    environment::finish(&mut run, MAX_RUN)
}

fn source(name: &str) -> PathBuf {
    root().join("tests/servers").join(name)
}

fn folder(name: &str) -> PathBuf {
    target().join("servers").join(name)
}
