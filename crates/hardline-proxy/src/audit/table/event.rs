//! Tables `events` and `launches`, which readers get as one list.

use std::path::PathBuf;

use rusqlite::{Result, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::{MAX_NAME_BYTES, Stored, cut, insert, json, placeholder, text};
use crate::audit::time::Time;

/// A start of a server.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the launcher fills in every field")]
pub struct Launch {
    /// Command line. Secrets in it are redacted.
    pub argv: Vec<String>,
    /// Path of the executable that the first word names.
    pub path: Option<PathBuf>,
    /// SHA-256 of the executable, in hexadecimal.
    pub sha256: Option<String>,
}

/// An event other than a message, finding or launch.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::audit) struct EventRecord {
    pub(in crate::audit) seq: i64,
    pub(in crate::audit) at: i64,
    pub(in crate::audit) kind: String,
    pub(in crate::audit) text: String,
}

impl EventRecord {
    pub(in crate::audit) fn new(seq: i64, at: i64, kind: &str, what: &str) -> Self {
        Self { seq, at, kind: cut(kind, MAX_NAME_BYTES).to_owned(), text: text(what) }
    }

    pub(in crate::audit) fn insert(
        &self,
        transaction: &Transaction<'_>,
        session: i64,
    ) -> Result<()> {
        insert!(transaction, "INSERT OR IGNORE INTO events", {
            session: session,
            seq: self.seq,
            at: self.at,
            kind: self.kind,
            text: self.text,
        })?;
        // The client's name is shown with the session, so it is stored there as well.
        if self.kind == "client" {
            let sql = "UPDATE sessions SET client = ?2 WHERE id = ?1";
            transaction.execute(sql, params![session, self.text])?;
        }
        Ok(())
    }
}

/// A start of a server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::audit) struct LaunchRecord {
    pub(in crate::audit) seq: i64,
    pub(in crate::audit) at: i64,
    pub(in crate::audit) argv: Vec<String>,
    pub(in crate::audit) path: Option<String>,
    pub(in crate::audit) sha256: Option<String>,
}

impl LaunchRecord {
    pub(in crate::audit) fn new(seq: i64, at: i64, launch: &Launch) -> Self {
        Self {
            seq,
            at,
            argv: launch.argv.clone(),
            path: launch.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
            sha256: launch.sha256.clone(),
        }
    }

    pub(in crate::audit) fn insert(
        &self,
        transaction: &Transaction<'_>,
        session: i64,
    ) -> Result<()> {
        insert!(transaction, "INSERT OR IGNORE INTO launches", {
            session: session,
            seq: self.seq,
            at: self.at,
            argv: json(&self.argv),
            path: self.path,
            sha256: self.sha256,
        })?;
        Ok(())
    }
}

/// An event other than a message or finding: a launch, a restart, an end.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EventRow {
    /// Time of the event.
    pub at: Time,
    /// Key of the session.
    pub session: String,
    /// Name of the server.
    pub server: String,
    /// Kind of event: `launch` for a started server.
    pub kind: String,
    /// Description of the event.
    pub text: String,
    /// SHA-256 of the started executable.
    pub sha256: Option<String>,
}

impl EventRow {
    pub(in crate::audit) fn read(row: &Row<'_>) -> Result<Self> {
        // Launches are in a table of their own, without a kind.
        let kind: Option<String> = row.get("kind")?;
        Ok(Self {
            at: Time::read(row, "at")?,
            session: row.get("key")?,
            server: row.get("server")?,
            kind: kind.unwrap_or_else(|| "launch".to_owned()),
            text: row.get("text")?,
            sha256: row.get("sha256")?,
        })
    }
}
