//! Spill files: records of a session whose database cannot be written, in a file beside the
//! database.
//!
//! Each line is a JSON object; the first is the session. The next process that opens the database
//! imports the file in one transaction, which also stores the file's name, and deletes it. So each
//! record is imported exactly once, however often an import is retried or interrupted. The session
//! that writes a file holds a lock on it, which ends with the process. A line that a dying process
//! did not finish is ignored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hardline_transport::file;
use serde::{Deserialize, Serialize};

use super::queue::Batch;
use super::record::{
    CounterRecord, EndRecord, EventRecord, FindingRecord, LaunchRecord, SessionRecord,
};
use super::store::{Store, StoreError, keep_private};

/// Limit on the length of a file, in bytes. Further records stay in memory while there is room.
const MAX_BYTES: u64 = 8 << 20;
/// Limit on the files imported at once.
const MAX_FILES: usize = 256;

/// A line of a spill file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    Session(SessionRecord),
    Launch(LaunchRecord),
    Counter(CounterRecord),
    Finding(FindingRecord),
    Event(EventRecord),
    End(EndRecord),
}

/// A spill file that is being written.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Spill {
    /// Creates a spill file for a session.
    pub(super) fn create(
        database: &Path,
        session: &SessionRecord,
        serial: u32,
    ) -> io::Result<Self> {
        let name = format!("{}{}-{}-{serial}", prefix(database), session.pid, session.key);
        let path = database.with_file_name(format!("{name}.jsonl"));
        let hidden = database.with_file_name(format!("{name}.new"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        keep_private(&mut options);
        let file = file::open_with(&mut options, &hidden)?;
        let mut spill = Self { path, file, length: 0 };
        // No process imports the file before it has its final name, nor while it is locked.
        let made = spill.file.lock();
        let made = made.and_then(|()| spill.write(&line(&Line::Session(session.clone()))));
        let made = made.and_then(|()| fs::rename(&hidden, &spill.path));
        if made.is_err() {
            let _ = fs::remove_file(&hidden);
        }
        made.map(|()| spill)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves a batch into the file until the file is full. Findings come first.
    pub(super) fn take(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.take_each(&mut batch.findings, |it| Line::Finding(it.clone()))?;
        self.take_each(&mut batch.launches, |it| Line::Launch(it.clone()))?;
        self.take_each(&mut batch.events, |it| Line::Event(it.clone()))?;
        self.take_each(&mut batch.counts.all, |it| Line::Counter(it.record()))?;
        if let Some(end) = &batch.end {
            self.write(&line(&Line::End(end.clone())))?;
            batch.end = None;
        }
        Ok(())
    }

    fn take_each<T>(
        &mut self,
        records: &mut Vec<T>,
        to_line: impl Fn(&T) -> Line,
    ) -> io::Result<()> {
        let mut count = 0;
        let mut outcome = Ok(());
        for record in &*records {
            outcome = self.write(&line(&to_line(record)));
            if outcome.is_err() {
                break;
            }
            count += 1;
        }
        // Written records leave the batch even after an error, so that a retry does not repeat
        // them.
        records.drain(..count);
        outcome
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if self.length + text.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("it would exceed {MAX_BYTES} bytes")));
        }
        let written = self.file.write_all(text);
        match written {
            Ok(()) => self.length += text.len() as u64,
            // Half a line would make the next record unreadable.
            Err(_) => {
                self.file.set_len(self.length)?;
                io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.length))?;
            }
        }
        written
    }
}

/// Imports the spill files of processes that have ended.
pub(super) fn import_all(store: &mut Store, database: &Path, now: i64) -> Result<(), StoreError> {
    for path in waiting(database).take(MAX_FILES) {
        let mut options = OpenOptions::new();
        let opened = file::open_with(options.read(true).write(true), &path);
        let Ok(file) = opened else { continue };
        // A lock that is held belongs to a session that still writes the file.
        if file.try_lock().is_ok() {
            import(store, &path, now)?;
        }
    }
    Ok(())
}

/// Imports a file and deletes it. A file that cannot be read is left alone.
pub(super) fn import(store: &mut Store, path: &Path, now: i64) -> Result<(), StoreError> {
    let Ok(text) = read(path) else { return Ok(()) };
    // A last line without its end is from a process that died while writing.
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let lines = lines.filter_map(|line| serde_json::from_slice(line).ok());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    store.import(&name, lines, now)?;
    // If it stays, the stored name shows the next process that it was imported.
    let _ = fs::remove_file(path);
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "`take` bounds the read")]
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = file::open(path)?;
    if file.metadata()?.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it is longer than {MAX_BYTES} bytes")));
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the spill files beside a database.
pub(super) fn waiting(database: &Path) -> impl Iterator<Item = PathBuf> {
    let prefix = prefix(database);
    let directory = match database.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(move |path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&prefix) && name.ends_with(".jsonl")
    })
}

/// Returns the prefix of a database's spill files: `audit-spill-` for `audit.db`.
fn prefix(database: &Path) -> String {
    format!("{}-spill-", database.file_stem().unwrap_or_default().to_string_lossy())
}

fn line(line: &Line) -> Vec<u8> {
    // Serialization cannot fail: records contain only strings and numbers.
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}
