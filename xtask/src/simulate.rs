//! `cargo xtask simulate`: long runs of the simulation, which CI runs for seconds only.

use crate::process::{command, show};

/// Runs the simulation with the given arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let run = ["run", "--quiet", "--package", "hardline-simulate", "--example", "simulate", "--"];
    show(&mut command("cargo", &[&run, arguments].concat()))
}
