//! `cargo xtask bench`: runs all benchmarks, prints the results and saves them if asked.

pub(crate) mod peers;

use std::process::Stdio;

use crate::clients;
use crate::environment;
use crate::page;
use crate::process::{command, target};

/// Page with the tables, and the lines between which they stand.
const PAGE: &str = "docs/benchmarks.md";
const START: &str = "<!-- benchmarks: written by `cargo xtask bench --save` -->";
const END: &str = "<!-- end of benchmarks -->";

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
        page::save(PAGE, START, END, &printed)?;
    }
    if is_met { Ok(()) } else { Err("a goal was missed".into()) }
}
