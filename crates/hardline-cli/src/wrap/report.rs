//! What happens in a session, on standard error.

use std::time::Duration;

use hardline_guard::{Found, Rule};
use hardline_proxy::Note;
use hardline_transport::process::write_stderr;
use hardline_wire::excerpt::Excerpt;
use tokio::time::Instant;

/// Longest line of a server that is shown.
const MAX_LINE_BYTES: usize = 8 << 10;
/// Lines about the session at once, and how long one takes to come back.
const MAX_LINES: u32 = 40;
const INTERVAL: Duration = Duration::from_millis(250);

/// Writes notes, so many and no more.
#[derive(Debug)]
pub(super) struct Report {
    name: String,
    left: u32,
    counted: Instant,
    withheld: u64,
}

impl Report {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), left: MAX_LINES, counted: Instant::now(), withheld: 0 }
    }

    pub(super) fn take(&mut self, note: &Note<'_>) {
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
        if found.finding.rule == Rule::FrameNoise {
            return None;
        }
        self.text(&Note::Found(found))
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

/// Writes a line to standard error, without waiting for it.
pub(super) fn write(text: String) {
    write_stderr(text);
}
