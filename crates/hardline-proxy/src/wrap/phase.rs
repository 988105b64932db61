//! Phases of a session: signals, the end of either peer, and the last writes.

use std::task::{Context, Poll};
use std::time::Duration;

use hardline_transport::process::Exit;

use super::outlet::Outlets;
use super::process::ServerProcess;
use super::{Driver, GRACE, LAST_WRITE, Observer, SIGNAL_GRACE, SessionOutcome};
use crate::notice::Notice;
use crate::relay::DriverAction;

/// Phase of a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    Running,
    /// The client sends no more. The server may answer until this time.
    Draining(Duration),
    /// The server is being ended.
    Closing,
    /// The last messages are written to the client until this time.
    Leaving(Duration),
}

impl Driver<'_> {
    /// Handles signals that have arrived.
    pub(super) fn listen(&mut self, now: Duration, context: &mut Context<'_>) {
        while let Poll::Ready(signal) = self.signals.poll_recv(context) {
            match self.signal.replace(signal) {
                None => {
                    // A signal shortens a grace period that runs already, and never extends it.
                    let until = now + SIGNAL_GRACE;
                    match self.phase {
                        Phase::Running => self.phase = Phase::Draining(until),
                        Phase::Draining(other) => self.phase = Phase::Draining(until.min(other)),
                        Phase::Closing | Phase::Leaving(_) => {}
                    }
                }
                // A second signal means that the user does not want to wait.
                Some(_) => {
                    if let Some(server) = self.server.take() {
                        server.kill();
                    }
                    self.phase = Phase::Leaving(now);
                }
            }
            self.outcome = Some(SessionOutcome::Signal(signal));
        }
    }

    /// Carries out the request of the relay, if there is one.
    pub(super) fn perform_action(
        &mut self,
        now: Duration,
        context: &mut Context<'_>,
        observer: &mut dyn Observer,
    ) {
        match self.relay.take_action() {
            None => {}
            Some(DriverAction::KillServer) => {
                if let Some(server) = &self.server {
                    server.kill();
                }
            }
            Some(DriverAction::EndLine) => {
                let Self { relay, client, server: Some(server), .. } = self else { return };
                let ServerProcess { input, output, .. } = server;
                // The line may have grown since the relay asked for its end.
                if !relay.try_end_line(output.unfinished(), now) {
                    return;
                }
                let to_server = input.as_mut();
                let client = &mut client.output;
                let mut sink = Outlets { client, server: to_server, context, observer, now };
                output.cut_line(|line| relay.handle_server(line, now, &mut sink));
            }
            Some(DriverAction::EndSession) => {
                // A signal that came first stays the reason for the end.
                self.outcome.get_or_insert(SessionOutcome::Closed);
                let mut sink = Outlets {
                    client: &mut self.client.output,
                    server: None,
                    context,
                    observer,
                    now,
                };
                self.relay.fail_all("the session was closed", &mut sink);
                self.phase = Phase::Draining(now);
            }
        }
    }

    /// Moves to the next phase if its conditions are met. Returns the outcome at the end.
    pub(super) fn advance(
        &mut self,
        now: Duration,
        context: &mut Context<'_>,
        observer: &mut dyn Observer,
    ) -> Option<SessionOutcome> {
        if let Some(error) = self.client.output.take_error() {
            observer.notify(now, &Notice::Unwritable(&error));
            self.outcome.get_or_insert(SessionOutcome::Closed);
        }
        if self.phase == Phase::Running {
            if self.client.output.is_broken() || self.client.is_gone(now) {
                self.phase = Phase::Draining(now);
            } else if self.client.input.is_ended() {
                self.phase = Phase::Draining(now + GRACE);
                let Self { relay, client, server, .. } = self;
                let server = server.as_mut().and_then(|server| server.input.as_mut());
                let mut sink =
                    Outlets { client: &mut client.output, server, context, observer, now };
                relay.handle_client_end(&mut sink);
            }
        }
        let is_alone = self.server.is_none() && self.restart_at.is_none();
        // Without a server and without a planned restart, no answer can arrive.
        if self.phase == Phase::Running && is_alone {
            self.phase = Phase::Closing;
        }
        if let Phase::Draining(until) = self.phase {
            let is_written = self
                .server
                .as_ref()
                .and_then(|it| it.input.as_ref())
                .is_none_or(|input| input.waiting() == 0 || input.is_broken());
            // Without a server it is done as well, because none is restarted in this phase.
            let is_done = self.relay.is_idle() && is_written || self.server.is_none();
            if is_done || until <= now || self.client.output.is_broken() {
                self.phase = Phase::Closing;
                self.restart_at = None;
                self.server = self.server.take().map(ServerProcess::close);
            }
        }
        if self.phase == Phase::Closing && self.server.is_none() {
            // Every request gets an answer, even at the end.
            let reason = "the session has ended";
            let mut sink =
                Outlets { client: &mut self.client.output, server: None, context, observer, now };
            self.relay.fail_all(reason, &mut sink);
            self.phase = Phase::Leaving(now + LAST_WRITE);
        }
        if let Phase::Leaving(until) = self.phase {
            let is_written = self.client.output.poll_drain(context).is_ready();
            if is_written || until <= now || self.client.output.is_broken() {
                return Some(self.outcome.unwrap_or_else(|| self.server_outcome()));
            }
        }
        None
    }

    fn server_outcome(&self) -> SessionOutcome {
        if self.is_refused {
            return SessionOutcome::Closed;
        }
        let exit = self.last_exit.as_ref();
        let code = exit.and_then(Exit::code);
        let signal = exit.and_then(Exit::signal);
        SessionOutcome::Server(code.or(signal.map(|signal| 128 + signal)).unwrap_or(1))
    }
}
