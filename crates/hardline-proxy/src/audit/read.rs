//! The database, read by whoever wants to know what happened.
//!
//! Nothing is ever changed. Readers get along with any number of sessions that write, and with a
//! directory that cannot be written.

use std::fs;
use std::path::{Path, PathBuf};

use hardline_guard::Severity;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};
use serde::Serialize;
use thiserror::Error;

use super::store::{self, StoreError, beside};
use super::time::Time;

/// The database, open for reading.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
    may_miss_newest: bool,
}

/// Which records are wanted. Those of all sessions unless it says otherwise.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Query {
    /// Of servers with this name.
    pub server: Option<String>,
    /// Of sessions whose key begins so.
    pub session: Option<String>,
    /// At this time or later; of sessions those that were heard of since.
    pub since: Option<Time>,
    /// Findings of this rule, or of a layer if it ends with a dot and a star.
    pub rule: Option<String>,
    /// Findings of this severity or above.
    pub severity: Severity,
    /// The newest so many.
    pub limit: u32,
}

impl Default for Query {
    fn default() -> Self {
        let severity = Severity::Low;
        Self { server: None, session: None, since: None, rule: None, severity, limit: 100 }
    }
}

/// A session.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Session {
    /// Its key: 16 hexadecimal digits.
    pub session: String,
    /// The server's name.
    pub server: String,
    /// The server's command line, as a JSON array.
    #[serde(serialize_with = "raw")]
    pub command: String,
    /// The profile in force.
    pub profile: String,
    /// The version of Hardline.
    pub version: String,
    /// The client, as it names itself.
    pub client: Option<String>,
    /// The process that relays.
    pub pid: u32,
    /// Where it runs.
    pub cwd: Option<String>,
    /// When it began.
    pub started: Time,
    /// When it was last heard of.
    pub seen: Time,
    /// When it ended. None if it runs, or was killed.
    pub ended: Option<Time>,
    /// How it ended.
    pub outcome: Option<String>,
    /// Messages, in both directions.
    pub messages: u64,
    /// The bytes of those.
    pub bytes: u64,
    /// Findings.
    pub findings: u64,
}

/// A finding.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// When it was found.
    pub at: Time,
    /// The session's key.
    pub session: String,
    /// The server's name.
    pub server: String,
    /// The rule.
    pub rule: String,
    /// How bad it is.
    pub severity: String,
    /// Which way the frame went.
    pub direction: String,
    /// What was done about it.
    pub action: String,
    /// Where in the frame's JSON it was.
    pub path: Option<String>,
    /// Where it started in the frame, in bytes.
    pub offset: u64,
    /// How many bytes it took there.
    pub length: u64,
    /// What stood there.
    pub excerpt: String,
    /// What it is, in words.
    pub detail: String,
    /// How many findings of this kind it stands for.
    pub count: u64,
}

/// A message that has a row of its own.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Message {
    /// When it was seen.
    pub at: Time,
    /// The session's key.
    pub session: String,
    /// The server's name.
    pub server: String,
    /// Which way it went.
    pub direction: String,
    /// Its method, or that of the request that it answers.
    pub method: Option<String>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// Its id, as JSON.
    pub id: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// For an answer, the microseconds since its request.
    pub latency: Option<u64>,
    /// What became of it.
    pub verdict: String,
    /// Its text, redacted and cut, if bodies were kept.
    pub body: Option<String>,
}

/// Something else that happened: a launch, a restart, an end.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// When.
    pub at: Time,
    /// The session's key.
    pub session: String,
    /// The server's name.
    pub server: String,
    /// What kind of event: `launch` for a server that was started.
    pub kind: String,
    /// What happened, in words.
    pub text: String,
    /// The SHA-256 of what was started.
    pub sha256: Option<String>,
}

/// Up to where somebody has read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    findings: i64,
    events: i64,
    launches: i64,
}

/// Why the database cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is none.
    #[error("there is no audit database at {}: `hardline wrap` makes it", .0.display())]
    Missing(PathBuf),
    /// It was made by a newer version.
    #[error("{} was made by a newer version of hardline", .0.display())]
    Newer(PathBuf),
    /// It is something else.
    #[error("{} is no audit database", .0.display())]
    Foreign(PathBuf),
    /// The database says so.
    #[error("cannot read {}: {error}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What is wrong.
        error: rusqlite::Error,
    },
}

