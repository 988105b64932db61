//! `hardline audit findings`.

use std::process::ExitCode;

use anyhow::Result;
use hardline_proxy::audit::read::Finding;

use super::list::{List, color, context, outcome, verdict_color};
use super::table::Cell;
use super::{Rules, Which, line};

/// List findings, the newest last
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    rules: Rules,

    /// The newest so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
}

pub(super) const HEADS: [&str; 7] =
    ["TIME (UTC)", "SEVERITY", "RULE", "SERVER", "SESSION", "ACTION", "WHAT"];

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let reader = args.which.place.open()?;
    let mut query = args.which.query(args.limit);
    args.rules.add_to(&mut query);
    let mut list = List::new(args.which.style, &HEADS);
    let written = (|| {
        list.begin("findings", true)?;
        context(reader.findings(&query, |finding| list.add(&finding, row)))?;
        list.end("no findings", &[])?;
        list.finish()
    })();
    outcome(written)
}

pub(super) fn row(finding: &Finding) -> Vec<Cell> {
    vec![
        Cell::new(finding.at.short()),
        Cell::new(&finding.severity).style(color(&finding.severity)),
        Cell::new(&finding.rule),
        Cell::new(&finding.server),
        Cell::new(finding.session.get(..8).unwrap_or(&finding.session)),
        Cell::new(&finding.action).style(verdict_color(&finding.action)),
        Cell::new(line::what(finding)),
    ]
}
