//! `hardline doctor`: checks the installation, and repairs entries with `--fix`.
//!
//! - `own`: our program, directories and files.
//! - `client`: configuration files of clients and the commands in them.
//! - `report`: the results; `print`: their output.
//!
//! Doctor starts no other program to ask for its version. It compares the files to see if two
//! programs are the same.

mod client;
mod own;
mod print;
mod report;

use std::io::{self, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use anyhow::Result;

use self::report::Report;
use crate::argument::Format;
use crate::install;
use crate::install::apply::{self, Action};
use crate::install::backup::Backups;
use crate::install::program::Program;
use crate::install::select::Selection;
use crate::terminal::{Color, complain};

/// Check the installation and the configuration of your clients
///
/// Checks this program, its state and configuration, its own servers, and the configuration files
/// of all clients that are found: which servers are guarded, if the hardline program in each entry
/// exists and is this one, and if the servers' own commands exist.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 no problems (warnings are possible); 1 problems; 2 wrong use.\n\n\
    Examples:\n  hardline doctor\n  hardline doctor --fix\n  hardline doctor --format json --client cursor"
)]
pub(crate) struct DoctorArgs {
    /// Repair entries whose hardline program has moved or is another one: they will start this one
    #[arg(long)]
    fix: bool,

    /// With --fix: show the changes, but write nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,

    #[command(flatten)]
    selection: Selection,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Use of colors; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode> {
    let program = Program::find(None)?;
    let mut report = args.look(&program)?;
    let mut out = AutoStream::new(io::stdout().lock(), args.color.choice());
    if args.fix {
        let backups = if args.dry_run { Backups::look()? } else { Backups::open()? };
        let done = if args.dry_run { "would be repaired" } else { "repaired" };
        let (mut mended, mut has_failed) = (0, false);
        for file in &report.files {
            if file.fixable().next().is_none() {
                continue;
            }
            let path = file.target.path.display().to_string();
            // Only broken entries are repaired; the others stay untouched.
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
                (0, _) if has_failed => "nothing was repaired".to_owned(),
                (0, _) => "nothing to repair".to_owned(),
                (_, true) => {
                    format!("{} {done}; nothing was written", print::counted(mended, "entry"))
                }
                _ => format!("{} {done}; restart the clients", print::counted(mended, "entry")),
            };
            writeln!(out, "{end}\n")?;
        }
        // The report must show the state after the repair.
        report = args.look(&program)?;
    }
    match args.format {
        Format::Text => print::text(&mut out, &report)?,
        Format::Json => print::json(&mut out, &report)?,
    }
    Ok(ExitCode::from(u8::from(report.has_failures())))
}

impl DoctorArgs {
    fn look(&self, program: &Program) -> Result<Report> {
        let mut report = Report::default();
        own::check(&mut report, program);
        client::check(&mut report, &self.selection, program)?;
        Ok(report)
    }
}
