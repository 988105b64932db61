//! `hardline replay`: plays the client's side of a recording again, and shows what differs.
//!
//! `file` reads the recording, `script` is one session of it, `player` says its lines and compares
//! what comes, `drive` has the process, `print` shows what came of it.

mod diff;
mod drive;
mod file;
mod notice;
mod path;
mod player;
mod print;
mod report;
mod script;
mod show;

use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result};
use clap::ValueEnum;
use hardline_transport::process::{
    Command, Environment, Keeper, Stderr, adopt_orphans, flush_stderr,
};
use hardline_wire::limits::Limits;

use crate::span;
use crate::terminal::Color;
use drive::Outcome;
use path::Pattern;
use player::{Player, Settings};
use report::Report;
use script::Lost;

/// Longest line of a recording or a server: more than any relay lets through unless it is told to.
const MAX_FRAME_BYTES: usize = 256 << 20;

/// Play a recorded session again, and show what the server does differently
///
/// Starts the server, says to it what the client said in the recording, and compares its answers with
/// those of the recording. Each line waits for the answers that it waited for then; pauses are left out.
/// Nothing stands in between: the server's own words are compared, whatever became of them then.
///
/// The order of answers does not matter, nor does how JSON is written. Where a secret was taken out of the
/// recording, anything may stand. What the server asked the client (sampling, elicitation, roots) is answered
/// as in the recording. The tools that the session called are really called again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if nothing differs, 1 if something does, 2 for wrong use, an unreadable \
    recording or\na server that cannot be started; 128 and the number of the signal that ended this.\n\n\
    Examples:\n  \
    hardline wrap --record session.jsonl -- my-server     record, with any client\n  \
    hardline replay session.jsonl -- my-server            does it still answer the same?\n  \
    hardline replay --list session.jsonl                  the sessions in the file\n  \
    hardline replay --ignore '$..timestamp' session.jsonl -- my-server"
)]
pub(crate) struct Args {
    /// What `hardline wrap --record` wrote
    file: PathBuf,

    /// Play this session of the file; without it, the last one. The beginning of its name will do
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// List the sessions in the file, and start nothing
    #[arg(long, conflicts_with_all = ["session", "command"])]
    list: bool,

    /// What may differ, as `$.result.content[*].text` or $..timestamp; $ is the message. Can be given
    /// several times
    #[arg(long, value_name = "PATH")]
    ignore: Vec<Pattern>,

    /// Compare progress and log messages too, which often depend on time
    #[arg(long)]
    strict_notifications: bool,

    /// How long to wait for an answer, as 500ms or 30s; without it, 30 seconds, or twice as long as it took
    /// when it was recorded
    #[arg(long, value_name = "TIME", value_parser = span::read)]
    timeout: Option<Duration>,

    /// Show what the server writes to its standard error; otherwise only its last lines, if it ends early
    #[arg(long, short)]
    verbose: bool,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// When to use colors; `auto` does on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,

    /// The server and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "list")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document for programs
    Json,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let limits = Limits::default().with_max_frame_bytes(MAX_FRAME_BYTES)?;
    let sessions = file::sessions(&args.file, &limits)?;
    if args.list {
        args.print(|out, _| match args.format {
            Format::Text => print::text::list(out, &sessions),
            Format::Json => print::json::list(out, &sessions),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let session = file::choose(&sessions, args.session.as_deref())?;
    let script = file::script(&args.file, session, &limits, args.strict_notifications)?;
    let settings = Settings {
        ignore: args.ignore.clone(),
        is_strict: args.strict_notifications,
        timeout: args.timeout,
    };
    let command = args.server()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start a runtime")?;
    let player = Player::new(&script, &settings, &limits);
    let outcome = runtime.block_on(drive::play(&command, &limits, player));
    runtime.block_on(async {
        let _ = tokio::time::timeout(Duration::from_secs(1), flush_stderr()).await;
    });
    runtime.shutdown_background();
    let mut report = match outcome? {
        Outcome::Played(report) => report,
        Outcome::Signal(number) => return Ok(ExitCode::from((128 + number).to_le_bytes()[0])),
    };
    report.session.clone_from(&session.id);
    add_notes(&mut report, script.lost);
    args.print(|out, has_colors| match args.format {
        Format::Text => print::text::report(out, &report, has_colors),
        Format::Json => print::json::report(out, &report),
    })?;
    Ok(if report.is_same() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Says what could not be played as it was.
fn add_notes(report: &mut Report, lost: Lost) {
    let mut note = |count: u64, what: &str| {
        if 0 < count {
            let lines = if count == 1 { "line" } else { "lines" };
            report.notes.push(format!("{count} {lines} {what}"));
        }
    };
    note(lost.kept_back, "of the client not said: the server did not get them then either");
    note(lost.cut, "of the client not said: too long to be in the recording");
    note(
        lost.redacted,
        "of the client with secrets taken out: the server got [redacted] in their place",
    );
    note(lost.left_out, "missing in the recording: the disk was too slow for them");
}

impl Args {
    fn server(&self) -> Result<Command> {
        let (program, rest) = self.command.split_first().context("no command was given")?;
        let mut command = Command::new(program, Environment::Inherit).args(rest);
        if !self.verbose {
            command = command.stderr(Stderr::tail_only());
        }
        // Without these, the server still ends with its standard input.
        let _ = adopt_orphans();
        Ok(match Keeper::this_program(["keeper"]) {
            Ok(keeper) => command.keeper(keeper),
            Err(_) => command,
        })
    }

    fn print(&self, write: impl FnOnce(&mut dyn Write, bool) -> io::Result<()>) -> Result<()> {
        let choice = match self.format {
            Format::Text => self.color.choice(),
            Format::Json => ColorChoice::Never,
        };
        let mut out = BufWriter::new(AutoStream::new(io::stdout(), choice));
        let written = write(&mut out, choice != ColorChoice::Never).and_then(|()| out.flush());
        match written {
            // Whoever read the output has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.context("cannot write to standard output"),
        }
    }
}

#[cfg(test)]
mod tests;
