//! `hardline uninstall`: takes `hardline wrap` out of clients' configurations.

use std::process::ExitCode;

use anyhow::Result;

use super::apply::Action;
use super::run::{self, Words};
use super::select::Selection;
use crate::terminal::Color;

/// Take the guard out of your MCP clients again
///
/// Finds the same files as install, and puts every server's own command back where it was. A file that
/// nobody has changed since install becomes what it was, byte for byte; in any other, only the wrapped
/// entries change. Also undoes entries that were written by hand, as
/// {"command": "hardline", "args": ["wrap", "--", "uvx", "mcp-server-git"]}.
///
/// What changes is shown as a diff. Restart a client for it to see the change.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 done, or nothing to do; 1 a server was left alone because its entry is\n\
    not understood; 2 a file could not be read or written, or wrong use.\n\n\
    Examples:\n  \
    hardline uninstall --dry-run\n  \
    hardline uninstall --client cursor\n  \
    hardline uninstall --config ./mcp.json --server git"
)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// When to use colors
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let words = Words {
        done: "taken out of",
        end: [
            "it runs without a guard again; restart the clients",
            "they run without a guard again; restart the clients",
        ],
        nothing: "nothing to do: no server is wrapped",
    };
    run::all(&args.selection, Action::Uninstall, args.dry_run, args.color, &words)
}
