//! Recording of a session, line by line, in a file for `hardline scan` and `hardline replay`.
//!
//! Each line of the file is a JSON object with `time`, `session`, `direction`, `raw` (or
//! `raw_base64` if the line is not UTF-8), `verdict`, and `length` if only the beginning was
//! recorded. Secrets are redacted.
//!
//! A thread writes the file, so that a slow disk does not delay the session.
//!
//! Invariants:
//! - At most 64 MiB wait to be written. Lines beyond that are left out, and the file says how many
//!   (`left_out`).
//! - A write error ends the recording with a warning, but never the session.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hardline_guard::Direction;
use hardline_transport::file;
use hardline_wire::encode::push_json_string;

use crate::audit::time::Time;
use crate::notice::CheckedLine;
use crate::verdict::Verdict;
use hardline_guard::redact::redact;

/// Limit on the bytes that wait to be written.
const MAX_WAITING: usize = 64 << 20;
/// Limit on the lines that wait to be written.
const MAX_LINES: usize = 1 << 16;
/// Size at which the buffer is written even if more lines wait.
const CHUNK_BYTES: usize = 256 << 10;

/// Records a session in a file.
#[derive(Debug)]
pub struct Recorder {
    lines: Option<SyncSender<Raw>>,
    waiting: Arc<AtomicUsize>,
    left_out: u64,
    thread: Option<JoinHandle<()>>,
}

/// A line on its way to the file.
#[derive(Debug)]
struct Raw {
    now: Duration,
    direction: Direction,
    text: Vec<u8>,
    /// Length of the whole line, if `text` is only its beginning.
    length: Option<u64>,
    verdict: Verdict,
    /// Number of lines left out before this one.
    left_out: u64,
}

impl Recorder {
    /// Opens a file for recording; new lines are appended. `started` is the start of the session.
    /// `tell` receives a warning if the recording fails.
    ///
    /// # Errors
    ///
    /// An I/O error if the file cannot be opened or the thread cannot be started.
    pub fn open(
        path: &Path,
        started: SystemTime,
        tell: impl Fn(String) + Send + 'static,
    ) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        // The file contains the messages of the session, so only its owner may read it.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = file::open_output(&mut options, path)?;
        let (lines, inbox) = sync_channel(MAX_LINES);
        let waiting = Arc::new(AtomicUsize::new(0));
        let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let session = format!("{}-{}", since.as_micros(), std::process::id());
        // A full disk may have left half a line at the end of the file.
        let buffer = if is_torn(path) { b"\n".to_vec() } else { Vec::new() };
        let state = RecordingThread { file, session, since, buffer, waiting: Arc::clone(&waiting) };
        let name = path.display().to_string();
        let builder = std::thread::Builder::new().name("hardline-record".into());
        let thread = builder.spawn(move || {
            if let Err(error) = state.run(&inbox) {
                tell(format!("cannot write {name}: {error}; the recording ends here"));
            }
        })?;
        Ok(Self { lines: Some(lines), waiting, left_out: 0, thread: Some(thread) })
    }

    /// Queues a line. Never blocks.
    pub fn line(&mut self, now: Duration, line: &CheckedLine<'_>) {
        let Some(lines) = &self.lines else { return };
        let length = u64::try_from(line.raw.len()).unwrap_or(u64::MAX);
        let waiting = self.waiting.load(Ordering::Relaxed);
        // A line longer than the limit is still taken if nothing else waits.
        if waiting > 0 && waiting.saturating_add(line.raw.len()) > MAX_WAITING {
            self.left_out += 1;
            return;
        }
        let raw = Raw {
            now,
            direction: line.direction,
            text: line.raw.to_vec(),
            // Only a line that was shortened needs its length.
            length: (length != line.length).then_some(line.length),
            verdict: line.verdict,
            left_out: self.left_out,
        };
        // Counted before the send, so that the thread never subtracts more than was added.
        self.waiting.fetch_add(raw.text.len(), Ordering::Relaxed);
        match lines.try_send(raw) {
            Ok(()) => self.left_out = 0,
            Err(error) => {
                let (std::sync::mpsc::TrySendError::Full(raw)
                | std::sync::mpsc::TrySendError::Disconnected(raw)) = error;
                self.waiting.fetch_sub(raw.text.len(), Ordering::Relaxed);
                self.left_out += 1;
            }
        }
    }

    /// Closes the recording. Waits up to `patience` until everything is written.
    pub fn close(mut self, patience: Duration) {
        const STEP: Duration = Duration::from_millis(5);
        // Dropping the sender ends the thread once the queue is empty.
        drop(self.lines.take());
        let Some(thread) = self.thread.take() else { return };
        let mut waited = Duration::ZERO;
        while !thread.is_finished() && waited < patience {
            std::thread::sleep(STEP);
            waited += STEP;
        }
    }
}

/// Returns true if the last line of a file has no line end.
fn is_torn(path: &Path) -> bool {
    let Ok(mut file) = file::open(path) else { return false };
    let mut last = [b'\n'];
    let is_read = file.seek(SeekFrom::End(-1)).is_ok() && file.read_exact(&mut last).is_ok();
    is_read && last != [b'\n']
}

/// State of the thread.
struct RecordingThread {
    file: File,
    session: String,
    since: Duration,
    buffer: Vec<u8>,
    waiting: Arc<AtomicUsize>,
}

impl RecordingThread {
    fn run(mut self, lines: &Receiver<Raw>) -> io::Result<()> {
        loop {
            // Lines that arrive together are written together, so an empty queue triggers the
            // write.
            let next = if self.buffer.is_empty() {
                lines.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                lines.recv_timeout(Duration::ZERO)
            };
            match next {
                Ok(raw) => {
                    let bytes = raw.text.len();
                    self.push(&raw);
                    self.waiting.fetch_sub(bytes, Ordering::Relaxed);
                    if self.buffer.len() < CHUNK_BYTES {
                        continue;
                    }
                    self.write()?;
                }
                Err(RecvTimeoutError::Timeout) => self.write()?,
                Err(RecvTimeoutError::Disconnected) => return self.write(),
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        // One huge line must not occupy memory for the rest of the session.
        if self.buffer.capacity() > CHUNK_BYTES {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    fn push(&mut self, raw: &Raw) {
        let mut line = String::from("{\"time\":\"");
        let time = i64::try_from((self.since + raw.now).as_micros()).unwrap_or(i64::MAX);
        line.push_str(&Time(time).to_string());
        line.push_str("\",\"session\":");
        push_json_string(&mut line, &self.session);
        line.push_str(",\"direction\":");
        push_json_string(&mut line, raw.direction.name());
        // Here and not in `line`, so that redaction costs the session no time.
        let text = redact(&raw.text);
        match str::from_utf8(&text) {
            Ok(text) => {
                line.push_str(",\"raw\":");
                push_json_string(&mut line, text);
            }
            Err(_) => {
                line.push_str(",\"raw_base64\":");
                push_json_string(&mut line, &STANDARD.encode(&text));
            }
        }
        line.push_str(",\"verdict\":");
        push_json_string(&mut line, raw.verdict.name());
        if let Some(length) = raw.length {
            line.push_str(&format!(",\"length\":{length}"));
        }
        if raw.left_out > 0 {
            line.push_str(&format!(",\"left_out\":{}", raw.left_out));
        }
        line.push_str("}\n");
        self.buffer.extend_from_slice(line.as_bytes());
    }
}
