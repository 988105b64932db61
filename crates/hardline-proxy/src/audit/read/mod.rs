//! Read access to the audit database.
//!
//! A reader never changes anything. It works beside any number of writing sessions, and in a
//! directory that cannot be written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hardline_guard::Severity;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use thiserror::Error;

use super::store::{self, Identity, StoreError, beside, identity};
use super::table::{EVENTS, Stored};
use super::time::Time;

pub use super::table::{EventRow, FindingRow, MessageRow, SessionRow};

/// The condition of a [`Query`]: `?1` is its server, `?2` its session and `?3` its time. Needs the
/// sessions under the name `s`, and takes the column with the time of a record.
macro_rules! selected {
    ($time:literal) => {
        concat!(
            "(?1 IS NULL OR s.server = ?1)
             AND (?2 IS NULL OR substr(s.key, 1, length(?2)) = ?2) AND ?3 <= ",
            $time
        )
    };
}

/// The audit database, open for reading.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
    may_miss_newest: bool,
    identity: Option<Identity>,
}

/// Filter for records. By default, records of all sessions match.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Query {
    /// Only sessions with servers of this name.
    pub server: Option<String>,
    /// Only sessions whose key starts with this text.
    pub session: Option<String>,
    /// Only records from this time on, and sessions that wrote a record since then.
    pub since: Option<Time>,
    /// Only findings of this rule, or of a whole group if the text ends with `.*`.
    pub rule: Option<String>,
    /// Only findings of this severity or above.
    pub severity: Severity,
    /// Maximum number of records; the newest are returned.
    pub limit: u32,
}

impl Default for Query {
    fn default() -> Self {
        let severity = Severity::Low;
        Self { server: None, session: None, since: None, rule: None, severity, limit: 100 }
    }
}

/// Read position of a caller that follows the log.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    findings: i64,
    events: i64,
    launches: i64,
}

impl Marks {
    /// Moves forward to `other` where `other` is further.
    pub fn advance(&mut self, other: Self) {
        self.findings = self.findings.max(other.findings);
        self.events = self.events.max(other.events);
        self.launches = self.launches.max(other.launches);
    }
}

/// Error of opening the database.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The database does not exist.
    #[error("there is no audit database at {}: `hardline wrap` creates it", .0.display())]
    Missing(PathBuf),
    /// A newer version of Hardline created the database.
    #[error("{} was created by a newer version of hardline; update hardline to read it", .0.display())]
    Newer(PathBuf),
    /// An older version of Hardline created the database, and a reader does not change it.
    #[error("{} was created by an older version of hardline; the next session of `hardline wrap` upgrades it", .0.display())]
    Older(PathBuf),
    /// The file is not an audit database.
    #[error("{} is no audit database", .0.display())]
    Foreign(PathBuf),
    /// The file, or a file that SQLite keeps beside it, cannot be opened.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// SQLite reported an error.
    #[error("cannot read {}: {error}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        error: rusqlite::Error,
    },
}

