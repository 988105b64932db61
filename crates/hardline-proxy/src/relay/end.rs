//! Handles the end of the server and of the client: fails open requests and plans the restart.

use std::time::Duration;

use hardline_guard::Direction;
use hardline_guard::session::{Asked, Orphan};
use hardline_wire::id::Id;

use super::breaker::NextStart;
use super::restore::OwnRequest;
use super::unfinished::Cut;
use super::{Deadlines, Relay, RelayReply, Restart, Sink, State};
use crate::notice::Notice;
use hardline_guard::redact::redact_excerpt;

/// Description of a server's end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// Text that continues "the server …". The client and its model see it.
    pub how: String,
    /// True if the server exited with code 0.
    pub is_success: bool,
    /// Last lines of the server's standard error without secrets, only for logs.
    pub stderr_excerpt: String,
}

impl Ended {
    /// Describes an end.
    pub fn new(how: impl Into<String>, is_success: bool) -> Self {
        Self { how: how.into(), is_success, stderr_excerpt: String::new() }
    }

    /// Adds the last lines of the server's standard error, redacted.
    #[must_use]
    pub fn with_stderr_excerpt(mut self, lines: &[String]) -> Self {
        self.stderr_excerpt = redact_excerpt(lines);
        self
    }
}

/// Next step of the driver after a server's end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a server is restarted or not")]
pub enum After {
    /// Restart the server at this time.
    Start(Duration),
    /// End the session.
    End,
}

impl Relay {
    /// Handles the end of the server, after all its output was read. `may_restart` is false if the
    /// session is about to end.
    pub fn handle_server_end(
        &mut self,
        ended: &Ended,
        may_restart: bool,
        now: Duration,
        sink: &mut impl Sink,
    ) -> After {
        // Held frames may be answers, so they are delivered before open requests fail.
        let inspection = self.guard.finish_server(now);
        self.dispatch(inspection, now, sink);
        self.last_end.clone_from(&ended.how);
        self.unfinished = None;
        self.cut = Cut::default();
        if self.guard.dropped() > 0 {
            sink.notify(&Notice::Dropped(self.guard.dropped()));
        }

        let mut orphans = self.guard.settle_all(Direction::ClientToServer);
        // No client waits for the answers to requests of the relay.
        orphans.retain(|orphan| !self.forget_own(&orphan.id));
        let is_listen = |orphan: &Orphan| self.opening.has_listen(&orphan.id);
        // An open subscription is the normal state, and no sign of a failure.
        let has_pending = orphans.iter().any(|orphan| !is_listen(orphan));
        let is_failure = !ended.is_success || has_pending || self.is_deaf;
        let restarts = may_restart
            && match self.settings.restart {
                Restart::Always => true,
                Restart::OnFailure => is_failure,
                Restart::Never => false,
            };
        // A subscription stays open if another server will take it over.
        orphans.retain(|orphan| !(restarts && is_listen(orphan)));
        if restarts || is_failure {
            let Ended { how, stderr_excerpt, .. } = ended;
            sink.notify(&Notice::ServerEnded { how, failed: orphans.len(), stderr_excerpt });
        }
        for orphan in orphans {
            let reason = format!("the server {}{}", ended.how, warning(&orphan.asked));
            let failure =
                RelayReply::Failure { id: &orphan.id, rule: "server.ended", reason: &reason };
            self.opening.end_listen(&orphan.id);
            sink.send((Direction::ServerToClient, failure).into());
        }
        self.forget_server(sink);
        if !restarts {
            let reason = format!("the server {}", ended.how);
            self.fail_listens("server.ended", &reason, sink);
            self.fail_waiting("server.ended", &reason, sink);
            return After::End;
        }
        self.plan_restart(&ended.how, now, sink)
    }

    /// Resets the state that belongs to one server.
    fn forget_server(&mut self, sink: &mut impl Sink) {
        self.refused = None;
        self.is_deaf = false;
        self.cancel_server_requests(sink);
        self.own.clear();
        self.interests.clear();
        self.deadlines = Deadlines::default();
        // Last, because the guard requires that nothing is in flight any more.
        self.guard.restart();
    }

    /// Chooses the time of the restart. Waiting requests fail if it is far away.
    fn plan_restart(&mut self, how: &str, now: Duration, sink: &mut impl Sink) -> After {
        let (at, is_broken) = match self.breaker.count_end(now) {
            NextStart::Soon(at) => (at, false),
            NextStart::Later(at) => (at, true),
        };
        sink.notify(&Notice::Restarting { after: at.saturating_sub(now), is_broken });
        if is_broken {
            // The pause is longer than any line may wait, so waiting lines fail now.
            self.state = State::Broken(at);
            let reason = format!("the server {how}; it ended too often");
            self.fail_waiting("server.broken", &reason, sink);
        } else {
            self.state = State::Away;
        }
        After::Start(at)
    }

    /// Removes a request of the relay. Returns false if the request is the client's.
    fn forget_own(&mut self, id: &Id<'static>) -> bool {
        self.own.remove(id).is_some_and(|own| !matches!(own, OwnRequest::Listen))
    }

    /// Cancels the requests of a server that has ended at the client.
    fn cancel_server_requests(&mut self, sink: &mut impl Sink) {
        let orphans = self.guard.settle_all(Direction::ServerToClient);
        let open = orphans.into_iter().map(|orphan| orphan.id).collect();
        for id in self.ids.end_server(open) {
            let reason = "the server that asked has ended";
            let cancelled = RelayReply::Cancelled { id: &id, reason };
            sink.send((Direction::ServerToClient, cancelled).into());
        }
    }

    /// Handles the end of the client's input. All requests of the server fail from now on.
    pub fn handle_client_end(&mut self, sink: &mut impl Sink) {
        self.is_client_gone = true;
        self.fail_server_requests(sink);
    }

    /// Fails the open requests of the server.
    pub(super) fn fail_server_requests(&mut self, sink: &mut impl Sink) {
        for orphan in self.guard.settle_all(Direction::ServerToClient) {
            let reason = "the client has ended";
            let failure = RelayReply::Failure { id: &orphan.id, rule: "client.ended", reason };
            sink.send((Direction::ClientToServer, failure).into());
        }
    }

    /// Fails all open requests of the client, because no answer can arrive.
    pub fn fail_all(&mut self, reason: &str, sink: &mut impl Sink) {
        for orphan in self.guard.settle_all(Direction::ClientToServer) {
            if !self.forget_own(&orphan.id) {
                let reason = format!("{reason}{}", warning(&orphan.asked));
                let id = &orphan.id;
                let failure = RelayReply::Failure { id, rule: "session.ended", reason: &reason };
                self.opening.end_listen(id);
                sink.send((Direction::ServerToClient, failure).into());
            }
        }
        self.fail_listens("session.ended", reason, sink);
        self.fail_waiting("session.ended", reason, sink);
    }

    /// Fails the subscriptions that no server holds at the moment.
    fn fail_listens(&mut self, rule: &str, reason: &str, sink: &mut impl Sink) {
        for id in self.opening.take_listens() {
            let failure = RelayReply::Failure { id: &id, rule, reason };
            sink.send((Direction::ServerToClient, failure).into());
        }
    }
}

/// Returns a warning to append to the failure of a request.
fn warning(asked: &Asked) -> &'static str {
    match asked.method {
        // A client that repeats a call may run it twice. Other requests are safe to repeat.
        Some("tools/call") => "; the call may have been executed",
        _ => "",
    }
}
