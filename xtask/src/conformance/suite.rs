//! Runs the suite and reads its output.

use std::path::PathBuf;

use crate::process::{capture, command, target};

/// Time limit for one scenario.
const TIMEOUT_MS: &str = "60000";

pub(super) struct Suite {
    pub(super) node: PathBuf,
    pub(super) script: PathBuf,
}

/// A scenario, and the number of its checks if it passed.
pub(super) type Judged = (String, Option<u32>);

impl Suite {
    /// Runs many scenarios at once.
    pub(super) fn run(&self, arguments: &[&str], client: &str) -> Vec<Judged> {
        judged(&self.start(arguments, client).1)
    }

    /// Runs one scenario alone.
    pub(super) fn run_alone(&self, version: &str, scenario: &str, client: &str) -> Option<u32> {
        let (is_fine, printed) = self.start(&alone(version, scenario), client);
        let line = printed.lines().find_map(|line| line.strip_prefix("Passed: "))?;
        let passed = line.split('/').next()?.parse().ok()?;
        (is_fine && passed > 0).then_some(passed)
    }

    /// Returns the output of the suite for one scenario.
    pub(super) fn explain(&self, version: &str, scenario: &str, client: &str) -> String {
        self.start(&alone(version, scenario), client).1
    }

    fn start(&self, arguments: &[&str], client: &str) -> (bool, String) {
        let mut suite = command(&self.node.to_string_lossy(), &[]);
        // The suite splits the client's command at spaces, so the command must not contain our
        // folders.
        suite.current_dir(target().join("debug/examples")).arg(&self.script);
        suite.args(["client", "--command", client, "--timeout", TIMEOUT_MS]).args(arguments);
        capture(&mut suite)
    }
}

fn alone<'a>(version: &'a str, scenario: &'a str) -> [&'a str; 5] {
    // Extensions belong to no version and run in any.
    ["--scenario", scenario, "--spec-version", version, "--force"]
}

/// Reads lines such as `✓ tools_call: 2 passed, 0 failed`.
fn judged(printed: &str) -> Vec<Judged> {
    let line = |line: &str| {
        let (mark, rest) = line.split_once(' ').filter(|(mark, _)| matches!(*mark, "✓" | "✗"))?;
        let (scenario, counts) = rest.split_once(": ")?;
        let passed: u32 = counts.split(' ').next()?.parse().ok()?;
        let is_passed = mark == "✓" && passed > 0;
        Some((scenario.to_owned(), is_passed.then_some(passed)))
    };
    printed.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_summary() {
        let printed = "✓ a: 2 passed, 0 failed\n✗ auth/b: 3 passed, 1 failed\n✓ c: 0 passed, 0 failed\n  ✓ a (extension)\nTotal: 5 passed";
        let expected = [("a", Some(2)), ("auth/b", None), ("c", None)];
        let expected: Vec<_> = expected.map(|(name, checks)| (name.to_owned(), checks)).into();
        assert_eq!(judged(printed), expected);
    }
}
