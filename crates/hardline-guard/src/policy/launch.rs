//! What a policy says of how servers are started.

use crate::launch::Entry;

/// How a server may be started, and with which environment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Launch {
    pub(super) programs: Option<Vec<Entry>>,
    pub(super) path: Option<Vec<String>>,
    pub(super) directory: Option<String>,
    pub(super) is_env_clean: bool,
    pub(super) env: Vec<String>,
}

impl Launch {
    /// Where a program is looked for that is named without a directory, if the policy does not say:
    /// directories that only the system's owner writes to.
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

    /// The programs that may be started; all, if there is no list.
    pub fn programs(&self) -> Option<&[Entry]> {
        self.programs.as_deref()
    }

    /// The directories in which programs are looked for, instead of those in `PATH`.
    pub fn path(&self) -> Option<&[String]> {
        self.path.as_deref()
    }

    /// The directory that the server is started in, instead of the client's.
    pub fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
    }

    /// Whether the server gets only a few variables of the environment.
    pub fn is_env_clean(&self) -> bool {
        self.is_env_clean
    }

    /// Variables that it gets besides.
    pub fn env(&self) -> &[String] {
        &self.env
    }
}
