//! `hardline audit`: queries the audit database that `wrap` writes.

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
use clap::Subcommand;
use hardline_guard::{Rule, Severity};
use hardline_proxy::audit::FILE_NAME;
use hardline_proxy::audit::read::{Query, Reader};
use hardline_proxy::audit::time::Time;
use hardline_wire::excerpt::Excerpt;

use crate::argument::Format;
use crate::directory;
use crate::duration;
use crate::policy::read_rule;
use crate::terminal::{Color, complain};

/// Query the audit log: sessions, findings, messages
///
/// `hardline wrap` stores the sessions that it relays in a database. These commands read it, also
/// while sessions run. Only `prune` changes it. docs/audit.md describes the tables, the retention
/// times, and queries in SQL.
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
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Sessions(sessions::AuditSessionsArgs),
    Findings(findings::AuditFindingsArgs),
    Messages(messages::AuditMessagesArgs),
    Show(show::AuditShowArgs),
    Tail(tail::AuditTailArgs),
    Prune(prune::AuditPruneArgs),
}

pub(crate) fn run(args: &AuditArgs) -> Result<ExitCode> {
    match &args.command {
        Command::Sessions(args) => sessions::run(args),
        Command::Findings(args) => findings::run(args),
        Command::Messages(args) => messages::run(args),
        Command::Show(args) => show::run(args),
        Command::Tail(args) => tail::run(args),
        Command::Prune(args) => prune::run(args),
    }
}

/// Location of the database.
#[derive(Debug, clap::Args)]
struct DatabaseArg {
    /// Audit database; default: audit.db in the state directory
    #[arg(long, value_name = "PATH")]
    audit: Option<PathBuf>,
}

impl DatabaseArg {
    fn path(&self) -> Result<PathBuf> {
        if let Some(path) = &self.audit {
            return Ok(path.clone());
        }
        let state = directory::state().context(
            "cannot find the state directory: set HOME or XDG_STATE_HOME, or give --audit PATH",
        )?;
        Ok(state.join(FILE_NAME))
    }

    fn open(&self) -> Result<Reader> {
        let path = self.path()?;
        let reader = Reader::open(&path)?;
        if reader.may_miss_newest() {
            complain(
                "the database directory is not writable, so the newest records may be missing",
            );
        }
        let count = hardline_proxy::audit::waiting(&path);
        if count > 0 {
            complain(&format!(
                "{count} sessions could not write to the database; the next session to start imports their records"
            ));
        }
        Ok(reader)
    }
}

/// Filters for records, and their output format.
#[derive(Debug, clap::Args)]
struct Filter {
    #[command(flatten)]
    database: DatabaseArg,

    /// Only this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Only the session whose id starts with ID
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Only records up to this age, such as 30s, 10m, 1h or 7d
    #[arg(long, value_name = "AGE", value_parser = duration::read_age)]
    since: Option<Duration>,

    #[command(flatten)]
    style: Style,
}

/// Output format and colors.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Style {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Use of colors; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

/// Filters for findings.
#[derive(Debug, clap::Args)]
struct Rules {
    /// Only this rule, such as content.frame, or this group, such as content
    #[arg(long, value_name = "RULE", value_parser = read_rules)]
    rule: Option<String>,

    /// Only this severity or above: low, medium, high or critical
    #[arg(long, value_name = "SEVERITY", default_value = "low")]
    severity: Severity,
}

impl Filter {
    /// Opens the database. Warns if it has no records of the server.
    fn open(&self) -> Result<Reader> {
        let reader = self.database.open()?;
        if let Some(server) = &self.server {
            // A misspelled name would otherwise look like an empty result.
            let names = servers(&reader)?;
            if !names.contains(server) {
                let names: Vec<_> = names.iter().map(|it| shown(it)).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                complain(&format!(
                    "there are no records of a server {}; known servers: {known}",
                    shown(server)
                ));
            }
        }
        Ok(reader)
    }

    fn query(&self, limit: u32) -> Query {
        let mut query = Query::default();
        query.server = self.server.clone();
        // Ids are stored in lower case.
        query.session = self.session.as_ref().map(|it| it.to_ascii_lowercase());
        query.since = self
            .since
            // An age before 1970 means no limit.
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

/// Returns the rule name, or `LAYER.*`, as the database expects it.
fn read_rules(name: &str) -> Result<String, String> {
    // Both `content` and `content.*` select a group.
    let group = name.strip_suffix(".*").unwrap_or(name);
    if Rule::ALL.iter().any(|rule| rule.group() == group) {
        return Ok(format!("{group}.*"));
    }
    read_rule(name).map(|rule| rule.to_string())
}

#[expect(clippy::disallowed_methods, reason = "an age is relative to the current time")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Returns the names of all servers in the database.
fn servers(reader: &Reader) -> Result<BTreeSet<String>> {
    let mut query = Query::default();
    // All sessions: an old one may be the only one of its server.
    query.limit = u32::MAX;
    let mut names = BTreeSet::new();
    list::context(reader.sessions::<anyhow::Error>(&query, |session| {
        names.insert(session.server);
        Ok(())
    }))?;
    Ok(names)
}

/// Escapes and cuts a name that comes from a client's configuration or a peer.
fn shown(name: &str) -> String {
    Excerpt::new(name.as_bytes(), 80).to_string()
}
