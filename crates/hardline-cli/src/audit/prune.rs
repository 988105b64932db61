//! `hardline audit prune`.

use crate::span;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use bytesize::ByteSize;
use hardline_proxy::audit::{self, Retention};

use super::{Place, now};

/// Drop old records now, and make the file smaller
///
/// Sessions do this by themselves once an hour: messages go after 30 days, findings and sessions after
/// 180, and the oldest messages when the database is larger than 256 MiB.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,

    /// Drop messages older than this, as 30d
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = span::read_age)]
    older_than: Duration,

    /// Drop sessions with their findings that are older than this
    #[arg(long, value_name = "AGE", default_value = "180d", value_parser = span::read_age)]
    findings_older_than: Duration,

    /// Drop the oldest messages, and then the oldest sessions, until the database is no larger
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    max_size: ByteSize,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let path = args.place.path()?;
    let mut retention = Retention::default();
    retention.messages = args.older_than;
    retention.findings = args.findings_older_than;
    retention.max_bytes = args.max_size.as_u64();
    let pruned = audit::prune(&path, &retention, now())?;
    // Nobody may want to know.
    let _ = writeln!(
        io::stdout(),
        "dropped {} messages, {} counters and {} sessions; the file is {} smaller",
        pruned.messages,
        pruned.counters,
        pruned.sessions,
        ByteSize::b(pruned.bytes)
    );
    Ok(ExitCode::SUCCESS)
}
