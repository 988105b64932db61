//! `hardline replay`: replays the client's side of a recording and shows what differs.
//!
//! `file` reads the recording, `script` is one session of it, `player` sends its lines and compares
//! the answers, `drive` runs the process, `print` prints the report.

mod diff;
mod drive;
mod file;
mod notification;
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
use hardline_transport::process::{
    Command, Environment, Keeper, Stderr, adopt_orphans, flush_stderr,
};
use hardline_wire::limits::{DEFAULT_FRAME_BYTES, Limits};

use crate::argument::Format;
use crate::duration;
use crate::terminal::Color;
use drive::Outcome;
use path::Pattern;
use player::{Player, Settings};
use report::Report;
use script::Lost;

/// Limit on a line of a recording or a server: larger than the default limit of any relay.
const MAX_FRAME_BYTES: usize = 16 * DEFAULT_FRAME_BYTES;

/// Replay a recorded session, and show what the server does differently
///
/// Starts the server, sends it the client's messages from the recording, and compares its answers
/// with the recorded ones. Each message waits for the answers that it followed in the recording;
/// pauses are left out. There is no guard in between: the server's own messages are compared, even
/// if the guard changed or blocked them in the recording.
///
/// The order of answers does not matter, nor does the formatting of JSON. A redacted secret matches
/// any value. Requests of the server (sampling, elicitation, roots) get the recorded answers. The
/// tools of the session are really called again.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if nothing differs, 1 if something does, 2 for wrong use, an unreadable \
    recording or\na server that cannot be started; 128 plus the signal number if a signal ended this command.\n\n\
    Examples:\n  \
    hardline wrap --record session.jsonl -- my-server     record, with any client\n  \
    hardline replay session.jsonl -- my-server            does it still answer the same?\n  \
    hardline replay --list session.jsonl                  the sessions in the file\n  \
    hardline replay --ignore '$..timestamp' session.jsonl -- my-server"
)]
pub(crate) struct ReplayArgs {
    /// Recording that `hardline wrap --record` wrote
    file: PathBuf,

    /// Replay this session of the file; a prefix of its id is enough. Default: the last session
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// List the sessions in the file and exit
    #[arg(long, conflicts_with_all = ["session", "command"])]
    list: bool,

    /// Ignore differences at this path, such as `$.result.content[*].text` or $..timestamp; $ is
    /// the message. Can be repeated
    #[arg(long, value_name = "PATH")]
    ignore: Vec<Pattern>,

    /// Also compare progress and log messages, which often depend on time
    #[arg(long)]
    strict_notifications: bool,

    /// Time limit for an answer, such as 500ms or 30s; default: 30s, or twice the recorded time if
    /// that is longer
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    timeout: Option<Duration>,

    /// Show the server's standard error; default: only the last lines, if the server ends early
    #[arg(long, short)]
    verbose: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Use of colors; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,

    /// Server command and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "list")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    let limits = Limits::default().with_max_frame_bytes(MAX_FRAME_BYTES)?;
    let sessions = file::sessions(&args.file, &limits)?;
    if args.list {
        args.print(|out, _| match args.format {
            Format::Text => print::text::list(out, &sessions),
            Format::Json => print::json::list(out, &sessions),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    // The file is read twice, so that only one session is held in memory.
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
    // The server's last words on standard error may still be queued.
    runtime.block_on(async {
        let _ = tokio::time::timeout(Duration::from_secs(1), flush_stderr()).await;
    });
    runtime.shutdown_background();
    let mut report = match outcome? {
        Outcome::Played(report) => report,
        Outcome::Signal(number) => return Ok(ExitCode::from((128 + number).to_le_bytes()[0])),
    };
    // The player does not know which session it plays.
    report.session.clone_from(&session.id);
    add_notes(&mut report, script.lost);
    args.print(|out, has_colors| match args.format {
        Format::Text => print::text::report(out, &report, has_colors),
        Format::Json => print::json::report(out, &report),
    })?;
    Ok(if report.is_same() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Adds notes about lines that could not be replayed unchanged.
fn add_notes(report: &mut Report, lost: Lost) {
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            let lines = if count == 1 { "line" } else { "lines" };
            report.notes.push(format!("{count} {lines} {what}"));
        }
    };
    note(
        lost.kept_back,
        "of the client not sent: the guard kept them from the server in the recording",
    );
    note(lost.cut, "of the client not sent: they were too long for the recording");
    note(
        lost.redacted,
        "of the client with redacted secrets: the server got [redacted] in their place",
    );
    note(lost.left_out, "missing in the recording: the disk was too slow for them");
}

impl ReplayArgs {
    fn server(&self) -> Result<Command> {
        let (program, rest) = self.command.split_first().context("no command was given")?;
        let mut command = Command::new(program, Environment::Inherit).args(rest);
        if !self.verbose {
            command = command.stderr(Stderr::tail_only());
        }
        // Without the keeper, the server still ends when its standard input closes.
        let _ = adopt_orphans();
        Ok(match Keeper::this_program(["keeper"]) {
            Ok(keeper) => command.keeper(keeper),
            Err(_) => command,
        })
    }

    fn print(&self, write: impl FnOnce(&mut dyn Write, bool) -> io::Result<()>) -> Result<()> {
        let choice = match self.format {
            Format::Text => self.color.choice(),
            // JSON must not contain escape sequences.
            Format::Json => ColorChoice::Never,
        };
        let mut out = BufWriter::new(AutoStream::new(io::stdout(), choice));
        let written = write(&mut out, choice != ColorChoice::Never).and_then(|()| out.flush());
        match written {
            // The reader of standard output closed it, as `head` does.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.context("cannot write to standard output"),
        }
    }
}

#[cfg(test)]
mod tests;
