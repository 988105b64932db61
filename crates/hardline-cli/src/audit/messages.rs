//! `hardline audit messages`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use hardline_proxy::audit::read::MessageRow;

use super::Filter;
use super::list::{List, context, outcome, verdict_color};
use crate::terminal::table::{Cell, Layout};

/// List messages, newest last
///
/// Each session stores up to 1000 messages per second as rows; further messages are only counted.
#[derive(Debug, clap::Args)]
pub(super) struct AuditMessagesArgs {
    #[command(flatten)]
    filter: Filter,

    /// Show at most N messages, the newest ones
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
}

const LAYOUT: Layout = Layout::cut(
    &[
        "TIME (UTC)",
        "SERVER",
        "FROM",
        "METHOD",
        "TOOL",
        "ID",
        "BYTES",
        "LATENCY",
        "VERDICT",
        "BODY",
    ],
    6,
);

pub(super) fn run(args: &AuditMessagesArgs) -> Result<ExitCode> {
    let reader = args.filter.open()?;
    let query = args.filter.query(args.limit);
    let mut list = List::new(args.filter.style, LAYOUT);
    let written = (|| {
        list.begin("messages", true)?;
        context(reader.messages(&query, |message| list.add(&message, row)))?;
        list.end("no messages", Layout::NONE)?;
        // A flood has more messages than rows; the count shows the difference.
        let counted = context(reader.counted(&query).map_err(Into::into))?;
        if counted > 0 {
            list.say(&format!("{counted} more messages were only counted and have no row"))?;
        }
        list.member("counted", &counted)?;
        list.finish()
    })();
    outcome(written)
}

fn row(message: &MessageRow) -> Vec<Cell> {
    let or_nothing = |text: &Option<String>| Cell::new(text.as_deref().unwrap_or_default());
    let from = if message.direction == "client-to-server" { "client" } else { "server" };
    vec![
        Cell::firm(message.at.short()),
        Cell::new(&message.server),
        Cell::firm(from),
        Cell::firm(message.method.as_deref().unwrap_or_default()),
        or_nothing(&message.tool),
        or_nothing(&message.id),
        Cell::number(message.bytes),
        Cell::right(message.latency.map(latency).unwrap_or_default()),
        Cell::firm(&message.verdict).style(verdict_color(&message.verdict)),
        or_nothing(&message.body),
    ]
}

fn latency(micros: u64) -> String {
    let time = Duration::from_micros(micros);
    match micros {
        0..1000 => format!("{micros} µs"),
        1000..10_000_000 => format!("{} ms", time.as_millis()),
        _ => format!("{} s", time.as_secs()),
    }
}
