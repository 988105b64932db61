//! Writes the events of a session to standard error, rate limited.

use std::time::Duration;

use clap::ValueEnum;
use hardline_guard::{Found, Rule, Severity};
use hardline_proxy::Note;
use hardline_transport::process::write_stderr;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::message::Message;
use hardline_wire::token_bucket::{RateLimit, TokenBucket};
use tokio::time::Instant;

use crate::terminal::harmless;

/// Limit on a line of server output that is shown, in bytes.
const MAX_LINE_BYTES: usize = 8 << 10;
/// Limit on a method name that is shown, in bytes.
const METHOD_BYTES: usize = 80;
/// Limit on lines about the session: at once, and the time until one more is allowed.
const MAX_LINES: RateLimit = RateLimit::new(40, Duration::from_millis(250));

/// Amount of detail on standard error.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(super) enum Level {
    /// Nothing
    Off,
    /// Errors that end the session
    Error,
    /// Also findings of severity medium and above, server exits, and audit failures
    Warn,
    /// Also all findings, and server output that is not a message
    Info,
    /// Also every message, without its text
    Debug,
}

/// Formats and writes notes, at most [`MAX_LINES`] at once.
#[derive(Debug)]
pub(super) struct Report {
    name: String,
    level: Level,
    lines: TokenBucket,
    started: Instant,
    withheld: u64,
}

impl Report {
    pub(super) fn new(name: &str, level: Level) -> Self {
        let (lines, started) = (TokenBucket::new(MAX_LINES), Instant::now());
        Self { name: name.to_owned(), level, lines, started, withheld: 0 }
    }

    /// Returns true if the report shows every message.
    pub(super) fn wants_lines(&self) -> bool {
        self.level == Level::Debug
    }

    pub(super) fn take(&mut self, note: &Note<'_>) {
        if self.level < level(note) {
            return;
        }
        if let Note::Line(seen) = note {
            let method = match seen.message.and_then(Message::method) {
                Some(method) => Excerpt::new(method.as_bytes(), METHOD_BYTES).to_string(),
                None => seen.asked.and_then(|asked| asked.method).unwrap_or("no method").to_owned(),
            };
            let (way, bytes, fate) = (seen.direction.name(), seen.length, seen.fate.name());
            write(format!("[hardline] {}: {way} {method}, {bytes} bytes, {fate}", self.name));
            return;
        }
        if let Note::Noise(line) = note {
            let name = &self.name;
            write(format!("[{name} stdout] {}", Excerpt::new(line, MAX_LINE_BYTES)));
            return;
        }
        if let Some(text) = self.text(note) {
            write(text);
        }
    }

    /// Returns the line about a finding, or `None` if the level or the rate limit drops it.
    pub(super) fn found(&mut self, found: &Found) -> Option<String> {
        // Noise is already shown as the line itself.
        if found.finding.rule == Rule::FrameNoise || self.level < level(&Note::Found(found)) {
            return None;
        }
        self.text(&Note::Found(found))
    }

    /// Returns a line about the lines that were left out last, if any were.
    pub(super) fn end(&mut self) -> Option<String> {
        let withheld = std::mem::take(&mut self.withheld);
        (withheld > 0).then(|| format!("[hardline] {}: {withheld} lines were left out", self.name))
    }

    fn text(&mut self, note: &Note<'_>) -> Option<String> {
        // A hostile server must not fill the client's log.
        if !self.lines.try_acquire(self.started.elapsed()) {
            self.withheld += 1;
            return None;
        }
        let Self { name, withheld, .. } = self;
        let mut text = String::new();
        if *withheld > 0 {
            text = format!("[hardline] {name}: {withheld} lines were left out\n");
            *withheld = 0;
        }
        // Indentation marks the further lines of one note.
        let note = note.to_string().replace('\n', "\n    ");
        text.push_str(&format!("[hardline] {name}: {note}"));
        Some(text)
    }
}

/// Returns the least verbose level that shows a note.
fn level(note: &Note<'_>) -> Level {
    match note {
        Note::Line(_) => Level::Debug,
        Note::Found(found) if found.finding.severity < Severity::Medium => Level::Info,
        Note::Noise(_) | Note::Restored | Note::Confined(_) => Level::Info,
        Note::Closed(_) | Note::Unwritable(_) | Note::OtherVersion(_) => Level::Error,
        _ => Level::Warn,
    }
}

/// Queues a line for standard error, escaped, without waiting.
pub(super) fn write(text: String) {
    write_stderr(harmless(&text).into_owned());
}
