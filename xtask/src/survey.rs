//! `cargo xtask survey`: published MCP servers behind `hardline wrap --profile strict`.
//!
//! Servers from npm and PyPI run with an official client, alone and behind `wrap`. The client must
//! receive the same messages, and no finding may occur that `tests/servers/survey/servers.json` does
//! not list with a reason. `tests/servers/survey/survey.py` runs the sessions and compares.
//!
//! The survey is no step of `cargo xtask test`, because it installs more than a thousand packages.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::time::Duration;

use crate::environment;
use crate::process::{command, root, show, target};
use crate::servers;

/// Time limit for all sessions. Every session has a limit of its own, and all of them together stay
/// below this one, so that no process outlives it.
const MAX_RUN: Duration = Duration::from_hours(3);

/// Runs the survey. `save` writes its table to `docs/survey.md`; `names` select servers.
pub(crate) fn run(save: bool, names: &[&str]) -> Result<(), String> {
    if let Some(missing) = environment::missing(&["node", "npm", "python3", "git"]) {
        return Err(missing);
    }
    let build = ["build", "--package", "hardline-cli", "--locked", "--bins"];
    show(&mut command("cargo", &build))?;
    servers::set_up()?;
    set_up();
    // `-B`: Python must not write its cache into the source tree.
    let mut survey = command("python3", &["-B"]);
    survey.arg(source("survey.py"));
    survey.arg("--hardline").arg(target().join("debug").join(format!("hardline{EXE_SUFFIX}")));
    for folder in ["servers", "clients", "survey"] {
        survey.arg(format!("--{folder}")).arg(target().join(folder));
    }
    if save {
        survey.arg("--save").arg(root().join("docs/survey.md"));
    }
    environment::finish(survey.args(names), MAX_RUN)
}

/// Installs the servers. The survey skips, by name, those that could not be installed.
fn set_up() {
    let node = environment::npm_without_scripts(&folder("node"), &source("node"));
    let pythons = ["python-1", "python-2"]
        .map(|name| environment::python(&folder(name), &source(name)).map(drop));
    for reason in std::iter::once(node).chain(pythons).filter_map(Result::err) {
        println!("{reason}");
    }
}

fn source(name: &str) -> PathBuf {
    root().join("tests/servers/survey").join(name)
}

fn folder(name: &str) -> PathBuf {
    target().join("survey").join(name)
}
