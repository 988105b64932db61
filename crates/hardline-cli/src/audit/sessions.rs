//! `hardline audit sessions`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use hardline_proxy::audit::read::SessionRow;
use serde::Serialize;

use super::Filter;
use super::list::{List, context, outcome};
use crate::terminal::table::{Cell, Layout};

/// List sessions, newest last
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A session without an end was killed or still runs: it is shown as running if a process with its\n\
        process id exists."
)]
pub(super) struct AuditSessionsArgs {
    #[command(flatten)]
    filter: Filter,

    /// Show at most N sessions, the newest ones
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
}

pub(super) const HEADS: &[&str] =
    &["SESSION", "STARTED (UTC)", "LASTED", "SERVER", "MESSAGES", "FINDINGS", "STATE", "COMMAND"];
/// Index of the first column that may wrap below the others.
pub(super) const FOLD: usize = 7;
const LAYOUT: Layout = Layout::cut(HEADS, FOLD);

/// A session with the state of its process.
#[derive(Serialize)]
struct SessionView<'a> {
    #[serde(flatten)]
    session: &'a SessionRow,
    state: &'static str,
}

pub(super) fn run(args: &AuditSessionsArgs) -> Result<ExitCode> {
    let reader = args.filter.open()?;
    let query = args.filter.query(args.limit);
    let mut list = List::new(args.filter.style, LAYOUT);
    let written = (|| {
        list.begin("sessions", true)?;
        context(reader.sessions(&query, |session| add(&mut list, &session)))?;
        list.end("no sessions", Layout::NONE)?;
        list.finish()
    })();
    outcome(written)
}

pub(super) fn add(list: &mut List, session: &SessionRow) -> Result<()> {
    list.add(&SessionView { session, state: state(session) }, |shown| row(shown.session))
}

fn row(session: &SessionRow) -> Vec<Cell> {
    let state = match (&session.outcome, state(session)) {
        (Some(outcome), "ended") => short(outcome),
        (_, state) => state.to_owned(),
    };
    // The command is stored as JSON, so that words with spaces stay intact.
    let words: Vec<String> = serde_json::from_str(&session.command).unwrap_or_default();
    let command = words.join(" ");
    let findings = Cell::number(session.findings);
    let warning = anstyle::Style::new().fg_color(Some(anstyle::AnsiColor::Yellow.into()));
    vec![
        Cell::firm(session.session.get(..8).unwrap_or(&session.session)),
        Cell::firm(session.started.short()),
        Cell::right(lasted(session)),
        Cell::new(&session.server),
        Cell::number(session.messages),
        if session.findings > 0 { findings.style(warning) } else { findings },
        Cell::new(state),
        Cell::new(command),
    ]
}

/// Shortens the outcome of a session to a word or two.
fn short(outcome: &str) -> String {
    let begins = [("the server ended with ", "exit "), ("ended by ", "")];
    if outcome.starts_with("not started") {
        return "refused".to_owned();
    }
    let rest = begins.iter().find_map(|(long, short)| Some((short, outcome.strip_prefix(long)?)));
    rest.map_or_else(|| outcome.to_owned(), |(short, rest)| format!("{short}{rest}"))
}

/// Returns `ended`, `running` or `killed`.
pub(super) fn state(session: &SessionRow) -> &'static str {
    match session.ended {
        Some(_) => "ended",
        None if is_there(session.pid) => "running",
        None => "killed",
    }
}

fn lasted(session: &SessionRow) -> String {
    // A killed session has no end; its last record is the closest time.
    let end = session.ended.unwrap_or(session.seen);
    let micros = u64::try_from(end.0.saturating_sub(session.started.0)).unwrap_or(0);
    let seconds = Duration::from_micros(micros).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// Returns true if a process with this id exists. It may be a later process that reuses the id.
#[cfg(unix)]
fn is_there(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let asked = pid.map(rustix::process::test_kill_process);
    // EPERM: the process exists but belongs to another user.
    matches!(asked, Some(Ok(()) | Err(rustix::io::Errno::PERM)))
}

#[cfg(not(unix))]
fn is_there(_: u32) -> bool {
    true
}
