//! Write access to the audit database: opens it, writes batches, and replaces it if it is damaged.
//!
//! Invariants:
//! - A batch is one transaction: it is stored completely or not at all.
//! - Nothing is written to a file that another process has moved aside.
//! - A database of another program, or of a newer version, is left alone.
//! - No call waits much longer than [`BUSY`] for other processes.

mod damage;
mod file_lock;
mod insert;
mod migration;
mod retention;

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hardline_transport::file;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use thiserror::Error;

use super::queue::Batch;
use super::spill;
use super::table::SessionRecord;
use file_lock::{FileLock, FileLockGuard};
use insert::Insert;

pub(super) use damage::mend;
pub(super) use migration::{VERSION, version};
use retention::Largest;
pub use retention::Pruned;

/// Time for which one call waits for other processes.
pub(super) const BUSY: Duration = Duration::from_millis(250);

/// The audit database, open for writing.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    lock: FileLock,
    connection: Connection,
    /// Device and inode of the opened file.
    identity: Option<Identity>,
    /// Row id of this session, once the session has a row.
    session: Option<i64>,
    /// The server whose messages are being deleted, if the database is too large.
    largest: Option<Largest>,
}

/// Error of writing to the database.
#[derive(Debug, Error)]
pub(super) enum StoreError {
    /// SQLite reported an error.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// The operating system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A newer version of Hardline created the database.
    #[error("it was created by a newer version of hardline (its version is {0})")]
    Newer(i64),
    /// An older version of Hardline created the database, and it is open for reading only.
    #[error("it was created by an older version of hardline (its version is {0})")]
    Older(i64),
    /// The database belongs to another program.
    #[error("it is a database of another program")]
    Foreign,
    /// The file was moved or deleted.
    #[error("it was moved or deleted")]
    Moved,
}

impl StoreError {
    /// Returns true if the file is damaged.
    pub(super) fn is_damage(&self) -> bool {
        let code = match self {
            Self::Database(error) => error.sqlite_error_code(),
            _ => None,
        };
        matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
    }

    /// Returns true if no retry can succeed.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Newer(_) | Self::Foreign)
    }
}

impl Store {
    /// Opens the database, and creates it if it does not exist.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(directory) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
            make_directory(directory)?;
        }
        let lock = FileLock::open(&beside(path, ".lock"))?;
        let opened = {
            // The shared lock suffices for an existing database, so sessions start side by side.
            let _guard = lock.lock_shared(BUSY)?;
            connect(path)?
        };
        let Opened { connection, identity, .. } = match opened {
            Some(opened) if opened.version == VERSION => opened,
            _ => {
                let _guard = lock.lock_exclusive(BUSY * 4)?;
                upgrade(path)?
            }
        };
        // A crash of the system may lose the last commits, but never damages a WAL database.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
        Ok(Self { path: path.to_owned(), lock, connection, identity, session: None, largest: None })
    }

    /// Writes a batch of this session. `now` is in microseconds since 1970.
    pub(super) fn write(
        &mut self,
        session: &SessionRecord,
        batch: &Batch,
        now: i64,
    ) -> Result<(), StoreError> {
        let known = self.session;
        let (transaction, guard) = self.begin()?;
        let mut insert = match known {
            Some(id) => Insert::of_session(&transaction, id),
            None => Insert::new_session(&transaction, session)?,
        };
        insert.batch(batch)?;
        // The row is missing if pruning deleted the session, for example while the computer slept.
        // The store is then opened anew, and the session gets a new row.
        let id = insert.finish(now)?.ok_or(StoreError::Moved)?;
        transaction.commit()?;
        // The lock is held until after the commit, so that the file cannot be moved before.
        drop(guard);
        self.session = Some(id);
        Ok(())
    }

    /// Begins a write transaction, after a check that the file is still the database.
    fn begin(&mut self) -> Result<(Transaction<'_>, FileLockGuard<'_>), StoreError> {
        let guard = self.lock.lock_shared(BUSY)?;
        if self.identity != identity(&self.path) {
            return Err(StoreError::Moved);
        }
        // Takes the write lock now: upgrading a read transaction later can fail at once as busy.
        let immediate = TransactionBehavior::Immediate;
        Ok((self.connection.transaction_with_behavior(immediate)?, guard))
    }

    /// Imports a spill file. Does nothing if the file was imported before. `None` stands for a line
    /// that cannot be read. Returns the number of lines that were not imported.
    pub(super) fn import(
        &mut self,
        name: &str,
        lines: impl Iterator<Item = Option<spill::Line<'static>>>,
        now: i64,
    ) -> Result<usize, StoreError> {
        let (transaction, _guard) = self.begin()?;
        // The name and the records are in one transaction, so no file is imported twice.
        let sql = "INSERT OR IGNORE INTO spills (name, at) VALUES (?1, ?2)";
        if transaction.execute(sql, (name, now))? == 0 {
            return Ok(0);
        }
        let (mut insert, mut lost) = (None, 0);
        for line in lines {
            match (&mut insert, line) {
                (None, Some(spill::Line::Session(session))) => {
                    insert = Some(Insert::new_session(&transaction, &session)?);
                }
                (Some(insert), Some(line)) => insert.line(&line)?,
                // A record without a session cannot be attributed.
                (_, None) | (None, Some(_)) => lost += 1,
            }
        }
        if let Some(insert) = insert {
            // Zero leaves the time of the last record as it is.
            insert.finish(0)?;
        }
        transaction.commit()?;
        Ok(lost)
    }
}

