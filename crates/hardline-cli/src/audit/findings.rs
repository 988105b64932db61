//! `hardline audit findings`.

use std::process::ExitCode;

use anyhow::Result;
use hardline_proxy::audit::read::FindingRow;

use super::list::{List, color, context, outcome, verdict_color};
use super::{Filter, Rules, line};
use crate::terminal::table::{Cell, Layout};

/// List findings, newest last
#[derive(Debug, clap::Args)]
pub(super) struct AuditFindingsArgs {
    #[command(flatten)]
    filter: Filter,

    #[command(flatten)]
    rules: Rules,

    /// Show at most N findings, the newest ones
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
}

const LAYOUT: Layout =
    Layout::cut(&["TIME (UTC)", "SEVERITY", "RULE", "SERVER", "ACTION", "SESSION", "WHAT"], 5);

pub(super) fn run(args: &AuditFindingsArgs) -> Result<ExitCode> {
    let reader = args.filter.open()?;
    let mut query = args.filter.query(args.limit);
    args.rules.add_to(&mut query);
    let mut list = List::new(args.filter.style, LAYOUT);
    let written = (|| {
        list.begin("findings", true)?;
        context(reader.findings(&query, |finding| list.add(&finding, row)))?;
        list.end("no findings", Layout::NONE)?;
        list.finish()
    })();
    outcome(written)
}

fn row(finding: &FindingRow) -> Vec<Cell> {
    vec![
        Cell::firm(finding.at.short()),
        severity(finding),
        Cell::firm(&finding.rule),
        Cell::new(&finding.server),
        action(finding),
        // `audit show` accepts this prefix.
        Cell::firm(finding.session.get(..8).unwrap_or(&finding.session)),
        Cell::new(line::what(finding)),
    ]
}

pub(super) fn severity(finding: &FindingRow) -> Cell {
    Cell::firm(&finding.severity).style(color(&finding.severity))
}

pub(super) fn action(finding: &FindingRow) -> Cell {
    Cell::firm(&finding.action).style(verdict_color(&finding.action))
}
