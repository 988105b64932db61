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
use crate::install;
use crate::install::apply::{self, Action};
use crate::install::backup::Backups;
use crate::install::program::Program;
use crate::install::select::Selection;
use crate::terminal::{Color, complain};

/// Look whether everything is in order
///
/// Looks at this program, its state and configuration, its own servers, and at the configuration files
/// of all clients that are found: which servers are guarded, whether the hardline that they start is there and is this
/// one, and whether the servers' own commands can be found.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 no problems, though there may be warnings; 1 problems; 2 wrong use.\n\n\
    Examples:\n  hardline doctor\n  hardline doctor --fix\n  hardline doctor --format json --client cursor"
)]
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
        let done = if args.dry_run { "would be mended" } else { "mended" };
        let (mut mended, mut has_failed) = (0, false);
        for file in &report.files {
            if file.fixable().next().is_none() {
                continue;
            }
            let path = file.target.path.display().to_string();
            let selection = Selection::of_servers(file.fixable());
            let action = Action::Repoint { program: &program.path };
            match apply::run(&file.target, &selection, action, &backups, args.dry_run) {
                Ok(Some(outcome)) if outcome.change.is_some() => {
                    mended += outcome.changed.len();
                    if let Format::Text = args.format {
                        install::run::print(&mut out, &file.target, &outcome, &format!("{done}:"))?;
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    has_failed = true;
                    complain(&format!("{path}: {error:#}"));
                }
            }
        }
        if let Format::Text = args.format {
            let end = match (mended, args.dry_run) {
                (0, _) if has_failed => "nothing was mended".to_owned(),
                (0, _) => "nothing to mend".to_owned(),
                (_, true) => {
                    format!("{} {done}; nothing was written", print::counted(mended, "entry"))
                }
                _ => format!("{} {done}; restart the clients", print::counted(mended, "entry")),
            };
            writeln!(out, "{end}\n")?;
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