/// Device and inode of a file, which stay the same when the file is renamed.
pub(super) type Identity = (u64, u64);

/// A database that is open for writing.
struct Opened {
    connection: Connection,
    identity: Option<Identity>,
    /// Version of the tables, which may be older than [`VERSION`].
    version: i64,
}

/// Opens a database. Returns `None` if the file or its tables do not exist yet.
fn connect(path: &Path) -> Result<Option<Opened>, StoreError> {
    if fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(None);
    }
    let identity = identity(path);
    let connection = open_file(path)?;
    connection.pragma_update(None, "cache_size", -256)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    let version = version(&connection)?;
    Ok((version > 0).then_some(Opened { connection, identity, version }))
}

/// Creates the tables, or upgrades them to the current version. The caller holds the exclusive lock.
fn upgrade(path: &Path) -> Result<Opened, StoreError> {
    // Another process may have been faster.
    match connect(path)? {
        Some(opened) if opened.version == VERSION => return Ok(opened),
        _ => {}
    }
    match file::create_new(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let mut connection = open_file(path)?;
    // Must be set before the first table, else pruning cannot shrink the file.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    migration::migrate(&mut connection)?;
    drop(connection);
    connect(path)?.ok_or(StoreError::Moved)
}

/// Opens an existing file as a database.
fn open_file(path: &Path) -> Result<Connection, StoreError> {
    check_files(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// Checks that SQLite, which opens its files by name, would block on none of them.
pub(super) fn check_files(path: &Path) -> io::Result<()> {
    file::check(path)?;
    // SQLite opens the files beside the database as soon as it reads.
    ["-wal", "-shm", "-journal"].iter().try_for_each(|end| {
        let path = beside(path, end);
        let name = path.display();
        file::check(&path).map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
    })
}

/// Appends a suffix to the last component of a path.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Creates a directory, and those above it, that only its owner can access.
fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes new files accessible to their owner only.
pub(super) fn keep_private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Returns device and inode of a path. Does not open the file, because closing it would release
/// SQLite's locks.
#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|it| (it.dev(), it.ino()))
}

/// On this platform an open file cannot be moved.
#[cfg(not(unix))]
pub(super) fn identity(_: &Path) -> Option<Identity> {
    None
}
