//! `cargo xtask test`: everything that must hold.
//!
//! All steps are taken even if one fails. A step that cannot be done here (no nightly toolchain, no
//! way to the advisory database) is named in the summary with the reason.

use crate::clients;
use crate::conformance;
use crate::fuzz;
use crate::peers;
use crate::process::{capture, command, show, works};
use crate::servers;
use crate::step::{Outcome, Steps};
use crate::tool;

const DENY_VERSION: &str = "0.20.2";
const SMOKE_SECONDS: u32 = 10;

type Step = (&'static str, fn() -> Outcome);

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
    ("fuzz", || fuzz::smoke(SMOKE_SECONDS)),
    ("benches", benches),
];

/// Takes the steps named, or all.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|(it, _)| it != *name)) {
        let known: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("no step is called {unknown}; there are {}", known.join(", ")));
    }
    let mut steps = Steps::default();
    for (name, step) in STEPS.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        steps.take(name, step);
    }
    steps.summarize()
}

fn format() -> Outcome {
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
    let workspace = show(&mut command("cargo", &["fmt", "--all", "--check"]));
    workspace.and_then(|()| show(&mut command("cargo", &fuzz))).into()
}

fn clippy() -> Outcome {
    let targets = ["clippy", "--workspace", "--all-targets", "--all-features", "--locked"];
    show(command("cargo", &targets).args(["--", "--deny", "warnings"])).into()
}

/// Whether it still compiles where it does not run here.
fn targets() -> Outcome {
    let others = ["x86_64-apple-darwin", "x86_64-pc-windows-gnu", "x86_64-unknown-linux-musl"];
    let (there, missing): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|target| works("rustup", &["target", "add", target]));
    for target in there {
        let check = ["check", "--workspace", "--all-features", "--locked", "--target", target];
        let mut check = command("cargo", &check);
        // Nothing is linked, and hardly anybody has a C compiler for all of these.
        check.env("RUSTFLAGS", "--deny warnings").env("CC", "true").env("AR", "true");
        if let Err(error) = show(&mut check) {
            return Outcome::Failed(error);
        }
    }
    match missing.len() {
        0 => Outcome::Passed,
        3 => Outcome::Skipped("rustup gives no other target here".into()),
        _ => Outcome::PassedWithNote(format!(
            "not checked, as rustup has none: {}",
            missing.join(", ")
        )),
    }
}

fn tests() -> Outcome {
    let all = ["test", "--workspace", "--all-features", "--locked"];
    match show(&mut command("cargo", &all)) {
        Ok(()) if !works("valgrind", &["--version"]) => Outcome::PassedWithNote(
            "without valgrind, linear cost was judged by time and not by instructions".into(),
        ),
        result => result.into(),
    }
}

fn docs() -> Outcome {
    let all = ["doc", "--workspace", "--no-deps", "--all-features", "--locked"];
    show(command("cargo", &all).env("RUSTDOCFLAGS", "--deny warnings")).into()
}

fn deny() -> Outcome {
    let check = ["deny", "--workspace", "--all-features", "check", "licenses", "bans", "sources"];
    tool::ensure("deny", DENY_VERSION).and_then(|()| show(&mut command("cargo", &check))).into()
}

/// Apart from the rest, since it needs a database that not every network lets us have.
fn advisories() -> Outcome {
    if let Err(error) = tool::ensure("deny", DENY_VERSION) {
        return Outcome::Failed(error);
    }
    let check = ["deny", "--workspace", "--all-features", "check", "advisories"];
    let (is_fine, printed) = capture(&mut command("cargo", &check));
    println!("{printed}");
    if is_fine {
        return Outcome::Passed;
    }
    if printed.contains("failed to fetch advisory database") {
        return Outcome::Skipped("the advisory database cannot be reached from here".into());
    }
    Outcome::Failed(
        "cargo deny check advisories found something or could not run: see above".into(),
    )
}

fn benches() -> Outcome {
    // Each benchmark runs once, so its speed does not matter: what the tests have built will do.
    let once = ["bench", "--profile", "dev", "--workspace", "--all-features", "--bench", "*"];
    show(command("cargo", &once).args(["--locked", "--", "--test"])).into()
}
