//! What happened, kept in a database: sessions, launches, messages, findings.
//!
//! [`Audit`] is the end that a relay holds. It copies what it is told into a bounded queue and
//! returns; a thread of its own writes that to the database, which many processes share. Nothing here
//! waits for a disk but that thread, and whatever goes wrong there costs a warning.
//!
//! Invariants:
//! - A finding's text is told after the commit that holds the finding, or, if the database cannot be
//!   written, after the finding stands in a file beside it. If neither works, a warning says so.
//! - Every message is counted: as a row of its own, or in a counter of its method and second.
//! - What is queued is bounded. Over the bound findings and messages are merged and counted, not lost.
//! - The clock is asked by the thread alone.

mod body;
mod clock;
mod count;
mod desk;
mod queue;
pub mod read;
mod record;
mod spill;
mod store;
pub mod time;
mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hardline_guard::{Direction, Found};
use hardline_wire::id::Id;
use thiserror::Error;

use store::{Store, StoreError};
use writer::Writer;

pub use store::Pruned;

/// How long a session waits for its last records at its end, unless it says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// The name of the database in the state directory.
pub const FILE_NAME: &str = "audit.db";

/// Where and what is kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The database. Its directory is made if there is none.
    pub path: PathBuf,
    /// Whether the text of messages is kept, redacted and cut.
    pub bodies: bool,
    /// What is dropped, and when.
    pub retention: Retention,
}

impl Options {
    /// Keeps everything but bodies, for the usual time.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), bodies: false, retention: Retention::default() }
    }
}

/// How long records are kept. What is too old goes first, then, if there is too much, the oldest
/// messages, and findings only when there are no more messages to drop.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Retention {
    /// How long messages and their counters are kept. 30 days.
    pub messages: Duration,
    /// How long sessions, launches, events and findings are kept. 180 days.
    pub findings: Duration,
    /// How large the database may be, in bytes. 256 MiB.
    pub max_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self { messages: DAY * 30, findings: DAY * 180, max_bytes: 256 << 20 }
    }
}

/// What is known of a session when it begins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionStart {
    /// The server's name, as the policy has it.
    pub server: String,
    /// The server's command line. Secrets in it are redacted.
    pub command: Vec<String>,
    /// The profile in force.
    pub profile: String,
    /// Our own version.
    pub version: String,
    /// Our process.
    pub pid: u32,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
}

impl SessionStart {
    /// A session with a server of this name, in this process.
    pub fn new(server: impl Into<String>, command: Vec<String>, profile: &str) -> Self {
        Self {
            server: server.into(),
            command,
            profile: profile.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            cwd: std::env::current_dir().ok(),
        }
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a contract: queries compare with these four")]
pub enum Fate {
    /// It went on as it came.
    Passed,
    /// It went on, made harmless.
    Sanitized,
    /// It did not go on.
    Blocked,
    /// It did not go on, and its sender got an answer from us.
    Answered,
}

impl Fate {
    /// Its name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Sanitized => "sanitized",
            Self::Blocked => "blocked",
            Self::Answered => "answered",
        }
    }
}

/// A message that was seen. All of it is borrowed: nothing is copied of a message that is only counted.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "whoever relays a message fills in all of it")]
pub struct Seen<'a> {
    /// Which way it goes.
    pub direction: Direction,
    /// Its method; for an answer, that of its request, if known.
    pub method: Option<&'a str>,
    /// The tool that is called, or that the answer is from.
    pub tool: Option<&'a str>,
    /// Its id.
    pub id: Option<&'a Id<'a>>,
    /// How many bytes it has.
    pub bytes: usize,
    /// For an answer, the time since its request.
    pub latency: Option<Duration>,
    /// What became of it.
    pub fate: Fate,
    /// The line as it came. Looked at only if bodies are kept.
    pub body: &'a [u8],
}

/// A server that is started.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "whoever starts a server fills in all of it")]
pub struct Launch {
    /// The command line. Secrets in it are redacted.
    pub argv: Vec<String>,
    /// The executable that the first word stands for.
    pub path: Option<PathBuf>,
    /// Its SHA-256, in hexadecimal.
    pub sha256: Option<String>,
}

/// What the audit has to say on standard error.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "whoever tells must tell each")]
pub enum Tell {
    /// A text that was given with a finding, which is now kept.
    Shown(String),
    /// Something is wrong with the database. The session goes on.
    Warning(String),
    /// Findings that could be kept nowhere, at the end, each in words. Their texts, if they had one, were told
    /// before.
    Unkept(Vec<String>),
}

/// Whom the thread tells.
pub type Teller = Box<dyn Fn(Tell) + Send>;

/// The end that a relay holds.
///
/// `now` is always the time since the session began, as the relay has it: it must come from the
/// monotonic clock and be about zero when the audit is opened.
#[derive(Debug)]
pub struct Audit {
    writer: Writer,
}

impl Audit {
    /// Begins a session's records. Does not wait for the disk, and does not fail: what is wrong with the
    /// database comes as [`Tell::Warning`].
    pub fn open(options: Options, session: SessionStart, tell: Teller) -> Self {
        Self { writer: Writer::start(options, session, tell) }
    }

    /// Takes note of a message.
    pub fn message(&mut self, now: Duration, seen: &Seen<'_>) {
        self.writer.queue().message(now, seen);
    }

    /// Takes note of a finding. `shown` is told once the finding is kept; its caller sees to it that
    /// not too much is shown, as no text is left out here.
    pub fn finding(&mut self, now: Duration, found: &Found, shown: Option<String>) {
        if let Some(untold) = self.writer.queue().finding(now, found, shown) {
            self.writer.tell(untold);
        }
    }

    /// Takes note of something else that happened. `kind` is a short word: `server-ended`, `restarted`;
    /// the text of a `client` names the client of the session.
    pub fn event(&mut self, now: Duration, kind: &str, text: &str) {
        self.writer.queue().event(now, kind, text);
    }

    /// Takes note that a server is started.
    pub fn launch(&mut self, now: Duration, launch: &Launch) {
        self.writer.queue().launch(now, launch);
    }

    /// Ends the session's records: waits until all is written and told, for `patience` at most.
    pub fn close(mut self, now: Duration, outcome: &str, patience: Duration) {
        self.writer.end(Some((now, outcome)), patience);
    }
}

/// An audit that nobody closed keeps what it was told, and its session has no end.
impl Drop for Audit {
    fn drop(&mut self) {
        self.writer.end(None, PATIENCE);
    }
}

/// Drops what is too old or too much, now, until there is nothing more to drop.
///
/// # Errors
///
/// [`PruneError`] if the database cannot be written.
pub fn prune(path: &Path, retention: &Retention, now: SystemTime) -> Result<Pruned, PruneError> {
    if !path.exists() {
        return Err(PruneError("there is none".to_owned()));
    }
    let failed = |error: StoreError| PruneError(error.to_string());
    let mut store = Store::open(path).map_err(failed)?;
    let mut all = Pruned::default();
    while let Some(step) = store.prune(retention, micros(now)).map_err(failed)? {
        all.add(step);
    }
    Ok(all)
}

/// How many sessions left records beside a database that it does not have yet.
pub fn waiting(path: &Path) -> usize {
    spill::waiting(path).count()
}

/// Why a database cannot be pruned.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("cannot prune the audit database: {0}")]
pub struct PruneError(String);

/// Microseconds since 1970.
fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
