//! `hardline audit`: what happened, out of the database that `wrap` keeps.

mod findings;
mod line;
mod list;
mod messages;
mod prune;
mod sessions;
mod show;
mod tail;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use clap::{Subcommand, ValueEnum};
use hardline_guard::{Rule, Severity};
use hardline_proxy::audit::FILE_NAME;
use hardline_proxy::audit::read::{Query, Reader};
use hardline_proxy::audit::time::Time;
use hardline_wire::excerpt::Excerpt;

use crate::place;
use crate::policy::read_rule;
use crate::span;
use crate::terminal::{Color, complain};

/// Ask what happened: sessions, findings, messages
///
/// `hardline wrap` keeps a database of the sessions it relays. These commands read it, also while
/// sessions are running, and never change it; `prune` alone does. docs/audit.md says what is kept, for
/// how long, and how to ask with SQL.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0; 2 for wrong use, or if there is no database or it cannot be read.\n\n\
    Examples:\n  \
    hardline audit sessions --since 1d\n  \
    hardline audit findings --server github --severity high\n  \
    hardline audit findings --since 1h --format json\n  \
    hardline audit show 3f2a\n  \
    hardline audit tail\n  \
    hardline audit prune --older-than 7d --max-size 64MiB"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Sessions(sessions::Args),
    Findings(findings::Args),
    Messages(messages::Args),
    Show(show::Args),
    Tail(tail::Args),
    Prune(prune::Args),
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Sessions(args) => sessions::run(args),
        Command::Findings(args) => findings::run(args),
        Command::Messages(args) => messages::run(args),
        Command::Show(args) => show::run(args),
        Command::Tail(args) => tail::run(args),
        Command::Prune(args) => prune::run(args),
    }
}

/// Where the database is.
#[derive(Debug, clap::Args)]
struct Place {
    /// The database; without it, audit.db in the state directory
    #[arg(long, value_name = "PATH")]
    audit: Option<PathBuf>,
}

impl Place {
    fn path(&self) -> Result<PathBuf> {
        if let Some(path) = &self.audit {
            return Ok(path.clone());
        }
        let state = place::state()
            .context("no variable says where the state directory is: give --audit PATH")?;
        Ok(state.join(FILE_NAME))
    }

    fn open(&self) -> Result<Reader> {
        let path = self.path()?;
        let reader = Reader::open(&path)?;
        if reader.may_miss_newest() {
            complain("the directory cannot be written, so that the newest records cannot be seen");
        }
        match hardline_proxy::audit::waiting(&path) {
            0 => {}
            count => complain(&format!(
                "{count} sessions could not write the database; the next session to begin reads in what they left"
            )),
        }
        Ok(reader)
    }
}

/// Whose records, and how to show them.
#[derive(Debug, clap::Args)]
struct Which {
    #[command(flatten)]
    place: Place,

    /// Of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Of the session whose id begins so
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Not older than this, as 30s, 10m, 1h or 7d
    #[arg(long, value_name = "AGE", value_parser = span::read_age)]
    since: Option<Duration>,

    #[command(flatten)]
    style: Style,
}

/// How to show records.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Style {
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// When to use colors; `auto` does on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

/// Which findings.
#[derive(Debug, clap::Args)]
struct Rules {
    /// Of this rule, as content.frame, or of a whole layer, as content
    #[arg(long, value_name = "RULE", value_parser = read_rules)]
    rule: Option<String>,

    /// Of this severity or above: low, medium, high or critical
    #[arg(long, value_name = "SEVERITY", default_value = "low")]
    severity: Severity,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs: one document, or one object a line where there is no end
    Json,
}

impl Which {
    /// Opens the database, and says so if nothing is known of the server.
    fn open(&self) -> Result<Reader> {
        let reader = self.place.open()?;
        if let Some(server) = &self.server {
            let names = servers(&reader)?;
            if !names.contains(server) {
                let names: Vec<_> = names.iter().map(|it| shown(it)).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                complain(&format!(
                    "nothing is known of a server {}; there are: {known}",
                    shown(server)
                ));
            }
        }
        Ok(reader)
    }

    fn query(&self, limit: u32) -> Query {
        let mut query = Query::default();
        query.server = self.server.clone();
        query.session = self.session.as_ref().map(|it| it.to_ascii_lowercase());
        query.since = self
            .since
            .map(|age| Time::of(now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH)));
        query.limit = limit;
        query
    }
}

impl Rules {
    fn add_to(&self, query: &mut Query) {
        query.rule = self.rule.clone();
        query.severity = self.severity;
    }
}

/// A rule, or all of a layer, as the database is asked for them.
fn read_rules(name: &str) -> Result<String, String> {
    let layer = name.strip_suffix(".*").unwrap_or(name);
    if Rule::ALL.iter().any(|rule| rule.layer() == layer) {
        return Ok(format!("{layer}.*"));
    }
    read_rule(name).map(|rule| rule.to_string())
}

#[expect(clippy::disallowed_methods, reason = "an age is asked for")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// The servers that anything is known of.
fn servers(reader: &Reader) -> Result<BTreeSet<String>> {
    let mut query = Query::default();
    query.limit = u32::MAX;
    let mut names = BTreeSet::new();
    list::context(reader.sessions::<anyhow::Error>(&query, |session| {
        names.insert(session.server);
        Ok(())
    }))?;
    Ok(names)
}

/// A name that somebody else chose, escaped and cut.
fn shown(name: &str) -> String {
    Excerpt::new(name.as_bytes(), 80).to_string()
}
