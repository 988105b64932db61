//! `hardline audit prune`.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use bytesize::ByteSize;
use hardline_proxy::audit::{self, Retention};

use super::{DatabaseArg, now};
use crate::argument::read_size;
use crate::duration;

/// Delete old records now, and shrink the database file
///
/// Sessions also do this, once an hour: they delete messages after 30 days, findings and sessions
/// after 180 days, and the oldest messages while the database is larger than 256 MiB.
#[derive(Debug, clap::Args)]
pub(super) struct AuditPruneArgs {
    #[command(flatten)]
    database: DatabaseArg,

    /// Delete messages older than this, such as 30d
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = duration::read_age)]
    older_than: Duration,

    /// Delete sessions and their findings that are older than this
    #[arg(long, value_name = "AGE", default_value = "180d", value_parser = duration::read_age)]
    findings_older_than: Duration,

    /// Delete the oldest messages, then the oldest sessions, until the database is no larger than
    /// this
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = read_size)]
    max_size: ByteSize,
}

pub(super) fn run(args: &AuditPruneArgs) -> Result<ExitCode> {
    let path = args.database.path()?;
    let mut retention = Retention::default();
    retention.messages = args.older_than;
    retention.findings = args.findings_older_than;
    retention.max_bytes = args.max_size.as_u64();
    let pruned = audit::prune(&path, &retention, now())?;
    // Pruning succeeded even if standard output is closed.
    let _ = writeln!(
        io::stdout(),
        "deleted {} messages, {} counters and {} sessions; the file is {} smaller",
        pruned.messages,
        pruned.counters,
        pruned.sessions,
        ByteSize::b(pruned.bytes)
    );
    Ok(ExitCode::SUCCESS)
}
