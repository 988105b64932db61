//! Running the suite, and reading what it prints.

use std::path::PathBuf;

use crate::process::{capture, command, target};

/// How long one scenario may take.
const TIMEOUT_MS: &str = "60000";

pub(super) struct Suite {
    pub(super) node: PathBuf,
    pub(super) script: PathBuf,
}

/// A scenario, and how many checks it passed if it passed.
pub(super) type Judged = (String, Option<u32>);

impl Suite {
    /// Runs many scenarios at once.
    pub(super) fn run(&self, arguments: &[&str], client: &str) -> Vec<Judged> {
        judged(&self.start(arguments, client).1)
    }

    /// Runs one, and nothing beside it.
    pub(super) fn run_alone(&self, version: &str, scenario: &str, client: &str) -> Option<u32> {
        let (is_fine, printed) = self.start(&alone(version, scenario), client);
        let line = printed.lines().find_map(|line| line.strip_prefix("Passed: "))?;
        let passed = line.split('/').next()?.parse().ok()?;
        (is_fine && 0 < passed).then_some(passed)
    }

    /// What the suite prints about one.
    pub(super) fn explain(&self, version: &str, scenario: &str, client: &str) -> String {
        self.start(&alone(version, scenario), client).1
    }

    fn start(&self, arguments: &[&str], client: &str) -> (bool, String) {
        let mut suite = command(&self.node.to_string_lossy(), &[]);
        // The suite cuts the client's command at spaces, so it is given none of our folders.
        suite.current_dir(target().join("debug/examples")).arg(&self.script);
        suite.args(["client", "--command", client, "--timeout", TIMEOUT_MS]).args(arguments);
        capture(&mut suite)
    }
}

fn alone<'a>(version: &'a str, scenario: &'a str) -> [&'a str; 5] {
    // Extensions belong to no version, and are run in any.
    ["--scenario", scenario, "--spec-version", version, "--force"]
}

/// Reads lines such as `✓ tools_call: 2 passed, 0 failed`.
fn judged(printed: &str) -> Vec<Judged> {
    let line = |line: &str| {
        let (mark, rest) = line.split_once(' ').filter(|(mark, _)| matches!(*mark, "✓" | "✗"))?;
        let (scenario, counts) = rest.split_once(": ")?;
        let passed: u32 = counts.split(' ').next()?.parse().ok()?;
        let is_passed = mark == "✓" && 0 < passed;
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
