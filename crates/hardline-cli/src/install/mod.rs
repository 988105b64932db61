//! `hardline install`: inserts `hardline wrap` before the servers in clients' configuration files.
//!
//! - `client`: known clients and their files; `select`: the clients and servers that a command
//!   names.
//! - `document`: a text with the position of each value; `server`: its servers; `json`, `toml`: how
//!   strings are written.
//! - `edit`: changes as replacements of bytes, verified by parsing the result.
//! - `file`: reads and replaces files; `backup`: their earlier contents; `apply`: one file from
//!   reading to writing; `run`: all files.
//! - `program`: the path to write into entries; `show`: the diff for the user.
//!
//! Invariants:
//! - Only an entry's command and the beginning of its arguments change. All other bytes stay.
//! - A second install changes nothing, and uninstall restores the original.
//! - A file or an entry that is not fully understood stays untouched and is reported.

pub(crate) mod apply;
pub(crate) mod backup;
pub(crate) mod client;
mod edit;
pub(crate) mod file;
mod long;
pub(crate) mod program;
pub(crate) mod run;
pub(crate) mod select;
pub(crate) mod server;
pub(crate) mod show;
mod toml;
pub(crate) mod uninstall;

pub(crate) use hardline_client::config::document;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use self::apply::Action;
use self::program::Program;
use self::run::Words;
use self::select::Selection;
use crate::directory;
use crate::policy::PolicyArgs;
use crate::terminal::{Color, complain};

/// Put a guard in front of the servers of your MCP clients
///
/// Finds the configuration files of the clients that --client lists. Changes every server that is
/// started by a command, so that `hardline wrap` starts it. Remote servers (url) stay as they are,
/// and so do formatting, comments and everything else in the files.
///
/// Prints the changes as a diff, with the values in env masked. The original is stored in the state
/// directory, and `hardline uninstall` restores it byte for byte. Project files change only with
/// --project or --config. Restart a client to apply the change.
///
/// A server that is already wrapped stays as it is. To change its options, uninstall it first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 done, or nothing to do; 1 an entry was not understood and stays unchanged;\n\
    2 a file could not be read or written, or wrong use. A file with an error stays unchanged; the\n\
    others are still processed.\n\n\
    Examples:\n  \
    hardline install --dry-run\n  \
    hardline install\n  \
    hardline install --client cursor --server git --profile strict\n  \
    hardline install --project --command hardline\n  \
    hardline install --config ~/.config/other-client/mcp.json"
)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    selection: Selection,

    /// Show the changes, but write nothing
    #[arg(long)]
    dry_run: bool,

    /// Program to write into entries: an absolute path, or hardline to find it in PATH. Default: a
    /// path of the running program that survives upgrades
    #[arg(long, value_name = "PATH")]
    command: Option<String>,

    #[command(flatten)]
    policy: PolicyArgs,

    /// Lock file for pinned tools, to write into each entry
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,

    /// Use of colors; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

pub(crate) fn run(args: &InstallArgs) -> Result<ExitCode> {
    if cfg!(not(unix)) {
        bail!("hardline wrap does not support this platform yet, so servers would not start");
    }
    let program = Program::find(args.command.as_deref())?;
    if let Some(warning) = &program.warning {
        complain(&format!("warning: {warning}"));
    }
    // Also checks the policy: a broken one would stop every server.
    let mut options = args.policy.options()?;
    if let Some(lock) = &args.lock {
        options.extend(["--lock".to_owned(), whole_path(lock)?]);
    }
    // An entry that finds its program by name may be shared with users who have other directories.
    if program::is_absolute(&program.path) {
        options.extend(args.places()?);
    }
    let words = Words {
        done: "put in front of",
        end: ["restart the clients; hardline uninstall undoes this"; 2],
        nothing: "nothing to do: every server with a command is already wrapped",
    };
    let action = Action::Install { program: &program.path, options: &options };
    run::all(&args.selection, action, args.dry_run, args.color, &words)
}

impl InstallArgs {
    /// Returns our directories as options, so that the `env` of an entry cannot redirect policy or
    /// pins.
    fn places(&self) -> Result<Vec<String>> {
        let mut options = Vec::new();
        if let Some(config) = directory::config().filter(|_| self.policy.named().is_none()) {
            options.extend(["--config-dir".to_owned(), whole_path(&config)?]);
        }
        if let Some(state) = directory::state() {
            options.extend(["--state-dir".to_owned(), whole_path(&state)?]);
        }
        Ok(options)
    }
}

/// Returns an absolute path, because clients start servers in other directories.
pub(crate) fn whole_path(path: &Path) -> Result<String> {
    let path = std::path::absolute(path)?;
    let name = || format!("{} is not UTF-8", path.display());
    Ok(path.to_str().with_context(name)?.to_owned())
}
