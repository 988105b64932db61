//! Runs the fuzz targets under libFuzzer, if a nightly toolchain and a C++ compiler are installed.

use std::fs;
use std::process::Command;

use crate::process::{command, root, show, target, works};
use crate::step::Outcome;
use crate::tool;

const FUZZ_VERSION: &str = "0.13.2";

/// Fuzzes each target for a short time, or says why that is not possible here.
pub(crate) fn smoke(seconds: u32) -> Outcome {
    if let Err(reason) = is_possible() {
        return Outcome::Skipped(reason);
    }
    let all = match all_targets() {
        Ok(all) => all,
        Err(error) => return Outcome::Failed(error),
    };
    // These play random sessions, in which a long run still finds new ways to break a promise. Tests play
    // fixed seeds and their corpora, and `cargo xtask simulate` hunts.
    let is_smoked = |name: &&str| !matches!(*name, "relay" | "simulate");
    let targets: Vec<_> = all.iter().map(String::as_str).filter(is_smoked).collect();
    run(seconds, &targets).into()
}

/// Fuzzes the named targets, or all, each for `seconds`.
pub(crate) fn run(seconds: u32, targets: &[&str]) -> Result<(), String> {
    let all = all_targets()?;
    if let Some(unknown) = targets.iter().find(|target| all.iter().all(|it| it != *target)) {
        return Err(format!("there is no target {unknown}; the targets are {}", all.join(", ")));
    }
    is_possible()?;
    tool::ensure("fuzz", FUZZ_VERSION)?;
    show(nightly(&["fuzz", "build"]).env("CARGO_TARGET_DIR", target().join("fuzz")))?;
    let chosen = all.iter().filter(|it| targets.is_empty() || targets.contains(&&***it));
    for name in chosen {
        // New inputs go to this directory; the checked-in corpus is only read.
        let found = target().join("fuzz-corpus").join(name);
        fs::create_dir_all(&found).map_err(|error| format!("{}: {error}", found.display()))?;
        let mut fuzz = nightly(&["fuzz", "run", name]);
        fuzz.env("CARGO_TARGET_DIR", target().join("fuzz"))
            .arg(&found)
            .arg(root().join("fuzz/corpus").join(name))
            .args(["--", "-timeout=10", "-max_len=4096", "-verbosity=0", "-print_final_stats=1"])
            .arg(format!("-max_total_time={seconds}"));
        show(&mut fuzz)?;
    }
    Ok(())
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
