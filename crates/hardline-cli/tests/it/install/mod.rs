//! `hardline install` and `uninstall`, on files in the style of each client.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test may panic"
)]

mod entry;
mod fixture;
mod option;
mod secret;
mod value;
mod write;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub(crate) const HARDLINE: &str = env!("CARGO_BIN_EXE_hardline");

/// An empty home directory for one test.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file, and creates its directories.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns a command with this directory as its home and current directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(HARDLINE);
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CONFIG_HOME", self.path(".config"));
        for name in ["CODEX_HOME", "CLAUDE_CONFIG_DIR", "USERPROFILE"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Outcome {
        Outcome::of(&self.command(args).output().unwrap())
    }

    /// Runs a command and expects it to exit with `code`.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, args: &[&str]) -> Outcome {
        let outcome = self.run(args);
        assert_eq!(outcome.code, Some(code), "{args:?}: {outcome:?}");
        outcome
    }

    /// Returns the stored backups.
    pub(crate) fn backups(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("state/hardline/backups")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
    }
}

/// Output and exit status of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_owned()).unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Self { code: output.status.code(), stdout, stderr }
    }
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
