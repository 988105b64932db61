//! `hardline completion`: prints a script that completes commands and options in a shell.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::Cli;

/// Print a script that completes commands and options in a shell
///
/// Save the script where your shell looks for completions; the examples use the default places.
/// Restart the shell afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 if the script was printed.\n\n\
    Examples:\n  \
    mkdir -p ~/.local/share/bash-completion/completions\n  \
    hardline completion bash > ~/.local/share/bash-completion/completions/hardline\n  \
    hardline completion zsh > \"${fpath[1]}/_hardline\"\n  \
    mkdir -p ~/.config/fish/completions\n  \
    hardline completion fish > ~/.config/fish/completions/hardline.fish\n  \
    hardline completion powershell >> $PROFILE\n  \
    hardline completion elvish >> ~/.config/elvish/rc.elv")]
pub(crate) struct CompletionArgs {
    /// Shell to print the script for
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionArgs) -> Result<ExitCode> {
    // clap_complete panics on a closed output, so it writes to memory first.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&Cli::command()), "hardline", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the command line without hidden commands, which a completion script would offer too.
fn shown(cli: &Command) -> Command {
    let commands = cli.get_subcommands().filter(|it| !it.is_hide_set());
    Command::new("hardline")
        .version(env!("CARGO_PKG_VERSION"))
        .args(cli.get_arguments())
        .subcommands(commands.cloned())
}
