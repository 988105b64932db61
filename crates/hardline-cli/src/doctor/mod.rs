//! `hardline doctor`: whether everything is where it should be, and `--fix` for what is not.
//!
//! - `own`: our program, our directories and files.
//! - `client`: configurations of clients, and whether what they start is there.
//! - `report`: what was found; `print`: how it is shown.
//!
//! No program is started to find out its version: whether another file is the same program is seen by
//! comparing them.

mod client;
mod own;
mod print;
mod report;

use std::io::{self, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use anyhow::Result;
use clap::ValueEnum;

use self::report::Report;
use crate::install::apply::{self, Action, Outcome};
use crate::install::backup::Backups;
use crate::install::program::Program;
use crate::install::select::Selection;
use crate::install::show;
use crate::terminal::Color;

/// Look whether everything is in order
///
/// Looks at this program, its state and configuration, and at the configuration files of all clients
/// that are found: which servers are guarded, whether the hardline that they start is there and is this
/// one, and whether the servers' own commands can be found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 all is well; 1 something is not; 2 wrong use.\n\n\
    Examples:\n  hardline doctor\n  hardline doctor --fix\n  hardline doctor --format json --client cursor")]
pub(crate) struct Args {
    /// Have entries whose hardline has moved, or is another one, start this one
    #[arg(long)]
    fix: bool,

    /// Show what --fix would change, and change nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,

    #[command(flatten)]
    selection: Selection,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// When to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let program = Program::find(None)?;
    let mut report = args.look(&program)?;
    let mut out = AutoStream::new(io::stdout().lock(), args.color.choice());
    if args.fix {
        let backups = if args.dry_run { Backups::look()? } else { Backups::open()? };
        for file in &report.files {
            if file.fixable().next().is_none() {
                continue;
            }
            let path = file.target.path.display().to_string();
            let selection = Selection::of_servers(file.fixable());
            let action = Action::Repoint { program: &program.path };
            match apply::run(&file.target, &selection, action, &backups, args.dry_run) {
                Ok(Some(Outcome { change: Some((before, after)), .. })) => {
                    if let Format::Text = args.format {
                        show::diff(&mut out, &path, &before, &after)?;
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    let _ = writeln!(io::stderr(), "hardline: {path}: {error:#}");
                }
            }
        }
        report = args.look(&program)?;
    }
    match args.format {
        Format::Text => print::text(&mut out, &report)?,
        Format::Json => print::json(&mut out, &report)?,
    }
    Ok(ExitCode::from(u8::from(report.has_failures())))
}

impl Args {
    fn look(&self, program: &Program) -> Result<Report> {
        let mut report = Report::default();
        own::check(&mut report, program);
        client::check(&mut report, &self.selection, program)?;
        Ok(report)
    }
}
