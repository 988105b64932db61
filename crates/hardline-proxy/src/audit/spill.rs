//! Records of a session whose database cannot be written, in a file beside it.
//!
//! One JSON object a line, the session first. Whoever opens the database next reads the file in, in one
//! transaction that also keeps the file's name, and deletes it: however often that is tried or interrupted,
//! each record is there once. The session that writes the file holds a lock on it, which ends with the
//! process; a line that a dying process did not finish is no record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hardline_transport::file;
use serde::{Deserialize, Serialize};

use super::queue::Waiting;
use super::record::{Counter, End, Event, Finding, Session, Started};
use super::store::{Store, StoreError, keep_private};

/// Longest file, in bytes. What would make it longer stays in memory, as long as there is room.
const MAX_BYTES: u64 = 8 << 20;
/// Files that are read in at once.
const MAX_FILES: usize = 256;

/// A line of the file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    Session(Session),
    Launch(Started),
    Counter(Counter),
    Finding(Finding),
    Event(Event),
    End(End),
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Spill {
    /// Makes the file of a session.
    pub(super) fn create(database: &Path, session: &Session, serial: u32) -> io::Result<Self> {
        let name = format!("{}{}-{}-{serial}", prefix(database), session.pid, session.key);
        let path = database.with_file_name(format!("{name}.jsonl"));
        let hidden = database.with_file_name(format!("{name}.new"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        keep_private(&mut options);
        let file = file::open_with(&mut options, &hidden)?;
        let mut spill = Self { path, file, length: 0 };
        // Nobody reads it in before it has its name, nor while it is locked.
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

    /// Moves a batch into the file: all that there is room for, findings first.
    pub(super) fn take(&mut self, batch: &mut Waiting) -> io::Result<()> {
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
        records.drain(..count);
        outcome
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if MAX_BYTES < self.length + text.len() as u64 {
            return Err(io::Error::other("it is long enough"));
        }
        let written = self.file.write_all(text);
        match written {
            Ok(()) => self.length += text.len() as u64,
            // Half a line would spoil the next one.
            Err(_) => {
                self.file.set_len(self.length)?;
                io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.length))?;
            }
        }
        written
    }
}

/// Reads in what sessions left that could not write, if their processes are gone.
pub(super) fn import_all(store: &mut Store, database: &Path, now: i64) -> Result<(), StoreError> {
    for path in waiting(database).take(MAX_FILES) {
        let mut options = OpenOptions::new();
        let opened = file::open_with(options.read(true).write(true), &path);
        let Ok(file) = opened else { continue };
        if file.try_lock().is_ok() {
            import(store, &path, now)?;
        }
    }
    Ok(())
}

/// Reads a file in and deletes it. What cannot be read is left alone.
pub(super) fn import(store: &mut Store, path: &Path, now: i64) -> Result<(), StoreError> {
    let Ok(text) = read(path) else { return Ok(()) };
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let lines = lines.filter_map(|line| serde_json::from_slice(line).ok());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    store.import(&name, lines, now)?;
    // If it stays, whoever finds it will see by its name that it was read.
    let _ = fs::remove_file(path);
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "no more is read than a file may have")]
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = file::open(path)?;
    if MAX_BYTES < file.metadata()?.len() {
        return Err(io::Error::other("it is too long"));
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// The files that wait beside a database.
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

/// How the names of a database's files begin: `audit-spill-` for `audit.db`.
fn prefix(database: &Path) -> String {
    format!("{}-spill-", database.file_stem().unwrap_or_default().to_string_lossy())
}

fn line(line: &Line) -> Vec<u8> {
    // Strings and numbers can always be written.
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}
