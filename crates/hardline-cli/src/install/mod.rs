//! `hardline install`: puts `hardline wrap` before the servers in clients' configurations.
//!
//! - `client`: which clients there are and where their files are; `select`: which of them are meant.
//! - `document`: a text and where everything in it stands; `server`: its servers; `json`, `toml`: how a text
//!   is written.
//! - `edit`: changes as replacements of bytes, checked by reading the result.
//! - `file`: reading and replacing files; `backup`: what they were before; `apply`: one file from
//!   reading to writing; `run`: all of them.
//! - `program`: the path that is written; `show`: what people see.
//!
//! Invariants:
//! - What is not an entry's command or the beginning of its arguments stays as it is, byte for byte.
//! - To install twice is to install once, and to uninstall gives back what was there.
//! - Doubt about a file or an entry leaves it alone, and is told.

pub(crate) mod apply;
pub(crate) mod backup;
pub(crate) mod client;
pub(crate) mod document;
mod edit;
pub(crate) mod file;
mod json;
mod long;
pub(crate) mod program;
pub(crate) mod run;
pub(crate) mod select;
pub(crate) mod server;
pub(crate) mod show;
mod toml;
pub(crate) mod uninstall;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use self::apply::Action;
use self::program::Program;
use self::run::Words;
use self::select::Selection;
use crate::place;
use crate::policy::PolicyArgs;
use crate::terminal::{Color, complain};

/// Put a guard in front of the servers of your MCP clients
///
/// Finds the configuration files of Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Zed, Gemini
/// CLI, Codex, Cline, Roo Code and LM Studio, and has every server that they start by a command started
/// by `hardline wrap`. Servers at an address (url) are left alone. Formatting, comments and everything
/// else in the files stay as they are.
///
/// What changes is shown as a diff, with the values in env left out. The original is kept in the state
/// directory, and `hardline uninstall` brings it back, byte for byte. Files of projects are only touched
/// with --project or --config. Restart a client for it to see the change.
///
/// A server that is wrapped already stays as it is; to give it other options, uninstall it first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 done, or nothing to do; 1 a server was left alone because its entry is\n\
    not understood; 2 a file could not be read or written, or wrong use. A file with an error is\n\
    left as it was, and the others are done all the same.\n\n\
    Examples:\n  \
    hardline install --dry-run\n  \
    hardline install\n  \
    hardline install --client cursor --server git --profile strict\n  \
    hardline install --project --command hardline\n  \
    hardline install --config ~/.config/other-client/mcp.json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// The program to write: a whole path, or hardline to have it found in PATH. Without it, that of
    /// the running program that is likely to survive an upgrade
    #[arg(long, value_name = "PATH")]
    command: Option<String>,

    #[command(flatten)]
    policy: PolicyArgs,

    /// The lock file with pinned tools, to be written into each entry
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,

    /// When to use colors
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if cfg!(not(unix)) {
        bail!("hardline wrap is not there on this platform yet, so servers would not start");
    }
    let program = Program::find(args.command.as_deref())?;
    if let Some(warning) = &program.warning {
        complain(&format!("warning: {warning}"));
    }
    let mut options = args.policy.options()?;
    if let Some(lock) = &args.lock {
        options.extend(["--lock".to_owned(), whole_path(lock)?]);
    }
    // An entry that finds its program by name is for others too, who are at home elsewhere.
    if program::is_absolute(&program.path) {
        options.extend(args.places()?);
    }
    let words = Words {
        done: "put in front of",
        end: ["restart the clients; hardline uninstall undoes this"; 2],
        nothing: "nothing to do: no server is started by a command that is not wrapped already",
    };
    let action = Action::Install { program: &program.path, options: &options };
    run::all(&args.selection, action, args.dry_run, args.color, &words)
}

impl Args {
    /// Our directories as options: the `env` of an entry must lead to no other policy and to no other pins.
    fn places(&self) -> Result<Vec<String>> {
        let mut options = Vec::new();
        if let Some(config) = place::config().filter(|_| self.policy.named().is_none()) {
            options.extend(["--config-dir".to_owned(), whole_path(&config)?]);
        }
        if let Some(state) = place::state() {
            options.extend(["--state-dir".to_owned(), whole_path(&state)?]);
        }
        Ok(options)
    }
}

/// A path that means the same wherever a server is started.
pub(crate) fn whole_path(path: &Path) -> Result<String> {
    let path = std::path::absolute(path)?;
    let name = || format!("{} is no UTF-8", path.display());
    Ok(path.to_str().with_context(name)?.to_owned())
}
