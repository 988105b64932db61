//! The observer of a session: sends events to standard error, to the audit log and to the
//! recording.

use std::cell::RefCell;
use std::time::Duration;

use hardline_guard::Found;
use hardline_proxy::audit::{Audit, Launch, PATIENCE, Seen as Message};
use hardline_proxy::record::Recorder;
use hardline_proxy::wrap::Observer;
use hardline_proxy::{Note, Seen};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::message;

use super::report::Report;

/// Limit on the part of a client's name and version that is stored, in bytes.
const CLIENT_BYTES: usize = 100;

/// Interval between two audit events that count unlisted findings.
const UNLISTED_EVERY: Duration = Duration::from_secs(1);

/// Distributes events to the report, the audit log and the recording.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) report: Report,
    pub(super) audit: Option<Audit>,
    pub(super) recorder: Option<Recorder>,
    /// Findings that were only counted since the last audit event about them, and the time of that
    /// event. A flood of findings becomes one event per second.
    pub(super) unlisted: (usize, Duration),
}

impl Desk {
    /// Handles a finding. With an audit log, its writer prints the line after it has stored the
    /// finding.
    pub(super) fn found(&mut self, now: Duration, found: &Found) {
        let shown = self.report.found(found);
        match &mut self.audit {
            Some(audit) => audit.finding(now, found, shown),
            None => shown.into_iter().for_each(super::report::write),
        }
    }

    /// Writes the server's command line and executable to the audit log.
    pub(super) fn launch(&mut self, now: Duration, launch: &Launch) {
        if let Some(audit) = &mut self.audit {
            audit.launch(now, launch);
        }
    }

    /// Reports the environment variables that the server does not get from the client.
    pub(super) fn confined(&mut self, now: Duration, changes: &str) {
        self.take(now, &Note::Confined(changes));
    }

    /// Reports a problem with Hardline's own files.
    pub(super) fn trouble(&mut self, now: Duration, text: &str) {
        self.take(now, &Note::Trouble(text));
    }

    /// Flushes the audit log and the recording, then prints how many lines were left out. Each
    /// flush gives up after [`PATIENCE`].
    pub(super) fn close(mut self, now: Duration, outcome: &str) {
        self.keep_unlisted(now);
        let left_out = self.report.end();
        if let Some(audit) = self.audit {
            audit.close(now, outcome, PATIENCE);
        }
        if let Some(recorder) = self.recorder {
            recorder.close(PATIENCE);
        }
        left_out.into_iter().for_each(super::report::write);
    }

    fn take(&mut self, now: Duration, note: &Note<'_>) {
        match note {
            Note::Line(seen) => {
                self.report.take(note);
                return self.line(now, seen);
            }
            Note::Found(found) => return self.found(now, found),
            Note::Unlisted(count) => {
                self.unlisted.0 += count;
                // One event per interval: a flood must not fill the database.
                if self.unlisted.1 + UNLISTED_EVERY <= now {
                    self.keep_unlisted(now);
                }
                self.report.take(note);
                return;
            }
            _ => {}
        }
        if let (Some(audit), Some(kind)) = (&mut self.audit, kind(note)) {
            audit.event(now, kind, &note.to_string());
        }
        self.report.take(note);
    }

    fn keep_unlisted(&mut self, now: Duration) {
        let (count, _) = std::mem::replace(&mut self.unlisted, (0, now));
        if let Some(audit) = self.audit.as_mut().filter(|_| count > 0) {
            let text = format!("{count} more findings like those before");
            audit.event(now, "findings-unlisted", &text);
        }
    }

    fn line(&mut self, now: Duration, seen: &Seen<'_>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.line(now, seen);
        }
        // Without an audit log, nothing below is needed.
        let Some(audit) = &mut self.audit else { return };
        let called = match seen.message {
            Some(message::Message::Request(request)) => {
                let name = request.params.filter(|_| request.method == "tools/call");
                name.and_then(|params| params.get("name")?.as_str())
            }
            _ => None,
        };
        let method = match seen.message {
            Some(message::Message::Request(request)) => Some(&*request.method),
            Some(message::Message::Notification(call)) => Some(&*call.method),
            // An answer has no method of its own: the request's is stored.
            _ => seen.asked.and_then(|asked| asked.method),
        };
        if let Some(message::Message::Request(request)) = seen.message
            && let Some(client) = client(request)
        {
            audit.event(now, "client", &client);
        }
        let asked = seen.asked.and_then(|asked| asked.tool.as_deref());
        let message = Message {
            direction: seen.direction,
            method,
            tool: called.as_deref().or(asked),
            id: seen.message.and_then(message::Message::id),
            bytes: usize::try_from(seen.length).unwrap_or(usize::MAX),
            latency: seen.asked.map(|asked| now.saturating_sub(asked.since)),
            fate: seen.fate,
            body: seen.raw,
        };
        audit.message(now, &message);
    }
}

/// Passes events to a [`Desk`] that the launcher uses too.
#[derive(Debug)]
pub(super) struct Watcher<'a>(pub(super) &'a RefCell<Desk>);

impl Observer for Watcher<'_> {
    fn note(&mut self, now: Duration, note: &Note<'_>) {
        self.0.borrow_mut().take(now, note);
    }

    fn wants_lines(&self) -> bool {
        let desk = self.0.borrow();
        desk.audit.is_some() || desk.recorder.is_some() || desk.report.wants_lines()
    }
}

/// Returns the client's name and version from the request that opens a session.
fn client(request: &message::Request<'_>) -> Option<String> {
    let params = request.params?;
    let info = match &*request.method {
        "initialize" => params.get("clientInfo"),
        // Since 2026-07-28 there is no handshake.
        "server/discover" => params.get("_meta")?.get("io.modelcontextprotocol/clientInfo"),
        _ => None,
    }?;
    let text = |key| info.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let (name, version) = (text("name"), text("version"));
    let shown = format!("{name} {version}");
    Some(Excerpt::new(shown.trim().as_bytes(), CLIENT_BYTES).to_string())
}

/// Returns the event name in the audit log, or `None` for notes that are not stored.
fn kind(note: &Note<'_>) -> Option<&'static str> {
    Some(match note {
        Note::Denied(_) => "tool-denied",
        Note::Trouble(_) => "trouble",
        Note::Confined(_) => "environment",
        Note::Dropped(_) => "messages-dropped",
        Note::ServerEnded { .. } => "server-ended",
        Note::KeeperLost => "keeper-lost",
        Note::Restarting { .. } => "server-restarting",
        Note::NotStarted(_) => "server-refused",
        Note::Restored => "server-restored",
        Note::Changed(_) => "server-changed",
        Note::OtherVersion(_) => "server-version",
        Note::Unwritable(_) => "client-unwritable",
        Note::TimedOut => "request-timeout",
        Note::Closed(_) => "session-closed",
        _ => return None,
    })
}
