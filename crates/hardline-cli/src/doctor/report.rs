//! The results of all checks.

use crate::install::select::Target;

/// Outcome of a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Status {
    Pass,
    /// Nothing is broken, but the user should know.
    Warn,
    Fail,
    /// Nothing to check.
    Skip,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Skip => "skip",
        }
    }
}

/// One check and its outcome.
#[derive(Debug)]
pub(super) struct Check {
    /// Stable identifier for programs.
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) status: Status,
    pub(super) detail: String,
    /// True for a line that summarizes the failures after it. Only those count.
    pub(super) is_sum: bool,
}

/// A configuration file that was found.
#[derive(Debug)]
pub(super) struct File {
    pub(super) target: Target,
    pub(super) servers: Vec<ServerReport>,
}

#[derive(Debug)]
pub(super) struct ServerReport {
    pub(super) name: String,
    /// `wrapped`, `plain`, `remote`, `builtin` or `odd`.
    pub(super) kind: &'static str,
    /// True if the server is wrapped and cannot start.
    pub(super) is_broken: bool,
    /// Program of the entry.
    pub(super) command: Option<String>,
    /// True if `--fix` can repair the entry.
    pub(super) is_fixable: bool,
}

impl File {
    /// Returns the servers that `--fix` can repair.
    pub(super) fn fixable(&self) -> impl Iterator<Item = String> {
        self.servers.iter().filter(|server| server.is_fixable).map(|server| server.name.clone())
    }
}

#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) checks: Vec<Check>,
    pub(super) files: Vec<File>,
}

impl Report {
    pub(super) fn add(
        &mut self,
        id: &'static str,
        title: impl Into<String>,
        status: Status,
        detail: impl Into<String>,
    ) {
        let (title, detail) = (title.into(), detail.into());
        self.checks.push(Check { id, title, status, detail, is_sum: false });
    }

    /// Adds a failure that summarizes the failures after it.
    pub(super) fn add_sum(&mut self, id: &'static str, title: &str, detail: String) {
        let status = Status::Fail;
        self.checks.push(Check { id, title: title.to_owned(), status, detail, is_sum: true });
    }

    pub(super) fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status && !check.is_sum).count()
    }

    pub(super) fn has_failures(&self) -> bool {
        self.count(Status::Fail) > 0
    }
}
