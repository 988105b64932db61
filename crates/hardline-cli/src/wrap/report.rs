//! What happens in a session, on standard error.

use std::time::Duration;

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
            write_stderr(format!("[{name} stdout] {}", Excerpt::new(line, MAX_LINE_BYTES)));
            return;
        }
        // The line itself is shown.
        if matches!(note, Note::Found(found) if found.finding.rule == hardline_guard::Rule::FrameNoise)
        {
            return;
        }
        if !self.has_room() {
            self.withheld += 1;
            return;
        }
        if 0 < self.withheld {
            let Self { name, withheld, .. } = self;
            write_stderr(format!("[hardline] {name}: {withheld} lines were left out"));
            self.withheld = 0;
        }
        write_stderr(format!("[hardline] {}: {note}", self.name));
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
