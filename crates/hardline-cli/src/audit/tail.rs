//! `hardline audit tail`.

use std::io::Write;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use anstream::ColorChoice;
use anstyle::Style as Ansi;
use anyhow::Result;
use hardline_proxy::audit::read::{EventRow, FindingRow, Marks, Query, Reader};
use hardline_wire::excerpt::Excerpt;
use serde::Serialize;

use super::list::{choice, color, context, is_closed, is_unread, output};
use super::{Filter, Format, Rules, line};
use crate::json;

/// Polling interval for the database.
const INTERVAL: Duration = Duration::from_millis(250);
/// Limit on the text of a line, in bytes.
const MAX_TEXT_BYTES: usize = 2000;

/// Print findings and events as they are stored, until Ctrl-C
///
/// With --rule or --severity: findings only.
#[derive(Debug, clap::Args)]
pub(super) struct AuditTailArgs {
    #[command(flatten)]
    filter: Filter,

    #[command(flatten)]
    rules: Rules,

    /// First print the newest N records
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u32,

    /// Print those and exit
    #[arg(long)]
    no_follow: bool,
}

/// A line of JSON output.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Entry<'a> {
    Finding(&'a FindingRow),
    Event(&'a EventRow),
}

pub(super) fn run(args: &AuditTailArgs) -> Result<ExitCode> {
    let mut query = args.filter.query(args.limit);
    args.rules.add_to(&mut query);
    match follow(args, query) {
        Err(error) if is_closed(&error) => Ok(ExitCode::SUCCESS),
        other => other.map(|()| ExitCode::SUCCESS),
    }
}

fn follow(args: &AuditTailArgs, mut query: Query) -> Result<()> {
    let mut reader = args.filter.open()?;
    let path = args.filter.database.path()?;
    let mut marks = Marks::default();
    // Taken before the first query, so that nothing is missed in between.
    let newest = context(reader.newest().map_err(Into::into))?;
    let choice = choice(args.filter.style);
    let mut out = output(choice);
    let mut is_first = true;
    loop {
        let (findings, events) = context(reader.since(&mut marks, &query).map_err(Into::into))?;
        let mut entries: Vec<_> = events.iter().map(|it| (it.at, Entry::Event(it))).collect();
        entries.extend(findings.iter().map(|it| (it.at, Entry::Finding(it))));
        // The sort is stable, so a start stays ahead of the findings about it with the same time.
        entries.sort_by_key(|(at, _)| *at);
        let skipped = entries.len().saturating_sub(args.limit as usize);
        for (_, entry) in entries.iter().skip(if is_first { skipped } else { 0 }) {
            match args.filter.style.format {
                Format::Text => print(&mut out, entry, choice != ColorChoice::Never)?,
                Format::Json => writeln!(out, "{}", json::line(entry)?)?,
            }
        }
        out.flush()?;
        // Without this check, `tail | head` would run until the next record.
        if args.no_follow || is_unread() {
            return Ok(());
        }
        if std::mem::take(&mut is_first) {
            marks.advance(newest);
            query.limit = u32::MAX;
        }
        sleep(INTERVAL);
        // A corrupt database is replaced by an empty one.
        if reader.is_replaced(&path)
            && let Ok(new) = Reader::open(&path)
        {
            (reader, marks) = (new, Marks::default());
        }
    }
}

fn print(out: &mut dyn Write, entry: &Entry<'_>, is_colored: bool) -> Result<()> {
    let styled = |style: Ansi| if is_colored { style } else { Ansi::new() };
    // Stored excerpts are already escaped, so their backslashes stay.
    let show = |text: &str| Excerpt::of_json(text, MAX_TEXT_BYTES).to_string();
    match entry {
        Entry::Finding(finding) => {
            let FindingRow { at, server, severity, rule, action, .. } = finding;
            let (time, server) = (at.short(), show(server));
            let (color, bold) = (styled(color(severity)), styled(Ansi::new().bold()));
            let what = show(&line::what(finding));
            let rule = show(rule);
            writeln!(
                out,
                "{time} {server}: {color}{severity}{color:#} {bold}{rule}{bold:#} ({action}): {what}"
            )?;
        }
        Entry::Event(event) => {
            let (time, server, kind) = (event.at.short(), show(&event.server), show(&event.kind));
            let dim = styled(Ansi::new().dimmed());
            writeln!(out, "{dim}{time} {server}: {kind}: {}{dim:#}", show(&line::happened(event)))?;
        }
    }
    Ok(())
}
