//! `cargo xtask bench`: the benchmarks in full, printed and, if asked, written down.

use std::fs;

use crate::process::{capture, command, root};

const HEADER: &str = "\
# Benchmarks

Written by `cargo xtask bench --save`: one run on one thread of a shared two-core machine. Seconds
differ from machine to machine; what counts is the ratio of two columns, measured in turns.

";

/// Runs the benchmarks; `save` writes their tables to `docs/benchmarks.md`.
pub(crate) fn run(save: bool) -> Result<(), String> {
    let all = ["bench", "--quiet", "--workspace", "--bench", "*", "--locked"];
    let (is_fine, printed) = capture(&mut command("cargo", &all));
    println!("{printed}");
    if save {
        let path = root().join("docs/benchmarks.md");
        let page = format!("{HEADER}{}", printed.trim_start());
        fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("written to {}", path.display());
    }
    if is_fine { Ok(()) } else { Err("a benchmark failed or missed a goal".into()) }
}
