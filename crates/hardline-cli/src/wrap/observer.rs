//! The observer of a session: sends events to standard error, to the audit log and to the
//! recording.

use std::cell::RefCell;
use std::time::Duration;

use hardline_guard::Found;
use hardline_proxy::audit::{AuditWriter, Launch, LoggedMessage, PATIENCE};
use hardline_proxy::record::Recorder;
use hardline_proxy::wrap::Observer;
use hardline_proxy::{CheckedLine, Notice};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::message;

use super::report::Report;

/// Limit on the part of a client's name and version that is stored, in bytes.
const CLIENT_BYTES: usize = 100;

/// Interval between two audit events that count unlisted findings.
const UNLISTED_EVERY: Duration = Duration::from_secs(1);

/// Distributes events to the report, the audit log and the recording.
#[derive(Debug)]
pub(super) struct WrapObserver {
    pub(super) report: Report,
    pub(super) audit: Option<AuditWriter>,
    pub(super) recorder: Option<Recorder>,
    /// Findings that were only counted since the last audit event about them, and the time of that
    /// event. A flood of findings becomes one event per second.
    pub(super) unlisted: (usize, Duration),
}

impl WrapObserver {
    /// Handles a finding. With an audit log, its writer prints the line after it has stored the
    /// finding.
    pub(super) fn found(&mut self, now: Duration, found: &Found) {
        let shown = self.report.found(found);
        match &mut self.audit {
            // Shown after it is stored, so the audit log prints the text.
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
        self.take(now, &Notice::Confined(changes));
    }

    /// Reports a problem with Hardline's own files.
    pub(super) fn trouble(&mut self, now: Duration, text: &str) {
        self.take(now, &Notice::Trouble(text));
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
        // Last: the audit log and the recording may report trouble of their own.
        left_out.into_iter().for_each(super::report::write);
    }

    fn take(&mut self, now: Duration, notice: &Notice<'_>) {
        match notice {
            Notice::Line(line) => {
                self.report.take(notice);
                return self.line(now, line);
            }
            Notice::Found(found) => return self.found(now, found),
            Notice::Unlisted(count) => {
                self.unlisted.0 += count;
                // One event per interval: a flood must not fill the database.
                if self.unlisted.1 + UNLISTED_EVERY <= now {
                    self.keep_unlisted(now);
                }
                self.report.take(notice);
                return;
            }
            _ => {}
        }
        if let (Some(audit), Some(kind)) = (&mut self.audit, kind(notice)) {
            audit.event(now, kind, &notice.to_string());
        }
        self.report.take(notice);
    }

    fn keep_unlisted(&mut self, now: Duration) {
        let (count, _) = std::mem::replace(&mut self.unlisted, (0, now));
        if let Some(audit) = self.audit.as_mut().filter(|_| count > 0) {
            let text = format!("{count} more findings like those before");
            audit.event(now, "findings-unlisted", &text);
        }
    }

    fn line(&mut self, now: Duration, line: &CheckedLine<'_>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.line(now, line);
        }
        // Without an audit log, nothing below is needed.
        let Some(audit) = &mut self.audit else { return };
        let call = match line.message {
            Some(message::Message::Request(request)) if request.method == "tools/call" => {
                request.params
            }
            _ => None,
        };
        let method = match line.message {
            Some(message::Message::Request(request)) => Some(&*request.method),
            Some(message::Message::Notification(call)) => Some(&*call.method),
            // An answer has no method of its own: the request's is stored.
            _ => line.asked.and_then(|asked| asked.method),
        };
        if let Some(message::Message::Request(request)) = line.message
            && let Some(client) = client(request)
        {
            audit.event(now, "client", &client);
        }
        // The name of the tool is in the call alone; its answer repeats only the id.
        let message = LoggedMessage {
            direction: line.direction,
            method,
            tool: line.asked.and_then(|asked| asked.tool.as_deref()),
            call,
            id: line.message.and_then(message::Message::id),
            bytes: usize::try_from(line.length).unwrap_or(usize::MAX),
            latency: line.asked.map(|asked| now.saturating_sub(asked.since)),
            verdict: line.verdict,
            body: line.raw,
        };
        audit.message(now, &message);
    }
}

/// Passes events to a [`WrapObserver`] that the launcher uses too.
#[derive(Debug)]
pub(super) struct SharedObserver<'a>(pub(super) &'a RefCell<WrapObserver>);

impl Observer for SharedObserver<'_> {
    fn notify(&mut self, now: Duration, notice: &Notice<'_>) {
        self.0.borrow_mut().take(now, notice);
    }

    fn wants_lines(&self) -> bool {
        let observer = self.0.borrow();
        observer.audit.is_some() || observer.recorder.is_some() || observer.report.wants_lines()
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
fn kind(notice: &Notice<'_>) -> Option<&'static str> {
    Some(match notice {
        Notice::Denied(_) => "tool-denied",
        Notice::Trouble(_) => "trouble",
        Notice::Confined(_) => "environment",
        Notice::Dropped(_) => "messages-dropped",
        Notice::ServerEnded { .. } => "server-ended",
        Notice::KeeperLost => "keeper-lost",
        Notice::Restarting { .. } => "server-restarting",
        Notice::NotStarted(_) => "server-refused",
        Notice::Restored => "server-restored",
        Notice::Changed(_) => "server-changed",
        Notice::OtherVersion(_) => "server-version",
        Notice::Unwritable(_) => "client-unwritable",
        Notice::TimedOut => "request-timeout",
        Notice::Closed(_) => "session-closed",
        _ => return None,
    })
}
