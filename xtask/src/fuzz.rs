//! Runs the fuzz targets under libFuzzer, if a nightly toolchain and a C++ compiler are installed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{command, root, show, target, works};
use crate::step::StepOutcome;
use crate::tool;

const FUZZ_VERSION: &str = "0.13.2";

/// Options of libFuzzer for all runs.
const OPTIONS: [&str; 5] =
    ["--", "-timeout=10", "-max_len=4096", "-verbosity=0", "-print_final_stats=1"];

/// Builds all targets and replays their corpora under the sanitizer, or says why that is not possible
/// here. The outcome does not depend on chance: `cargo xtask fuzz` searches for new inputs.
pub(crate) fn replay() -> StepOutcome {
    if let Err(reason) = is_possible() {
        return StepOutcome::Skipped(reason);
    }
    let replay_all = || {
        build()?;
        for name in all_targets()? {
            show(fuzz(&name).arg(corpus(&name)).args(OPTIONS).arg("-runs=0"))?;
        }
        Ok(())
    };
    replay_all().into()
}

/// Fuzzes the named targets, or all, each for `seconds`.
pub(crate) fn run(seconds: u32, targets: &[&str]) -> Result<(), String> {
    let all = all_targets()?;
    if let Some(unknown) = targets.iter().find(|target| all.iter().all(|it| it != *target)) {
        return Err(format!("there is no target {unknown}; the targets are {}", all.join(", ")));
    }
    is_possible()?;
    build()?;
    let chosen = all.iter().filter(|it| targets.is_empty() || targets.contains(&&***it));
    for name in chosen {
        // New inputs go to this directory; the checked-in corpus is only read.
        let found = target().join("fuzz-corpus").join(name);
        fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
        let mut fuzz = fuzz(name);
        fuzz.arg(&found).arg(corpus(name)).args(OPTIONS);
        show(fuzz.arg(format!("-max_total_time={seconds}")))?;
    }
    Ok(())
}

fn build() -> Result<(), String> {
    tool::ensure("fuzz", FUZZ_VERSION)?;
    show(nightly(&["fuzz", "build"]).env("CARGO_TARGET_DIR", target().join("fuzz")))
}

/// Returns the command that runs a target. Its first argument is a directory for new inputs.
fn fuzz(name: &str) -> Command {
    let mut fuzz = nightly(&["fuzz", "run", name]);
    fuzz.env("CARGO_TARGET_DIR", target().join("fuzz"));
    fuzz
}

/// Returns the checked-in inputs of a target.
fn corpus(name: &str) -> PathBuf {
    root().join("fuzz/corpus").join(name)
}

fn is_possible() -> Result<(), String> {
    if !works("rustup", &["run", "nightly", "rustc", "--version"]) {
        return Err("no nightly toolchain (rustup toolchain install nightly)".into());
    }
    if !works("c++", &["--version"]) {
        return Err("no C++ compiler (libFuzzer is written in C++)".into());
    }
    Ok(())
}

fn nightly(arguments: &[&str]) -> Command {
    command("rustup", &[&["run", "nightly", "cargo"], arguments].concat())
}

/// Returns the names of the targets, from their files.
fn all_targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let stem = |entry: fs::DirEntry| {
        entry.path().file_stem().map(|stem| stem.to_string_lossy().into_owned())
    };
    let mut names: Vec<_> = entries.filter_map(Result::ok).filter_map(stem).collect();
    names.sort();
    Ok(names)
}