impl Reader {
    /// Opens a database for reading.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the database does not exist, cannot be read, or is not an audit database.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if !fs::exists(path).unwrap_or(true) {
            return Err(ReadError::Missing(path.to_owned()));
        }
        let identity = identity(path);
        // Taken before the connection, so that a replacement in between is noticed later.
        let opened = match connect(path, false) {
            Err(StoreError::Database(error)) if is_unwritable(&error) => {
                // SQLite needs shared memory beside a WAL database. Without write access, only an
                // immutable connection works, and that one does not see the WAL.
                let log = fs::metadata(beside(path, "-wal"));
                let may_miss_newest = log.is_ok_and(|it| it.len() > 0);
                connect(path, true).map(|connection| (connection, may_miss_newest))
            }
            other => other.map(|connection| (connection, false)),
        };
        let opened = opened.map(|(connection, may_miss_newest)| Self {
            connection,
            may_miss_newest,
            identity,
        });
        opened.map_err(|error| match error {
            StoreError::Newer(_) => ReadError::Newer(path.to_owned()),
            StoreError::Older(_) => ReadError::Older(path.to_owned()),
            StoreError::Io(error) => ReadError::Unreadable { path: path.to_owned(), error },
            // A file that is no database at all is reported as foreign below.
            StoreError::Database(error)
                if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) =>
            {
                ReadError::Database { path: path.to_owned(), error }
            }
            _ => ReadError::Foreign(path.to_owned()),
        })
    }

    /// Returns true if the newest records may be missing, because the directory cannot be written.
    pub fn may_miss_newest(&self) -> bool {
        self.may_miss_newest
    }

    /// Returns true if another database is at `path` now.
    pub fn is_replaced(&self, path: &Path) -> bool {
        identity(path).is_some_and(|now| self.identity != Some(now))
    }

    /// Passes the matching sessions to `each`, oldest first.
    ///
    /// # Errors
    ///
    /// An error of the database or of `each`.
    pub fn sessions<E: From<rusqlite::Error>>(
        &self,
        query: &Query,
        mut each: impl FnMut(SessionRow) -> Result<(), E>,
    ) -> Result<(), E> {
        // The inner query takes the newest rows, the outer one puts them into order.
        let mut statement = self.connection.prepare(concat!(
            "SELECT * FROM (
                   SELECT * FROM sessions s WHERE ",
            selected!("s.seen"),
            "  ORDER BY started DESC, id DESC LIMIT ?4)
                 ORDER BY started, id"
        ))?;
        let mut rows = statement.query(params![
            query.server,
            query.session,
            query.since_micros(),
            query.limit
        ])?;
        while let Some(row) = rows.next()? {
            each(SessionRow::read(row)?)?;
        }
        Ok(())
    }

    /// Passes the matching findings to `each`, oldest first.
    ///
    /// # Errors
    ///
    /// An error of the database or of `each`.
    pub fn findings<E: From<rusqlite::Error>>(
        &self,
        query: &Query,
        each: impl FnMut(FindingRow) -> Result<(), E>,
    ) -> Result<(), E> {
        self.findings_after(0, query, each).map(drop)
    }

    fn findings_after<E: From<rusqlite::Error>>(
        &self,
        after: i64,
        query: &Query,
        mut each: impl FnMut(FindingRow) -> Result<(), E>,
    ) -> Result<i64, E> {
        let mut statement = self.connection.prepare(
            concat!(
                "SELECT * FROM (
                   SELECT f.*, key, server FROM findings f JOIN sessions s ON s.id = f.session WHERE ",
                selected!("at"),
                "  AND (?5 IS NULL OR rule GLOB ?5) AND instr(?6, severity) AND ?7 < f.id
                   ORDER BY f.id DESC LIMIT ?4)
                 ORDER BY id"
            ),
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
            // The rows come in the order of their ids, so the last one is the mark.
            last = row.get("id")?;
            each(FindingRow::read(row)?)?;
        }
        Ok(last)
    }

    /// Passes the matching messages that have rows of their own to `each`, oldest first.
    ///
    /// # Errors
    ///
    /// An error of the database or of `each`.
    pub fn messages<E: From<rusqlite::Error>>(
        &self,
        query: &Query,
        mut each: impl FnMut(MessageRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.connection.prepare(
            concat!(
                "SELECT * FROM (
                   SELECT m.*, key, server FROM messages m JOIN sessions s ON s.id = m.session WHERE ",
                selected!("at"),
                "  ORDER BY m.id DESC LIMIT ?4)
                 ORDER BY id"
            ),
        )?;
        let mut rows = statement.query(params![
            query.server,
            query.session,
            query.since_micros(),
            query.limit
        ])?;
        while let Some(row) = rows.next()? {
            each(MessageRow::read(row)?)?;
        }
        Ok(())
    }

    /// Returns the number of messages that were counted without a row of their own.
    ///
    /// # Errors
    ///
    /// An error of the database.
    pub fn counted(&self, query: &Query) -> Result<u64, rusqlite::Error> {
        self.connection.query_row(
            concat!(
                "SELECT coalesce(sum(c.messages), 0) AS messages
                 FROM counters c JOIN sessions s ON s.id = c.session WHERE ",
                selected!("second")
            ),
            params![query.server, query.session, query.since_micros()],
            |row| u64::read(row, "messages"),
        )
    }

    /// Passes the matching events and launches to `each`, oldest first.
    ///
    /// # Errors
    ///
    /// An error of the database or of `each`.
    pub fn events<E: From<rusqlite::Error>>(
        &self,
        query: &Query,
        each: impl FnMut(EventRow) -> Result<(), E>,
    ) -> Result<(), E> {
        self.events_after(&mut Marks::default(), query, each)
    }

    fn events_after<E: From<rusqlite::Error>>(
        &self,
        marks: &mut Marks,
        query: &Query,
        mut each: impl FnMut(EventRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT * FROM (
               SELECT e.*, key, server FROM ({EVENTS}) e JOIN sessions s ON s.id = e.session WHERE {}
               ORDER BY at DESC, is_launch, seq DESC LIMIT ?4)
             ORDER BY at, NOT is_launch, seq",
            selected!("at")
        );
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(params![
            query.server,
            query.session,
            query.since_micros(),
            query.limit,
            marks.events,
            marks.launches
        ])?;
        while let Some(row) = rows.next()? {
            let is_launch: bool = row.get("is_launch")?;
            // Events and launches have separate ids, so each kind has its own mark.
            let mark = if is_launch { &mut marks.launches } else { &mut marks.events };
            *mark = (*mark).max(row.get("id")?);
            each(EventRow::read(row)?)?;
        }
        Ok(())
    }

    /// Returns the current end of the log.
    ///
    /// # Errors
    ///
    /// An error of the database.
    pub fn newest(&self) -> Result<Marks, rusqlite::Error> {
        let newest = |table: &str| {
            let sql = format!("SELECT coalesce(max(id), 0) AS newest FROM {table}");
            self.connection.query_row(&sql, (), |row| row.get("newest"))
        };
        let (findings, events) = (newest("findings")?, newest("events")?);
        Ok(Marks { findings, events, launches: newest("launches")? })
    }

    /// Returns the findings and events since `marks`, each kind in its order, and moves `marks`
    /// forward.
    ///
    /// # Errors
    ///
    /// An error of the database.
    pub fn since(
        &self,
        marks: &mut Marks,
        query: &Query,
    ) -> Result<(Vec<FindingRow>, Vec<EventRow>), rusqlite::Error> {
        let (mut findings, mut events) = (Vec::new(), Vec::new());
        // Events have neither rule nor severity, so a filter on these excludes them.
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

    /// Returns the names of the matching severities.
    fn severities(&self) -> String {
        let wanted = Severity::ALL.into_iter().filter(|it| self.severity <= *it);
        wanted.map(Severity::name).collect::<Vec<_>>().join(" ")
    }
}

fn connect(path: &Path, is_immutable: bool) -> Result<Connection, StoreError> {
    store::check_files(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = if is_immutable {
        let flags = flags | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(uri(path), flags)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    // A reader has no session that waits for it, so it can be more patient than a writer.
    connection.busy_timeout(store::BUSY * 8)?;
    connection.pragma_update(None, "cache_size", -2048)?;
    // Reads a table as well: opening succeeds even if the WAL beside the database is not readable.
    match store::version(&connection)? {
        0 => return Err(StoreError::Foreign),
        version if version < store::VERSION => return Err(StoreError::Older(version)),
        _ => {}
    }
    connection.query_row("SELECT count(*) AS rows FROM housekeeping", (), |_| Ok(()))?;
    Ok(connection)
}

/// Returns true if SQLite failed because it cannot write to the directory.
fn is_unwritable(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
}

/// Characters that a path in a `file:` URI of SQLite needs encoded.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

fn uri(path: &Path) -> String {
    // `?` and `#` would end the path of the URI.
    let path = percent_encode(path.as_os_str().as_encoded_bytes(), ENCODED);
    format!("file:{path}?immutable=1")
}
