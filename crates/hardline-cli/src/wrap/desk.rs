//! Whoever watches a session: what is told goes to standard error, to the audit and to the recording.

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

/// How much of a client's name is kept.
const CLIENT_BYTES: usize = 100;

/// How often it is kept that findings are not listed.
const UNLISTED_EVERY: Duration = Duration::from_secs(1);

/// Takes what is told.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) report: Report,
    pub(super) audit: Option<Audit>,
    pub(super) recorder: Option<Recorder>,
    /// Findings that are not listed since that was last kept, and when that was: a flood of them is one
    /// event a second.
    pub(super) unlisted: (usize, Duration),
}

impl Desk {
    /// Takes a finding: it is kept first, and told then.
    pub(super) fn found(&mut self, now: Duration, found: &Found) {
        let shown = self.report.found(found);
        match &mut self.audit {
            Some(audit) => audit.finding(now, found, shown),
            None => shown.into_iter().for_each(super::report::write),
        }
    }

    /// Takes what is known of the server's start.
    pub(super) fn launch(&mut self, now: Duration, launch: &Launch) {
        if let Some(audit) = &mut self.audit {
            audit.launch(now, launch);
        }
    }

    /// Takes the variables that the server does not get from the client.
    pub(super) fn confined(&mut self, now: Duration, changes: &str) {
        self.take(now, &Note::Confined(changes));
    }

    /// Takes something that goes wrong with our own files.
    pub(super) fn trouble(&mut self, now: Duration, text: &str) {
        self.take(now, &Note::Trouble(text));
    }

    /// Waits until all is kept and told, a while.
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
        if let Some(audit) = self.audit.as_mut().filter(|_| 0 < count) {
            let text = format!("{count} more findings like those before");
            audit.event(now, "findings-unlisted", &text);
        }
    }

    fn line(&mut self, now: Duration, seen: &Seen<'_>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.line(now, seen);
        }
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

/// Shows a desk what happens, while others use it too.
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

/// What a client says it is, when it opens a session.
fn client(request: &message::Request<'_>) -> Option<String> {
    let params = request.params?;
    let info = match &*request.method {
        "initialize" => params.get("clientInfo"),
        "server/discover" => params.get("_meta")?.get("io.modelcontextprotocol/clientInfo"),
        _ => None,
    }?;
    let text = |key| info.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let (name, version) = (text("name"), text("version"));
    let shown = format!("{name} {version}");
    Some(Excerpt::new(shown.trim().as_bytes(), CLIENT_BYTES).to_string())
}

/// The name under which a note is kept, if it is.
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
