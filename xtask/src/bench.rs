//! `cargo xtask bench`: runs all benchmarks, prints the results and saves them if asked.

use std::fs;
use std::process::Stdio;

use crate::clients;
use crate::environment;
use crate::process::{command, root, target};

const HEADER: &str = "\
# Benchmarks

Written by `cargo xtask bench --save`. Each table was measured in one run. Gigabytes and calls per second differ from
machine to machine; the ratio of two columns counts, because their candidates took turns. Each figure is the best of
thirty rounds.

";

/// Number of benchmarks.
const BENCHMARKS: usize = 6;

/// Runs the benchmarks. `save` writes their tables to `docs/benchmarks.md`.
pub(crate) fn run(save: bool) -> Result<(), String> {
    let all = ["bench", "--quiet", "--workspace", "--bench", "*", "--locked", "--no-fail-fast"];
    let mut bench = command("cargo", &all);
    // The benchmarks of the façade compare clients as well, which are not among its default features.
    bench.args(["--features", "hardline/client,hardline/rmcp-client"]);
    // Without Node.js the TypeScript client's columns are empty.
    match environment::missing(&["node", "npm"]).map_or_else(clients::set_up, Err) {
        Ok(_) => {
            bench.env("HARDLINE_TYPESCRIPT", target().join("clients/typescript-1"));
        }
        Err(missing) => println!("no TypeScript client: {missing}"),
    }
    let output =
        bench.stderr(Stdio::inherit()).output().map_err(|error| format!("cargo bench: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    let is_met = output.status.success();
    // A table reports its own missed goals, but a missing table must be noticed here.
    let is_whole = printed.matches("goals missed").count() == BENCHMARKS;
    if !is_whole {
        return Err("a benchmark failed, so nothing is written".into());
    }
    if save {
        let path = root().join("docs/benchmarks.md");
        let page = format!("{HEADER}{}", printed.trim_start());
        fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("written to {}", path.display());
    }
    if is_met { Ok(()) } else { Err("a goal was missed".into()) }
}