impl Reader {
    /// Opens a database.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if there is none, or it is none of ours.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if !fs::exists(path).unwrap_or(true) {
            return Err(ReadError::Missing(path.to_owned()));
        }
        let opened = match connect(path, false) {
            Err(StoreError::Database(error)) if is_unwritable(&error) => {
                let log = fs::metadata(beside(path, "-wal"));
                let may_miss_newest = log.is_ok_and(|it| 0 < it.len());
                connect(path, true).map(|connection| Self { connection, may_miss_newest })
            }
            other => other.map(|connection| Self { connection, may_miss_newest: false }),
        };
        opened.map_err(|error| match error {
            StoreError::Newer(_) => ReadError::Newer(path.to_owned()),
            StoreError::Database(error)
                if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) =>
            {
                ReadError::Database { path: path.to_owned(), error }
            }
            _ => ReadError::Foreign(path.to_owned()),
        })
    }

    /// Whether the newest records cannot be seen, because the directory cannot be written.
    pub fn may_miss_newest(&self) -> bool {
        self.may_miss_newest
    }

    /// Sessions, oldest first.
    ///
    /// # Errors
    ///
    /// What the database says, or what `each` says.
    pub fn sessions<E: From<rusqlite::Error>>(
        &self,
        query: &Query,
        mut each: impl FnMut(Session) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.connection.prepare(
            "SELECT * FROM (
               SELECT id, key, server, command, profile, version, client, pid, cwd, started, seen,
                 ended, outcome, messages, bytes, findings
               FROM sessions s
               WHERE (?1 IS NULL OR s.server = ?1)
                 AND (?2 IS NULL OR substr(s.key, 1, length(?2)) = ?2) AND ?3 <= s.seen
               ORDER BY started DESC, id DESC LIMIT ?4)
             ORDER BY started, id",
        )?;
        let mut rows = statement.query(params![
            query.server,
            query.session,
            query.since_micros(),
            query.limit
        ])?;
        while let Some(row) = rows.next()? {
            each(Session {
                session: row.get(1)?,
                server: row.get(2)?,
                command: row.get(3)?,
                profile: row.get(4)?,
                version: row.get(5)?,
                client: row.get(6)?,
                pid: row.get(7)?,
                cwd: row.get(8)?,
                started: Time(row.get(9)?),
                seen: Time(row.get(10)?),
                ended: row.get::<_, Option<i64>>(11)?.map(Time),
                outcome: row.get(12)?,
                messages: count(row, 13)?,
                bytes: count(row, 14)?,
                findings: count(row, 15)?,
            })?;
        }
        Ok(())
    }

    /// Findings, oldest first.
    ///
    /// # Errors
    ///
    /// What the database says, or what `each` says.
    pub fn findings<E: From<rusqlite::Error>>(
        &self,
        query: &Query,
        each: impl FnMut(Finding) -> Result<(), E>,
    ) -> Result<(), E> {
        self.findings_after(0, query, each).map(drop)
    }

    fn findings_after<E: From<rusqlite::Error>>(
        &self,
        after: i64,
        query: &Query,
        mut each: impl FnMut(Finding) -> Result<(), E>,
    ) -> Result<i64, E> {
        let mut statement = self.connection.prepare(
            "SELECT * FROM (
               SELECT f.id, at, key, server, rule, severity, direction, action, path, \"offset\",
                 length, excerpt, detail, count
               FROM findings f JOIN sessions s ON s.id = f.session
               WHERE (?1 IS NULL OR s.server = ?1)
                 AND (?2 IS NULL OR substr(s.key, 1, length(?2)) = ?2) AND ?3 <= at
                 AND (?5 IS NULL OR rule GLOB ?5)
                 AND instr(?6, severity) AND ?7 < f.id
               ORDER BY f.id DESC LIMIT ?4)
             ORDER BY id",
        )?;
        let rule = query.rule.as_deref();
        let mut rows = statement.query(params![
            query.server,
            query.session,
            query.since_micros(),
            query.limit,
            rule,
            query.severities(),
            after
        ])?;
        let mut last = after;
        while let Some(row) = rows.next()? {
            last = row.get(0)?;
            each(Finding {
                at: Time(row.get(1)?),
                session: row.get(2)?,
                server: row.get(3)?,
                rule: row.get(4)?,
                severity: row.get(5)?,
                direction: row.get(6)?,
                action: row.get(7)?,
                path: row.get(8)?,
                offset: count(row, 9)?,
                length: count(row, 10)?,
                excerpt: row.get(11)?,
                detail: row.get(12)?,
                count: count(row, 13)?,
            })?;
        }
        Ok(last)
    }

    /// Messages that have rows of their own, oldest first.
    ///
    /// # Errors
    ///
    /// What the database says, or what `each` says.
    pub fn messages<E: From<rusqlite::Error>>(
        &self,
        query: &Query,
        mut each: impl FnMut(Message) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.connection.prepare(
            "SELECT * FROM (
               SELECT m.id, at, key, server, direction, method, tool, request, m.bytes, latency,
                 verdict, body
               FROM messages m JOIN sessions s ON s.id = m.session
               WHERE (?1 IS NULL OR s.server = ?1)
                 AND (?2 IS NULL OR substr(s.key, 1, length(?2)) = ?2) AND ?3 <= at
               ORDER BY m.id DESC LIMIT ?4)
             ORDER BY id",
        )?;
        let mut rows = statement.query(params![
            query.server,
            query.session,
            query.since_micros(),
            query.limit
        ])?;
        while let Some(row) = rows.next()? {
            each(Message {
                at: Time(row.get(1)?),
                session: row.get(2)?,
                server: row.get(3)?,
                direction: row.get(4)?,
                method: row.get(5)?,
                tool: row.get(6)?,
                id: row.get(7)?,
                bytes: count(row, 8)?,
                latency: row.get::<_, Option<i64>>(9)?.and_then(|it| u64::try_from(it).ok()),
                verdict: row.get(10)?,
                body: row.get(11)?,
            })?;
        }
        Ok(())
    }

    /// How many messages were counted and have no rows.
    ///
    /// # Errors
    ///
    /// What the database says.
    pub fn counted(&self, query: &Query) -> Result<u64, rusqlite::Error> {
        self.connection.query_row(
            "SELECT coalesce(sum(c.messages), 0)
             FROM counters c JOIN sessions s ON s.id = c.session
             WHERE (?1 IS NULL OR s.server = ?1)
               AND (?2 IS NULL OR substr(s.key, 1, length(?2)) = ?2) AND ?3 <= second",
            params![query.server, query.session, query.since_micros()],
            |row| count(row, 0),
        )
    }

    /// Events and launches, oldest first.
    ///
    /// # Errors
    ///
    /// What the database says, or what `each` says.
    pub fn events<E: From<rusqlite::Error>>(
        &self,
        query: &Query,
        each: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        self.events_after(&mut Marks::default(), query, each)
    }

    fn events_after<E: From<rusqlite::Error>>(
        &self,
        marks: &mut Marks,
        query: &Query,
        mut each: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.connection.prepare(
            "SELECT * FROM (
               SELECT kind IS NULL, id, at, key, server, kind, text, sha256 FROM (
                 SELECT id, session, at, kind, text, NULL AS sha256 FROM events WHERE ?5 < id
                 UNION ALL
                 SELECT id, session, at, NULL, argv, sha256 FROM launches WHERE ?6 < id)
               JOIN (SELECT id AS its, key, server FROM sessions) ON its = session
               WHERE (?1 IS NULL OR server = ?1)
                 AND (?2 IS NULL OR substr(key, 1, length(?2)) = ?2) AND ?3 <= at
               ORDER BY at DESC LIMIT ?4)
             ORDER BY at",
        )?;
        let mut rows = statement.query(params![
            query.server,
            query.session,
            query.since_micros(),
            query.limit,
            marks.events,
            marks.launches
        ])?;
        while let Some(row) = rows.next()? {
            let is_launch: bool = row.get(0)?;
            let mark = if is_launch { &mut marks.launches } else { &mut marks.events };
            *mark = (*mark).max(row.get(1)?);
            let kind: Option<String> = row.get(5)?;
            each(Event {
                at: Time(row.get(2)?),
                session: row.get(3)?,
                server: row.get(4)?,
                kind: kind.unwrap_or_else(|| "launch".to_owned()),
                text: row.get(6)?,
                sha256: row.get(7)?,
            })?;
        }
        Ok(())
    }

    /// Findings and events that came since, each kind in its order.
    ///
    /// # Errors
    ///
    /// What the database says.
    pub fn since(
        &self,
        marks: &mut Marks,
        query: &Query,
    ) -> Result<(Vec<Finding>, Vec<Event>), rusqlite::Error> {
        let (mut findings, mut events) = (Vec::new(), Vec::new());
        let wants_events = query.rule.is_none() && query.severity == Severity::Low;
        marks.findings = self.findings_after::<rusqlite::Error>(marks.findings, query, |it| {
            findings.push(it);
            Ok(())
        })?;
        if wants_events {
            self.events_after::<rusqlite::Error>(marks, query, |it| {
                events.push(it);
                Ok(())
            })?;
        }
        Ok((findings, events))
    }
}

