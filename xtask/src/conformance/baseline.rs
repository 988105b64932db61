//! Expected results: scenarios that must pass, and scenarios that are known to fail.

use std::fs;
use std::path::Path;

use super::suite::Judged;

/// The lines of the file: a version, a scenario and, if it does not pass, the reason.
#[derive(Debug, Default)]
pub(super) struct Baseline(Vec<(String, String, Option<String>)>);

impl Baseline {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|line| format!("{}: cannot read: {line}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
        let read = |line: &str| {
            let (name, reason) = match line.split_once(" -- ") {
                Some((name, reason)) => (name, Some(reason.trim().to_owned())),
                None => (line, None),
            };
            // `VERSION SCENARIO`, as the steps print it.
            let (version, scenario) = name.trim().split_once(' ').ok_or(line)?;
            Ok((version.to_owned(), scenario.trim().to_owned(), reason))
        };
        lines.map(read).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn passes(&self, version: &str, scenario: &str) -> bool {
        self.0.iter().any(|(v, s, reason)| v == version && s == scenario && reason.is_none())
    }

    /// Returns the reason why a scenario is known to fail.
    pub(super) fn reason(&self, version: &str, scenario: &str) -> Option<&str> {
        let found = self.0.iter().find(|(v, s, _)| v == version && s == scenario);
        found.and_then(|(.., reason)| reason.as_deref())
    }

    /// Returns the first scenario that must pass and was not run.
    pub(super) fn missing(&self, version: &str, results: &[Judged]) -> Option<&str> {
        let was_run = |scenario: &str| results.iter().any(|(it, _)| it == scenario);
        let mut expected = self.0.iter().filter(|(v, _, reason)| v == version && reason.is_none());
        expected
            .find(|(_, scenario, _)| !was_run(scenario))
            .map(|(_, scenario, _)| scenario.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_passes_what_does_not_and_what_is_gone() {
        let baseline = Baseline::parse("# x\n\n2025-11-25 a\n2025-11-25 b -- too hard\n").unwrap();
        assert!(baseline.passes("2025-11-25", "a"));
        assert!(!baseline.passes("2026-07-28", "a"));
        assert!(!baseline.passes("2025-11-25", "b"));
        assert_eq!(baseline.reason("2025-11-25", "b"), Some("too hard"));
        assert_eq!(baseline.missing("2025-11-25", &[]), Some("a"));
        assert_eq!(baseline.missing("2025-11-25", &[("a".to_owned(), None)]), None);
        assert!(Baseline::parse("x").is_err());
    }
}
