//! The database: opened, written to, and set aside if it is broken.
//!
//! Invariants:
//! - A batch is one transaction: all of it is kept or nothing.
//! - Nothing is written to a file that another process moved away.
//! - A database of somebody else, or of a newer version, is left alone.
//! - No call waits much longer than [`BUSY`] for other processes.

mod damage;
mod gate;
mod insert;
mod retention;

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hardline_transport::file;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use thiserror::Error;

use super::queue::Waiting;
use super::record::Session;
use super::spill;
use gate::{Gate, Pass};
use insert::Insert;

pub(super) use damage::mend;
pub use retention::Pruned;

/// How long one call waits for other processes.
pub(super) const BUSY: Duration = Duration::from_millis(250);
/// What the tables are like.
pub(super) const VERSION: i64 = 1;
/// Whose database it is: `HLau`.
pub(super) const APPLICATION: i64 = 0x484c_6175;

/// The database, open.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    gate: Gate,
    connection: Connection,
    /// Which file was opened.
    identity: Option<Identity>,
    /// The row of our session, once there is one.
    session: Option<i64>,
}

/// Why the database cannot be written.
#[derive(Debug, Error)]
pub(super) enum StoreError {
    /// The database says so.
    #[error("{0}")]
    Database(#[from] rusqlite::Error),
    /// The file system says so.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It was made by a newer version.
    #[error("it was made by a newer version of hardline (its version is {0})")]
    Newer(i64),
    /// It is none of ours.
    #[error("it is a database of another program")]
    Foreign,
    /// The file is no longer where it was.
    #[error("it was moved or deleted")]
    Moved,
}

impl StoreError {
    /// Whether the file is broken.
    pub(super) fn is_damage(&self) -> bool {
        let code = match self {
            Self::Database(error) => error.sqlite_error_code(),
            _ => None,
        };
        matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
    }

    /// Whether it is of no use to try again.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Newer(_) | Self::Foreign)
    }
}

impl Store {
    /// Opens the database, and makes it if there is none.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(directory) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
            make_directory(directory)?;
        }
        let gate = Gate::open(&beside(path, ".lock"))?;
        let opened = {
            let _pass = gate.pass(BUSY)?;
            connect(path)?
        };
        let (connection, identity) = match opened {
            Some(opened) => opened,
            None => {
                let _pass = gate.pass_alone(BUSY * 4)?;
                make(path)?
            }
        };
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
        Ok(Self { path: path.to_owned(), gate, connection, identity, session: None })
    }

    /// Writes a batch of our session. `now` is the time, in microseconds since 1970.
    pub(super) fn write(
        &mut self,
        session: &Session,
        batch: &Waiting,
        now: i64,
    ) -> Result<(), StoreError> {
        let known = self.session;
        let (transaction, pass) = self.begin()?;
        let mut insert = match known {
            Some(id) => Insert::of_session(&transaction, id),
            None => Insert::new_session(&transaction, session)?,
        };
        insert.batch(batch)?;
        // A session that slept for long may be dropped: it begins again.
        let id = insert.finish(now)?.ok_or(StoreError::Moved)?;
        transaction.commit()?;
        drop(pass);
        self.session = Some(id);
        Ok(())
    }

    /// Begins a transaction that nobody else writes in, in a file that is still the database.
    fn begin(&mut self) -> Result<(Transaction<'_>, Pass<'_>), StoreError> {
        let pass = self.gate.pass(BUSY)?;
        if self.identity != identity(&self.path) {
            return Err(StoreError::Moved);
        }
        let immediate = TransactionBehavior::Immediate;
        Ok((self.connection.transaction_with_behavior(immediate)?, pass))
    }

    /// Reads in what stands in a file, once. Does nothing if that was done before.
    pub(super) fn import(
        &mut self,
        name: &str,
        lines: impl Iterator<Item = spill::Line>,
        now: i64,
    ) -> Result<(), StoreError> {
        let (transaction, _pass) = self.begin()?;
        let sql = "INSERT OR IGNORE INTO spills VALUES (?1, ?2)";
        if transaction.execute(sql, (name, now))? == 0 {
            return Ok(());
        }
        let mut insert = None;
        for line in lines {
            match (&mut insert, line) {
                (None, spill::Line::Session(session)) => {
                    insert = Some(Insert::new_session(&transaction, &session)?);
                }
                (Some(insert), line) => insert.line(&line)?,
                // Nobody knows whose it is.
                (None, _) => {}
            }
        }
        if let Some(insert) = insert {
            insert.finish(0)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// A file, whatever its name.
pub(super) type Identity = (u64, u64);

/// Opens a database that has its tables; `None` if it has none yet.
fn connect(path: &Path) -> Result<Option<(Connection, Option<Identity>)>, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(None);
    }
    check_files(path)?;
    let identity = identity(path);
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "cache_size", -256)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    if !check(&connection)? {
        return Ok(None);
    }
    Ok(Some((connection, identity)))
}

/// Whether a database has our tables, and not those of somebody else.
pub(super) fn check(connection: &Connection) -> Result<bool, StoreError> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application == APPLICATION {
        return if version <= VERSION { Ok(0 < version) } else { Err(StoreError::Newer(version)) };
    }
    let sql = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = connection.query_row(sql, (), |row| row.get(0))?;
    if tables == 0 && application == 0 { Ok(false) } else { Err(StoreError::Foreign) }
}

/// Makes a database while nobody else passes, unless somebody was faster.
fn make(path: &Path) -> Result<(Connection, Option<Identity>), StoreError> {
    if let Some(opened) = connect(path)? {
        return Ok(opened);
    }
    match file::create_new(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    check_files(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE;\n{}\nPRAGMA application_id = {APPLICATION};\nPRAGMA user_version = {VERSION};\nCOMMIT;",
        include_str!("schema.sql")
    ))?;
    drop(connection);
    connect(path)?.ok_or(StoreError::Moved)
}

/// Checks that SQLite, which opens its files by their names, would wait for none of them.
pub(super) fn check_files(path: &Path) -> io::Result<()> {
    file::check(path)?;
    // Checks what SQLite keeps beside it as well: it opens those as soon as it reads.
    ["-wal", "-shm", "-journal"].iter().try_for_each(|end| {
        let path = beside(path, end);
        let name = path.display();
        file::check(&path).map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
    })
}

/// A path with something after its last part.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Makes a directory for nobody but its owner, and those above it.
fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Has a file be made for nobody but its owner.
pub(super) fn keep_private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Which file a path names: not opened, as closing it would take SQLite's locks away.
#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|it| (it.dev(), it.ino()))
}

/// An open file cannot be moved away here.
#[cfg(not(unix))]
pub(super) fn identity(_: &Path) -> Option<Identity> {
    None
}