impl Query {
    fn since_micros(&self) -> i64 {
        self.since.map_or(i64::MIN, |since| since.0)
    }

    /// Names of the severities that are wanted.
    fn severities(&self) -> String {
        let wanted = Severity::ALL.into_iter().filter(|it| self.severity <= *it);
        wanted.map(Severity::name).collect::<Vec<_>>().join(" ")
    }
}

fn connect(path: &Path, is_immutable: bool) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = if is_immutable {
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(uri(path), flags)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    connection.busy_timeout(store::BUSY * 8)?;
    connection.pragma_update(None, "cache_size", -2048)?;
    // A first look at the tables, too: the log beside them may be out of reach.
    if store::check(&connection)? {
        let sql = "SELECT count(*) FROM housekeeping";
        connection.query_row(sql, (), |_| Ok(()))?;
        return Ok(connection);
    }
    Err(StoreError::Foreign)
}

/// Whether SQLite wants to write to the directory, and cannot.
fn is_unwritable(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
}

fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

fn count(row: &Row<'_>, index: usize) -> Result<u64, rusqlite::Error> {
    Ok(u64::try_from(row.get::<_, i64>(index)?).unwrap_or(0))
}

/// A text that is JSON itself.
fn raw<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let words: Vec<String> = serde_json::from_str(text).unwrap_or_default();
    words.serialize(serializer)
}
