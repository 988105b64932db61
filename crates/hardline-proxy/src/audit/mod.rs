//! The audit log: sessions, launches, messages and findings in a database.
//!
//! [`AuditWriter`] is the handle of a session. It copies each record into a bounded queue and returns. A
//! thread of its own writes the queue to the database, which many processes share. Only that thread
//! waits for a disk, and a failure there causes a warning and nothing else.
//!
//! Invariants:
//! - The text of a finding is printed after the commit that contains the finding. If the database
//!   cannot be written, it is printed after the finding is in a spill file. If neither works, a
//!   warning says so.
//! - Every message is counted: as a row of its own, or in a counter for its method and second.
//! - The queue is bounded. Over the bound, findings and messages are merged and counted, not lost.
//! - Only the thread reads the clock.

mod body;
mod clock;
mod count;
mod queue;
pub mod read;
mod spill;
mod store;
mod table;
mod thread;
pub mod time;
mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use thiserror::Error;

use crate::verdict::Verdict;
use store::{Store, StoreError};

pub use store::Pruned;
pub use table::{Launch, LoggedMessage, SessionStart};
pub use writer::AuditWriter;

/// Default time for which the end of a session waits for its last records.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// File name of the database in the state directory.
pub const FILE_NAME: &str = "audit.db";

/// Settings of an audit log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Path of the database. Its directory is created if needed.
    pub path: PathBuf,
    /// True to store the text of messages, redacted and shortened.
    pub bodies: bool,
    /// Rules for deleting old records.
    pub retention: Retention,
}

impl Options {
    /// Returns settings with default retention and without message texts.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), bodies: false, retention: Retention::default() }
    }
}

/// Limits on age and size of the records. Records that are too old are deleted first. If the
/// database is still too large, the oldest messages are deleted, and findings only when no messages
/// are left.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Retention {
    /// Maximum age of messages and their counters. Default: 30 days.
    pub messages: Duration,
    /// Maximum age of sessions, launches, events and findings. Default: 180 days.
    pub findings: Duration,
    /// Maximum size of the database in bytes. Default: 256 MiB.
    pub max_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self { messages: DAY * 30, findings: DAY * 180, max_bytes: 256 << 20 }
    }
}

/// Text of the writer thread for standard error.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the receiver must print each kind")]
pub enum Output {
    /// The text of a finding that is now stored.
    Finding(String),
    /// A problem with the database. The session continues.
    Warning(String),
    /// Findings that could not be stored anywhere, each described in words. Sent at the end of a
    /// session. Their texts, if any, were sent before.
    Unstored(Vec<String>),
}

/// Callback through which the thread prints texts.
pub type Printer = Box<dyn Fn(Output) + Send>;

/// Deletes all records that are too old or too many.
///
/// # Errors
///
/// [`PruneError`] if the database does not exist or cannot be written.
pub fn prune(path: &Path, retention: &Retention, now: SystemTime) -> Result<Pruned, PruneError> {
    // Opening would create a database.
    if !path.exists() {
        return Err(PruneError("there is none".to_owned()));
    }
    let failed = |error: StoreError| PruneError(error.to_string());
    let mut store = Store::open(path).map_err(failed)?;
    let mut all = Pruned::default();
    // Each step is a short transaction, so that running sessions can write in between.
    while let Some(step) = store.prune(retention, micros(now)).map_err(failed)? {
        all.add(step);
    }
    Ok(all)
}

/// Returns the number of spill files that wait to be imported into the database.
pub fn waiting(path: &Path) -> usize {
    spill::waiting(path).count()
}

/// Error returned when a database cannot be pruned.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("cannot prune the audit database: {0}")]
pub struct PruneError(String);

/// Converts a time to microseconds since 1970.
fn micros(time: SystemTime) -> i64 {
    // A clock before 1970 counts as 1970.
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
