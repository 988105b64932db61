//! What happens in a session, on standard error.

use std::time::Duration;

use clap::ValueEnum;
use hardline_guard::{Found, Rule, Severity};
use hardline_proxy::Note;
use hardline_transport::process::write_stderr;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::message::Message;
use tokio::time::Instant;

use crate::terminal::harmless;

/// Longest line of a server that is shown.
const MAX_LINE_BYTES: usize = 8 << 10;
/// Longest method that is shown.
const METHOD_BYTES: usize = 80;
/// Lines about the session at once, and how long one takes to come back.
const MAX_LINES: u32 = 40;
const INTERVAL: Duration = Duration::from_millis(250);

/// How much is told.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(super) enum Level {
    /// Nothing
    Off,
    /// What ends the session
    Error,
    /// Findings of severity medium and above, servers that end, what cannot be kept
    Warn,
    /// All findings, and what the server prints that is no message
    Info,
    /// Every line of the session, without its text
    Debug,
}

/// Writes notes, so many and no more.
#[derive(Debug)]
pub(super) struct Report {
    name: String,
    level: Level,
    left: u32,
    counted: Instant,
    withheld: u64,
}

impl Report {
    pub(super) fn new(name: &str, level: Level) -> Self {
        Self { name: name.to_owned(), level, left: MAX_LINES, counted: Instant::now(), withheld: 0 }
    }

    /// Whether every line is told.
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

    /// The line about a finding, if there is to be one.
    pub(super) fn found(&mut self, found: &Found) -> Option<String> {
        // The line itself is shown.
        if found.finding.rule == Rule::FrameNoise || self.level < level(&Note::Found(found)) {
            return None;
        }
        self.text(&Note::Found(found))
    }

    /// What is to be said of lines that were left out last.
    pub(super) fn end(&mut self) -> Option<String> {
        let withheld = std::mem::take(&mut self.withheld);
        (0 < withheld).then(|| format!("[hardline] {}: {withheld} lines were left out", self.name))
    }

    fn text(&mut self, note: &Note<'_>) -> Option<String> {
        if !self.has_room() {
            self.withheld += 1;
            return None;
        }
        let Self { name, withheld, .. } = self;
        let mut text = String::new();
        if 0 < *withheld {
            text = format!("[hardline] {name}: {withheld} lines were left out\n");
            *withheld = 0;
        }
        // What has several lines is one thing all the same.
        let note = note.to_string().replace('\n', "\n    ");
        text.push_str(&format!("[hardline] {name}: {note}"));
        Some(text)
    }

    fn has_room(&mut self) -> bool {
        let back = self.counted.elapsed().as_millis() / INTERVAL.as_millis();
        if let Ok(back) = u32::try_from(back)
            && 0 < back
        {
            self.left = self.left.saturating_add(back).min(MAX_LINES);
            self.counted = Instant::now();
        }
        let has_room = 0 < self.left;
        self.left = self.left.saturating_sub(1);
        has_room
    }
}

/// From which level on a note is told.
fn level(note: &Note<'_>) -> Level {
    match note {
        Note::Line(_) => Level::Debug,
        Note::Found(found) if found.finding.severity < Severity::Medium => Level::Info,
        Note::Noise(_) | Note::Restored | Note::Confined(_) => Level::Info,
        Note::Closed(_) | Note::Unwritable(_) | Note::OtherVersion(_) => Level::Error,
        _ => Level::Warn,
    }
}

/// Writes a line to standard error, without waiting for it.
pub(super) fn write(text: String) {
    write_stderr(harmless(&text).into_owned());
}
