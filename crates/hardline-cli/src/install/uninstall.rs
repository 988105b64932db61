//! `hardline uninstall`: removes `hardline wrap` from clients' configuration files.

use std::process::ExitCode;

use anyhow::Result;

use super::apply::Action;
use super::run::{self, Words};
use super::select::Selection;
use crate::terminal::Color;

/// Remove the guard from your MCP clients
///
/// Finds the same files as install and restores every server's own command. A file that has not
/// changed since install is restored byte for byte; in any other, only the wrapped entries change.
/// Entries that were wrapped by hand, such as {"command": "hardline", "args": ["wrap", "--", "uvx",
/// "mcp-server-git"]}, are restored too; those that were there before install only if --server
/// names them.
///
/// Prints the changes as a diff. Restart a client to apply the change.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 done, or nothing to do; 1 an entry was not understood and stays unchanged;\n\
    2 a file could not be read or written, or wrong use.\n\n\
    Examples:\n  \
    hardline uninstall --dry-run\n  \
    hardline uninstall --client cursor\n  \
    hardline uninstall --config ./mcp.json --server git"
)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    selection: Selection,

    /// Show the changes, but write nothing
    #[arg(long)]
    dry_run: bool,

    /// Use of colors; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

pub(crate) fn run(args: &UninstallArgs) -> Result<ExitCode> {
    let words = Words {
        done: "removed from",
        end: [
            "it runs without a guard again; restart the clients",
            "they run without a guard again; restart the clients",
        ],
        nothing: "nothing to do: no server is wrapped",
    };
    run::all(&args.selection, Action::Uninstall, args.dry_run, args.color, &words)
}
