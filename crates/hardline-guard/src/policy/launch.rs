//! Policy settings for starting servers.

use crate::launch::Entry;

/// Restrictions on the start of a server: its program, search path, directory and environment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LaunchPolicy {
    pub(super) programs: Option<Vec<Entry>>,
    pub(super) path: Option<Vec<String>>,
    pub(super) directory: Option<String>,
    pub(super) is_env_clean: bool,
    pub(super) env: Vec<String>,
}

impl LaunchPolicy {
    /// Default search path for a program that is named without a directory. Only the owner of the
    /// system can write to these directories.
    pub const STANDARD_PATH: &[&str] = &[
        "/usr/local/bin",
        "/usr/local/sbin",
        "/usr/bin",
        "/usr/sbin",
        "/bin",
        "/sbin",
        "/opt/homebrew/bin",
        "/opt/local/bin",
        "/snap/bin",
    ];

    /// Returns the programs that may be started, or `None` if all may.
    pub fn programs(&self) -> Option<&[Entry]> {
        self.programs.as_deref()
    }

    /// Returns the search path that replaces `PATH`.
    pub fn path(&self) -> Option<&[String]> {
        self.path.as_deref()
    }

    /// Returns the directory in which the server starts, if it is not the client's.
    pub fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
    }

    /// Returns true if the server receives only a few environment variables.
    pub fn is_env_clean(&self) -> bool {
        self.is_env_clean
    }

    /// Returns the variables that a server with a clean environment receives in addition.
    pub fn env(&self) -> &[String] {
        &self.env
    }
}
