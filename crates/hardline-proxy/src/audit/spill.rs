//! Spill files: records of a session whose database cannot be written, in a file beside the
//! database.
//!
//! Each line is a JSON object; the first is the session. The next process that opens the database
//! imports the file in one transaction, which also stores the file's name, and deletes it. So each
//! record is imported exactly once, however often an import is retried or interrupted. The session
//! that writes a file holds a lock on it, which ends with the process. A line that a dying process
//! did not finish is ignored; any other line that cannot be read is counted, and the count reported.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hardline_transport::file;
use serde::{Deserialize, Serialize};

use super::queue::Batch;
use super::store::{Store, StoreError, keep_private};
use super::table::{
    CounterRecord, EndRecord, EventRecord, FindingRecord, LaunchRecord, SessionRecord,
};

/// Limit on the length of a file, in bytes. Further records stay in memory while there is room.
const MAX_BYTES: u64 = 8 << 20;
/// Limit on the files imported at once.
const MAX_FILES: usize = 256;

/// A line of a spill file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line<'a> {
    Session(Cow<'a, SessionRecord>),
    Launch(Cow<'a, LaunchRecord>),
    Counter(CounterRecord),
    Finding(Cow<'a, FindingRecord>),
    Event(Cow<'a, EventRecord>),
    End(Cow<'a, EndRecord>),
}

impl Batch {
    /// Returns the records as lines, findings first. Messages with rows of their own have no lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let findings = self.findings.iter().map(|it| Line::Finding(Cow::Borrowed(it)));
        let launches = self.launches.iter().map(|it| Line::Launch(Cow::Borrowed(it)));
        let events = self.events.iter().map(|it| Line::Event(Cow::Borrowed(it)));
        let counters = self.counts.all.iter().map(|it| Line::Counter(it.record()));
        let end = self.end.iter().map(|it| Line::End(Cow::Borrowed(it)));
        findings.chain(launches).chain(events).chain(counters).chain(end)
    }

    /// Removes the records of the first `count` lines.
    fn discard_lines(&mut self, mut count: usize) {
        discard(&mut self.findings, &mut count);
        discard(&mut self.launches, &mut count);
        discard(&mut self.events, &mut count);
        discard(&mut self.counts.all, &mut count);
        if count > 0 {
            self.end = None;
        }
    }
}

/// Removes up to `count` records, and subtracts their number from `count`.
fn discard<T>(records: &mut Vec<T>, count: &mut usize) {
    let first = records.len().min(*count);
    records.drain(..first);
    *count -= first;
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
        let made = made.and_then(|()| spill.write(&Line::Session(Cow::Borrowed(session))));
        let made = made.and_then(|()| fs::rename(&hidden, &spill.path));
        if made.is_err() {
            let _ = fs::remove_file(&hidden);
        }
        made.map(|()| spill)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves a batch into the file until the file is full.
    pub(super) fn take(&mut self, batch: &mut Batch) -> io::Result<()> {
        let mut count = 0;
        let written = batch.lines().try_for_each(|line| {
            self.write(&line)?;
            count += 1;
            Ok(())
        });
        // Written records leave the batch even after an error, so that a retry does not repeat them.
        batch.discard_lines(count);
        written
    }

    fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        if self.length + text.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("it would exceed {MAX_BYTES} bytes")));
        }
        let written = self.file.write_all(&text);
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

/// Imports the spill files of processes that have ended. Returns the number of lost records.
pub(super) fn import_all(
    store: &mut Store,
    database: &Path,
    now: i64,
) -> Result<usize, StoreError> {
    let mut lost = 0;
    for path in waiting(database).take(MAX_FILES) {
        let mut options = OpenOptions::new();
        let opened = file::open_with(options.read(true).write(true), &path);
        let Ok(file) = opened else { continue };
        // A lock that is held belongs to a session that still writes the file.
        if file.try_lock().is_ok() {
            lost += import(store, &path, now)?;
        }
    }
    Ok(lost)
}

/// Imports a file and deletes it. A file that cannot be read is left alone. Returns the number of
/// records that were lost because their lines cannot be read.
pub(super) fn import(store: &mut Store, path: &Path, now: i64) -> Result<usize, StoreError> {
    let Ok(text) = read(path) else { return Ok(0) };
    // A last line without its end is from a process that died while writing.
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let lines = lines.map(|line| serde_json::from_slice(line).ok());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lost = store.import(&name, lines, now)?;
    // If it stays, the stored name shows the next process that it was imported.
    let _ = fs::remove_file(path);
    Ok(lost)
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
