//! `hardline audit show`: one session with its events and findings, without its messages.

use std::process::ExitCode;

use anyhow::{Result, bail};
use hardline_proxy::audit::read::{FindingRow, Query};

use super::list::{List, context, outcome};
use super::{DatabaseArg, Style, findings, line, sessions};
use crate::terminal::table::{Cell, Layout};

/// Show one session: its start, its events, its findings
#[derive(Debug, clap::Args)]
pub(super) struct AuditShowArgs {
    /// Session id, or an unambiguous prefix of it
    #[arg(value_name = "SESSION")]
    session: String,

    #[command(flatten)]
    database: DatabaseArg,

    #[command(flatten)]
    style: Style,
}

const SESSION: Layout = Layout::whole(sessions::HEADS, sessions::FOLD);
const EVENTS: Layout = Layout::whole(&["TIME (UTC)", "EVENT", "WHAT"], 2);
const FINDINGS: Layout = Layout::whole(&["TIME (UTC)", "SEVERITY", "RULE", "ACTION", "WHAT"], 4);

pub(super) fn run(args: &AuditShowArgs) -> Result<ExitCode> {
    let reader = args.database.open()?;
    let mut query = Query::default();
    query.session = Some(args.session.to_ascii_lowercase());
    // Two are enough to see that a prefix is ambiguous.
    query.limit = 2;
    let mut found = Vec::new();
    context(reader.sessions::<anyhow::Error>(&query, |session| {
        found.push(session);
        Ok(())
    }))?;
    let session = match found.as_slice() {
        [session] => session,
        [] => {
            bail!(
                "no session id starts with {:?}; `hardline audit sessions` lists them",
                args.session
            )
        }
        _ => bail!("more than one session id starts with {:?}: give more digits", args.session),
    };
    // The full id, because the prefix could match a new session meanwhile.
    query.session = Some(session.session.clone());
    query.limit = u32::MAX;
    let mut list = List::new(args.style, SESSION);
    let written = (|| {
        list.begin("sessions", true)?;
        sessions::add(&mut list, session)?;
        list.end("", EVENTS)?;
        list.say("")?;
        list.begin("events", false)?;
        context(reader.events(&query, |event| {
            list.add(&event, |event| {
                let (at, kind) = (Cell::firm(event.at.short()), Cell::firm(&event.kind));
                vec![at, kind, Cell::new(line::happened(event))]
            })
        }))?;
        list.end("no events", FINDINGS)?;
        list.say("")?;
        list.begin("findings", false)?;
        context(reader.findings(&query, |finding| list.add(&finding, row)))?;
        list.end("no findings", Layout::NONE)?;
        list.finish()
    })();
    outcome(written)
}

/// Returns the row of a finding, without the columns that are the same for the whole session.
fn row(finding: &FindingRow) -> Vec<Cell> {
    vec![
        Cell::firm(finding.at.short()),
        findings::severity(finding),
        Cell::firm(&finding.rule),
        findings::action(finding),
        Cell::new(line::what(finding)),
    ]
}
