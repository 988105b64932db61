//! `hardline man`: prints the manual, one page per command.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::Cli;

/// Print a page of the manual, or write all pages
///
/// Without a command, prints the page of hardline itself. Pages are in man format; `man -l` shows
/// them. With --dir, writes all pages to a directory as `hardline-COMMAND.1`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 if the pages were written, 2 if not.\n\n\
    Examples:\n  \
    hardline man --dir ~/.local/share/man/man1\n  \
    hardline man call | man -l -")]
pub(crate) struct ManArgs {
    /// Command of the page, such as `call` or `audit sessions`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,

    /// Write all pages to this directory; it is created if needed, and existing pages are replaced
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs) -> Result<ExitCode> {
    let mut cli = Cli::command();
    cli.build();
    if let Some(directory) = &args.dir {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        for (name, command) in pages(&cli) {
            let path = directory.join(format!("{name}.1"));
            fs::write(&path, render(&name, command)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let name = ["hardline"].into_iter().chain(args.command.iter().map(String::as_str));
    let name = name.collect::<Vec<_>>().join("-");
    let pages = pages(&cli);
    let Some((name, command)) = pages.into_iter().find(|(it, _)| *it == name) else {
        bail!("unknown command {}; `hardline help` lists all commands", args.command.join(" "));
    };
    io::stdout().write_all(&render(&name, command)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns every command with the name of its page, including subcommands.
fn pages(cli: &Command) -> Vec<(String, &Command)> {
    let mut pages = vec![(cli.get_name().to_owned(), cli)];
    let mut next = 0;
    // Breadth first: the list grows while it is walked.
    while let Some((name, command)) = pages.get(next).cloned() {
        // clap adds a `help` subcommand that needs no page.
        let is_shown = |it: &&Command| !it.is_hide_set() && it.get_name() != "help";
        let inside = command.get_subcommands().filter(is_shown);
        pages.extend(inside.map(|it| (format!("{name}-{}", it.get_name()), it)));
        next += 1;
    }
    pages
}

fn render(name: &str, command: &Command) -> io::Result<Vec<u8>> {
    // Pages refer to each other by file name.
    let command = command.clone().display_name(name.to_owned());
    let mut page = Vec::new();
    Man::new(command)
        .source(concat!("hardline ", env!("CARGO_PKG_VERSION")))
        .manual("Hardline")
        .render(&mut page)?;
    Ok(with_examples(&String::from_utf8_lossy(&page)).into_bytes())
}

/// Gives clap's EXTRA section a proper title, and keeps the line breaks of its examples.
fn with_examples(page: &str) -> String {
    let mut result = String::with_capacity(page.len());
    let (mut is_below, mut is_kept) = (false, false);
    for line in page.lines() {
        let line = match line {
            ".SH EXTRA" => {
                is_below = true;
                ".SH \"EXIT STATUS AND EXAMPLES\""
            }
            line => line,
        };
        if is_kept && line.starts_with(".SH") {
            result.push_str(".fi\n");
            (is_below, is_kept) = (false, false);
        }
        result.push_str(line);
        result.push('\n');
        if is_below && !is_kept && line == "Examples:" {
            result.push_str(".nf\n");
            // `.nf` turns off filling until `.fi`.
            is_kept = true;
        }
    }
    if is_kept {
        result.push_str(".fi\n");
    }
    result
}
