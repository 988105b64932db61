//! Table `sessions`: one row per session.

use std::path::PathBuf;

use hardline_guard::redact;
use rusqlite::{Result, Transaction, params};
use serde::{Deserialize, Serialize, Serializer};

use super::{insert, json, placeholder, row};
use crate::audit::time::Time;

/// Description of a session at its start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionStart {
    /// Name of the server in the policy.
    pub server: String,
    /// Command line of the server. Secrets in it are redacted.
    pub command: Vec<String>,
    /// Name of the active profile.
    pub profile: String,
    /// Version of Hardline.
    pub version: String,
    /// Process id of this process.
    pub pid: u32,
    /// Working directory.
    pub cwd: Option<PathBuf>,
}

impl SessionStart {
    /// Describes a session of this process with the named server.
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

/// Start of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::audit) struct SessionRecord {
    /// Random key, unique across processes: 16 hexadecimal digits.
    pub(in crate::audit) key: String,
    pub(in crate::audit) server: String,
    pub(in crate::audit) command: Vec<String>,
    pub(in crate::audit) profile: String,
    pub(in crate::audit) version: String,
    pub(in crate::audit) pid: u32,
    pub(in crate::audit) cwd: Option<String>,
    pub(in crate::audit) started: i64,
}

impl SessionRecord {
    /// Creates the record of a session that began at `started`.
    pub(in crate::audit) fn new(start: SessionStart, key: u64, started: i64) -> Self {
        Self {
            key: format!("{key:016x}"),
            server: start.server,
            command: redact::redact_command(&start.command),
            profile: start.profile,
            version: start.version,
            pid: start.pid,
            cwd: start.cwd.map(|path| path.to_string_lossy().into_owned()),
            started,
        }
    }

    /// Creates the session's row if there is none. Returns the id of the row.
    pub(in crate::audit) fn insert(&self, transaction: &Transaction<'_>) -> Result<i64> {
        // `OR IGNORE`: the session may already have a row, for example from a spill file.
        insert!(transaction, "INSERT OR IGNORE INTO sessions", {
            key: self.key,
            server: self.server,
            command: json(&self.command),
            profile: self.profile,
            version: self.version,
            pid: self.pid,
            cwd: self.cwd,
            started: self.started,
            seen: self.started,
        })?;
        let sql = "SELECT id FROM sessions WHERE key = ?1";
        transaction.query_row(sql, [&self.key], |row| row.get("id"))
    }
}

/// End of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::audit) struct EndRecord {
    pub(in crate::audit) at: i64,
    pub(in crate::audit) outcome: String,
}

impl EndRecord {
    /// Completes the row of a session.
    pub(in crate::audit) fn store(
        &self,
        transaction: &Transaction<'_>,
        session: i64,
    ) -> Result<()> {
        let sql = "UPDATE sessions SET ended = ?2, outcome = ?3 WHERE id = ?1";
        transaction.execute(sql, params![session, self.at, self.outcome])?;
        Ok(())
    }
}

row! {
    /// A session.
    pub struct SessionRow {
        /// Key of the session: 16 hexadecimal digits.
        pub session: String = "key",
        /// Name of the server.
        pub server: String = "server",
        /// Command line of the server, as a JSON array.
        #[serde(serialize_with = "raw")]
        pub command: String = "command",
        /// Name of the active profile.
        pub profile: String = "profile",
        /// Version of Hardline.
        pub version: String = "version",
        /// Name that the client gave itself.
        pub client: Option<String> = "client",
        /// Process id of the relay.
        pub pid: u32 = "pid",
        /// Working directory of the relay.
        pub cwd: Option<String> = "cwd",
        /// Start of the session.
        pub started: Time = "started",
        /// Time of the last record.
        pub seen: Time = "seen",
        /// End of the session. `None` if it still runs or was killed.
        pub ended: Option<Time> = "ended",
        /// Description of the end.
        pub outcome: Option<String> = "outcome",
        /// Number of messages in both directions.
        pub messages: u64 = "messages",
        /// Total length of the messages.
        pub bytes: u64 = "bytes",
        /// Number of findings.
        pub findings: u64 = "findings",
    }
}

/// Serializes a text that contains a JSON array.
fn raw<S: Serializer>(text: &str, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    // Parsed again, so that JSON output contains an array and not a quoted string.
    let words: Vec<String> = serde_json::from_str(text).unwrap_or_default();
    words.serialize(serializer)
}
