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

/// Declares the row of both tables, and the SQL that selects it. Each field has its column in
/// `events` and its column in `launches`.
macro_rules! event_row {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident: $type:ty = $event:literal or $launch:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Serialize)]
        #[non_exhaustive]
        pub struct $name {
            /// Time of the event.
            pub at: Time,
            /// Key of the session.
            pub session: String,
            /// Name of the server.
            pub server: String,
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $name {
            pub(in crate::audit) fn read(row: &Row<'_>) -> Result<Self> {
                Ok(Self {
                    at: Time::read(row, "at")?,
                    session: String::read(row, "key")?,
                    server: String::read(row, "server")?,
                    $($field: Stored::read(row, stringify!($field))?,)*
                })
            }
        }

        /// Selects the events with ids after `?5`, and the launches with ids after `?6`.
        pub(in crate::audit) const EVENTS: &str = concat!(
            "SELECT FALSE AS is_launch, id, session, seq, at",
            $(", ", $event, " AS ", stringify!($field),)* " FROM events WHERE ?5 < id ",
            "UNION ALL SELECT TRUE, id, session, seq, at",
            $(", ", $launch,)* " FROM launches WHERE ?6 < id"
        );
    };
}

event_row! {
    /// An event other than a message or finding: a launch, a restart, an end.
    pub struct EventRow {
        /// Kind of event: `launch` for a started server.
        pub kind: String = "kind" or "'launch'",
        /// Description of the event.
        pub text: String = "text" or "argv",
        /// SHA-256 of the started executable.
        pub sha256: Option<String> = "NULL" or "sha256",
    }
}
