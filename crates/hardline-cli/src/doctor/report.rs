//! What was found.

use crate::install::select::Target;

/// How a check went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Status {
    Pass,
    /// Nothing is broken, but somebody may want to know.
    Warn,
    Fail,
    /// There is nothing to check.
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

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Check {
    /// Stays the same, for programs.
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) status: Status,
    pub(super) detail: String,
    /// Whether it sums up failures that follow: those count, and it does not.
    pub(super) is_sum: bool,
}

/// A configuration that was found.
#[derive(Debug)]
pub(super) struct File {
    pub(super) target: Target,
    pub(super) servers: Vec<Server>,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: String,
    /// `wrapped`, `plain`, `remote`, `builtin` or `odd`.
    pub(super) kind: &'static str,
    /// Whether it is wrapped and cannot be started.
    pub(super) is_broken: bool,
    /// What is started.
    pub(super) command: Option<String>,
    /// Whether `--fix` can mend it.
    pub(super) is_fixable: bool,
}

impl File {
    /// The servers that `--fix` can mend.
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

    /// Adds a failure that sums up others that follow.
    pub(super) fn add_sum(&mut self, id: &'static str, title: &str, detail: String) {
        let status = Status::Fail;
        self.checks.push(Check { id, title: title.to_owned(), status, detail, is_sum: true });
    }

    pub(super) fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status && !check.is_sum).count()
    }

    pub(super) fn has_failures(&self) -> bool {
        0 < self.count(Status::Fail)
    }
}
