//! `cargo xtask test`: all checks of the repository.
//!
//! All steps run even if one fails. A step that cannot run here (no nightly toolchain, no access to
//! the advisory database) is named in the summary with the reason.

use crate::clients;
use crate::conformance;
use crate::fuzz;
use crate::peers;
use crate::process::{capture, command, show, works};
use crate::servers;
use crate::step::{StepOutcome, Steps};
use crate::tool;

const DENY_VERSION: &str = "0.20.2";

type Step = (&'static str, fn() -> StepOutcome);

const STEPS: &[Step] = &[
    ("format", format),
    ("clippy", clippy),
    ("targets", targets),
    ("tests", tests),
    ("clients", clients::run),
    ("servers", servers::run),
    ("conformance", conformance::run),
    ("peers", peers::run),
    ("docs", docs),
    ("deny", deny),
    ("advisories", advisories),
    ("fuzz", fuzz::replay),
    ("benches", benches),
];

/// Runs the named steps, or all.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    // Checked before the first step, which may take minutes.
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|(it, _)| it != *name)) {
        let known: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no step {unknown}; the steps are {}", known.join(", ")));
    }
    let mut steps = Steps::default();
    for (name, step) in STEPS.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        steps.take(name, step);
    }
    steps.summarize()
}

fn format() -> StepOutcome {
    // The fuzz targets are a workspace of their own.
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
    let workspace = show(&mut command("cargo", &["fmt", "--all", "--check"]));
    workspace.and_then(|()| show(&mut command("cargo", &fuzz))).into()
}

fn clippy() -> StepOutcome {
    let targets = ["clippy", "--workspace", "--all-targets", "--all-features", "--locked"];
    show(command("cargo", &targets).args(["--", "--deny", "warnings"])).into()
}

/// Checks that the code compiles for platforms that this machine does not run.
fn targets() -> StepOutcome {
    let others = ["x86_64-apple-darwin", "x86_64-pc-windows-gnu", "x86_64-unknown-linux-musl"];
    let (there, missing): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|target| works("rustup", &["target", "add", target]));
    for target in there {
        let check = ["check", "--workspace", "--all-features", "--locked", "--target", target];
        let mut check = command("cargo", &check);
        // Nothing is linked, and few machines have a C compiler for all of these targets.
        check.env("RUSTFLAGS", "--deny warnings").env("CC", "true").env("AR", "true");
        if let Err(error) = show(&mut check) {
            return StepOutcome::Failed(error);
        }
    }
    match missing.len() {
        0 => StepOutcome::Passed,
        3 => StepOutcome::Skipped("rustup cannot install other targets here".into()),
        _ => StepOutcome::PassedWithNote(format!(
            "not checked, because rustup cannot install them: {}",
            missing.join(", ")
        )),
    }
}

fn tests() -> StepOutcome {
    let all = ["test", "--workspace", "--all-features", "--locked", "--no-fail-fast"];
    match show(&mut command("cargo", &all)) {
        Ok(()) if !works("valgrind", &["--version"]) => StepOutcome::PassedWithNote(
            "without valgrind, linear cost was judged by time and not by instructions".into(),
        ),
        result => result.into(),
    }
}

fn docs() -> StepOutcome {
    let all = ["doc", "--workspace", "--no-deps", "--all-features", "--locked"];
    show(command("cargo", &all).env("RUSTDOCFLAGS", "--deny warnings")).into()
}

fn deny() -> StepOutcome {
    let check = ["deny", "--workspace", "--all-features", "check", "licenses", "bans", "sources"];
    tool::ensure("deny", DENY_VERSION).and_then(|()| show(&mut command("cargo", &check))).into()
}

/// Checks the dependencies. A step of its own, because not every network can reach the database.
fn advisories() -> StepOutcome {
    if let Err(error) = tool::ensure("deny", DENY_VERSION) {
        return StepOutcome::Failed(error);
    }
    let check = ["deny", "--workspace", "--all-features", "check", "advisories"];
    let (is_fine, printed) = capture(&mut command("cargo", &check));
    println!("{printed}");
    if is_fine {
        return StepOutcome::Passed;
    }
    // A network without access to the database is no fault of the code.
    if printed.contains("failed to fetch advisory database") {
        return StepOutcome::Skipped("the advisory database cannot be reached from here".into());
    }
    StepOutcome::Failed(
        "cargo deny check advisories found something or could not run: see above".into(),
    )
}

fn benches() -> StepOutcome {
    // Each benchmark runs once and its speed does not matter, so the test build is enough.
    let once = ["bench", "--profile", "dev", "--workspace", "--all-features", "--bench", "*"];
    show(command("cargo", &once).args(["--locked", "--", "--test"])).into()
}
