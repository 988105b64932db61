//! The server's end, and what follows.

use std::time::Duration;

use hardline_guard::Direction;
use hardline_guard::session::Asked;
use hardline_wire::id::Id;

use super::breaker::Pause;
use super::restore::Own;
use super::unfinished::Cut;
use super::{Deadlines, Relay, Reply, Restart, Sink, State};
use crate::note::Note;
use crate::redact::redact_excerpt;

/// How a server ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// In words that continue "the server …". The client is told them, and so is its model.
    pub how: String,
    /// Whether it ended by itself with code 0.
    pub is_success: bool,
    /// The last lines of its standard error without secrets, for logs alone.
    pub stderr_excerpt: String,
}

impl Ended {
    /// Says how a server ended.
    pub fn new(how: impl Into<String>, is_success: bool) -> Self {
        Self { how: how.into(), is_success, stderr_excerpt: String::new() }
    }

    /// Adds the last lines of its standard error, without the secrets in them.
    #[must_use]
    pub fn with_stderr_excerpt(mut self, lines: &[String]) -> Self {
        self.stderr_excerpt = redact_excerpt(lines);
        self
    }
}

/// What to do after a server's end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "it is started again or not")]
pub enum After {
    /// Start it at this time.
    Start(Duration),
    /// End the session.
    End,
}

impl Relay {
    /// Takes note that the server is gone, and nothing more of it can be read. `may_restart` is
    /// false if the session is about to end anyway.
    pub fn handle_server_end(
        &mut self,
        ended: &Ended,
        may_restart: bool,
        now: Duration,
        sink: &mut impl Sink,
    ) -> After {
        let verdict = self.guard.finish_server(now);
        self.dispatch(verdict, now, sink);
        self.last_end.clone_from(&ended.how);
        self.unfinished = None;
        self.cut = Cut::default();
        if 0 < self.guard.dropped() {
            sink.note(&Note::Dropped(self.guard.dropped()));
        }

        let mut orphans = self.guard.settle_all(Direction::ClientToServer);
        orphans.retain(|orphan| !self.takes_own(&orphan.id));
        let is_listen =
            |orphan: &hardline_guard::session::Orphan| self.opening.has_listen(&orphan.id);
        let has_pending = orphans.iter().any(|orphan| !is_listen(orphan));
        let is_failure = !ended.is_success || has_pending;
        let restarts = may_restart
            && match self.settings.restart {
                Restart::Always => true,
                Restart::OnFailure => is_failure,
                Restart::Never => false,
            };
        // A subscription stays open if there will be a server to keep it.
        orphans.retain(|orphan| !(restarts && is_listen(orphan)));
        if restarts || is_failure {
            let Ended { how, stderr_excerpt, .. } = ended;
            sink.note(&Note::ServerEnded { how, failed: orphans.len(), stderr_excerpt });
        }
        for orphan in orphans {
            let reason = format!("the server {}{}", ended.how, warning(&orphan.asked));
            let failure = Reply::Failure { id: &orphan.id, rule: "server.ended", reason: &reason };
            self.opening.end_listen(&orphan.id);
            sink.send((Direction::ServerToClient, failure).into());
        }
        self.refused = None;
        self.cancel_server_requests(sink);
        self.own.clear();
        self.interests.clear();
        self.deadlines = Deadlines::default();
        self.guard.restart();

        if !restarts {
            let reason = format!("the server {}", ended.how);
            self.fail_listens("server.ended", &reason, sink);
            self.fail_waiting("server.ended", &reason, sink);
            return After::End;
        }
        let (at, is_broken) = match self.breaker.ended(now) {
            Pause::Short(at) => (at, false),
            Pause::Long(at) => (at, true),
        };
        sink.note(&Note::Restarting { after: at.saturating_sub(now), is_broken });
        if is_broken {
            self.state = State::Broken(at);
            let reason = format!("the server {}; it ended too often", ended.how);
            self.fail_waiting("server.broken", &reason, sink);
        } else {
            self.state = State::Away;
        }
        After::Start(at)
    }

    /// Forgets a request if it is one of ours, and not the client's. Says whether it was.
    fn takes_own(&mut self, id: &Id<'static>) -> bool {
        self.own.remove(id).is_some_and(|own| !matches!(own, Own::Listen))
    }

    /// Tells the client that what the server asked for is not wanted any more.
    fn cancel_server_requests(&mut self, sink: &mut impl Sink) {
        let orphans = self.guard.settle_all(Direction::ServerToClient);
        let open = orphans.into_iter().map(|orphan| orphan.id).collect();
        for id in self.ids.end_server(open) {
            let reason = "the server that asked has ended";
            let cancelled = Reply::Cancelled { id: &id, reason };
            sink.send((Direction::ServerToClient, cancelled).into());
        }
    }

    /// Takes note that the client sends no more: whatever the server asks it for fails.
    pub fn handle_client_end(&mut self, sink: &mut impl Sink) {
        self.is_client_gone = true;
        self.fail_server_requests(sink);
    }

    /// Fails what the server asked the client for.
    pub(super) fn fail_server_requests(&mut self, sink: &mut impl Sink) {
        for orphan in self.guard.settle_all(Direction::ServerToClient) {
            let reason = "the client has ended";
            let failure = Reply::Failure { id: &orphan.id, rule: "client.ended", reason };
            sink.send((Direction::ClientToServer, failure).into());
        }
    }

    /// Fails everything that the client still waits for: nobody will answer.
    pub fn fail_all(&mut self, reason: &str, sink: &mut impl Sink) {
        for orphan in self.guard.settle_all(Direction::ClientToServer) {
            if !self.takes_own(&orphan.id) {
                let reason = format!("{reason}{}", warning(&orphan.asked));
                let id = &orphan.id;
                let failure = Reply::Failure { id, rule: "session.ended", reason: &reason };
                self.opening.end_listen(id);
                sink.send((Direction::ServerToClient, failure).into());
            }
        }
        self.fail_listens("session.ended", reason, sink);
        self.fail_waiting("session.ended", reason, sink);
    }

    /// Fails subscriptions that no server keeps at the moment.
    fn fail_listens(&mut self, rule: &str, reason: &str, sink: &mut impl Sink) {
        for id in self.opening.take_listens() {
            let failure = Reply::Failure { id: &id, rule, reason };
            sink.send((Direction::ServerToClient, failure).into());
        }
    }
}

/// What whoever asked should know besides the failure.
fn warning(asked: &Asked) -> &'static str {
    match asked.method {
        Some("tools/call") => "; the call may have been executed",
        _ => "",
    }
}
