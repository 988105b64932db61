//! Routes lines between a client and a server that may restart. No I/O and no clock.
//!
//! The driver passes a [`Relay`] every line of both peers, the starts and ends of the server, and
//! the time. The guard inspects each line, and the frames that it delivers go to a [`Sink`]. The
//! relay stores the messages that opened the session (the client's `initialize`, its log level, its
//! subscriptions) and repeats them to a restarted server. The client notices a restart only by the
//! errors for its requests in flight.
//!
//! Invariants:
//! - Every request of the client gets exactly one answer, from the server or from the relay, unless
//!   the client cancelled it.
//! - Answers to the relay's own requests do not reach the client.
//! - While there is no server, at most `max_in_flight` lines and `max_queue_bytes` wait for one, and
//!   none longer than [`MAX_WAIT`].
//! - Nothing is sent but an [`Outgoing`].

mod breaker;
mod deadline;
mod deliver;
mod end;
mod learn;
mod opening;
mod outgoing;
mod restore;
mod server_ids;
mod show;
mod start_refusal;
mod unfinished;
mod waiting;

use std::collections::HashMap;
use std::time::Duration;

use hardline_guard::policy::Policy;
use hardline_guard::tools::PinKeeper;
use hardline_guard::{Direction, Guard};
use hardline_wire::frame::{Decoder, Frame, is_truncated};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::Line;
use hardline_wire::message::Message;

use crate::notice::Notice;
use breaker::Breaker;
use deadline::Deadlines;
use opening::{Interest, Opening};
use restore::OwnRequest;
use server_ids::{AnswerTo, ServerIds};
use unfinished::{Cut, Unfinished};
use waiting::WaitingLines;

pub use end::{After, Ended};
pub use outgoing::{Outgoing, RelayReply};
pub use start_refusal::StartRefusal;

/// Longest time that a line of the client waits for a restarted server.
pub const MAX_WAIT: Duration = Duration::from_secs(5);

/// Condition for the restart of a server that ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a contract: command lines name these three")]
pub enum Restart {
    /// Restart after an exit code other than 0, a signal, or an end with pending requests.
    #[default]
    OnFailure,
    /// Restart after every end.
    Always,
    /// Never restart.
    Never,
}

/// Settings of a relay.
#[derive(Debug)]
#[non_exhaustive]
pub struct RelaySettings {
    /// Policy of the guard.
    pub policy: Policy,
    /// Name of the server in the policy.
    pub server: String,
    /// Condition for restarts.
    pub restart: Restart,
    /// Deadline for requests of the client. `None`: requests may take forever.
    pub request_timeout: Option<Duration>,
    /// Store of the pins. `None`: tools are not pinned.
    pub pins: Option<Box<dyn PinKeeper>>,
}

impl RelaySettings {
    /// Returns the default settings for the server with this name.
    pub fn new(server: impl Into<String>, policy: Policy) -> Self {
        Self {
            policy,
            server: server.into(),
            restart: Restart::default(),
            request_timeout: None,
            pins: None,
        }
    }
}

/// Receiver of the relay's output.
pub trait Sink {
    /// Sends a frame, and adds the line end.
    fn send(&mut self, outgoing: Outgoing<'_>);

    /// Reports an event to the observer of the session.
    fn notify(&mut self, notice: &Notice<'_>);

    /// Returns true if the observer wants a notice for every line.
    fn wants_lines(&self) -> bool {
        false
    }
}

/// Request of the relay to its driver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a driver must carry out each")]
pub enum DriverAction {
    /// Kill the server. It does not work and will be restarted.
    KillServer,
    /// Call [`Relay::try_end_line`] with the server's unfinished line. If it returns true, end the
    /// line as if its newline had arrived, and pass it to the relay.
    EndLine,
    /// End the session.
    EndSession,
}

/// State of the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// The server runs, and its session is restored.
    Up,
    /// The server runs, and its session is being restored, until this time at most.
    Restoring(Duration),
    /// The server will be restarted soon.
    Away,
    /// The server ends too often, or must not be started. Requests fail until this time.
    Broken(Duration),
}

/// One session between a client and a server that may restart.
#[derive(Debug)]
pub struct Relay {
    guard: Guard,
    limits: Limits,
    settings: RelaySettings,
    state: State,
    opening: Opening,
    /// Requests of the client whose answers change the state of the session.
    interests: HashMap<Id<'static>, Interest>,
    /// Requests of the relay itself.
    own: HashMap<Id<'static>, OwnRequest>,
    next_own: u64,
    ids: ServerIds,
    waiting: WaitingLines,
    deadlines: Deadlines,
    breaker: Breaker,
    /// Description of the server's last end.
    last_end: String,
    /// True if requests failed because the server had closed its standard input.
    is_deaf: bool,
    /// Reason why the server must not be restarted.
    refused: Option<StartRefusal>,
    action: Option<DriverAction>,
    /// Line that the server has begun and not ended.
    unfinished: Option<Unfinished>,
    cut: Cut,
    is_client_gone: bool,
    decoder: Decoder,
}

impl Relay {
    /// Creates a relay whose server is being started.
    pub fn new(mut settings: RelaySettings) -> Self {
        let limits = settings.policy.settings(Some(&settings.server)).limits().clone();
        let mut guard = Guard::for_server(settings.policy.clone(), &settings.server);
        if let Some(keeper) = settings.pins.take() {
            guard = guard.with_pins(keeper);
        }
        Self {
            guard,
            state: State::Up,
            opening: Opening::default(),
            interests: HashMap::new(),
            own: HashMap::new(),
            next_own: 0,
            ids: ServerIds::default(),
            waiting: WaitingLines::new(&limits),
            deadlines: Deadlines::default(),
            breaker: Breaker::default(),
            last_end: String::new(),
            is_deaf: false,
            refused: None,
            action: None,
            unfinished: None,
            cut: Cut::default(),
            is_client_gone: false,
            decoder: Decoder::new(&limits),
            limits,
            settings,
        }
    }

    /// Returns the limits of this session.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes the request to the driver, if there is one.
    pub fn take_action(&mut self) -> Option<DriverAction> {
        self.action.take()
    }

    /// Returns true if the client waits for no answer, except to subscriptions.
    pub fn is_idle(&self) -> bool {
        let own = self.own.values().filter(|own| !matches!(own, OwnRequest::Listen)).count();
        self.waiting.is_empty() && self.guard.in_flight(Direction::ClientToServer) <= own
    }

    /// Handles a line of the client.
    pub fn handle_client(&mut self, line: &Line<'_>, now: Duration, sink: &mut impl Sink) {
        let state = self.state;
        match state {
            State::Up => self.take_client(line, now, sink),
            // The new server may request something before it answers `initialize`.
            State::Restoring(_) if is_answer(line, &mut self.decoder) => {
                self.take_client(line, now, sink);
            }
            State::Restoring(_) | State::Away => self.hold(line, now, sink),
            State::Broken(until) => self.refuse(line, until, now, sink),
        }
    }

    /// Handles a line of the server.
    pub fn handle_server(&mut self, line: &Line<'_>, now: Duration, sink: &mut impl Sink) {
        if is_truncated(line, &mut self.decoder) {
            // The driver reports the end of the server next, which explains more than half a line.
            sink.notify(&Notice::Noise(line.whole().unwrap_or_default()));
            return;
        }
        let rest = self.cut.take_rest(line);
        if rest.is_some() {
            // The line may have been an answer. Behind the text before it, it is no message.
            self.guard.lose_answer(now);
        }
        let line = &rest.as_deref().map_or(*line, Line::of_text);
        self.pass(Direction::ServerToClient, line, line, now, sink);
        // No client is left to answer what the server may just have asked.
        if self.is_client_gone {
            self.fail_server_requests(sink);
        }
    }

    /// Handles the arrival of bytes of the server. `unfinished` is the line that they begin or
    /// continue; `has_lines` is true if they ended other lines before it.
    pub fn handle_server_bytes(&mut self, unfinished: &[u8], has_lines: bool, now: Duration) {
        // Whole lines alone leave nothing unfinished, and the guard sees each of them anyway.
        if !has_lines || !unfinished.is_empty() || self.unfinished.is_some() {
            self.guard.handle_bytes(unfinished, now);
        }
        let before = self.unfinished.filter(|_| !has_lines);
        self.unfinished = match before {
            Some(before) => before.grow(unfinished, now),
            None => Unfinished::new(unfinished, now),
        };
    }

    /// Handles the end of the server's output. Its process will end or be killed, so lines of the
    /// client wait for the next server.
    pub fn handle_server_silence(&mut self) {
        self.state = match self.state {
            State::Up | State::Restoring(_) => State::Away,
            other @ (State::Away | State::Broken(_)) => other,
        };
    }

    /// Handles the end of the server's standard input: nothing can be sent to it any more. The
    /// requests that were handled after `written`, the last time at which everything had been
    /// written, fail at once. Answers to earlier ones may still arrive until the server ends.
    pub fn handle_server_deafness(&mut self, written: Duration, sink: &mut impl Sink) {
        self.handle_server_silence();
        self.last_end = "closed its standard input".to_owned();
        for orphan in self.guard.settle_since(written) {
            // The relay repeats its own requests at the next server, so none of them fails here.
            if self.own.contains_key(&orphan.id) {
                continue;
            }
            self.is_deaf = true;
            let reason = "the request could not be sent: the server closed its standard input";
            let failure = RelayReply::Failure { id: &orphan.id, rule: "server.deaf", reason };
            self.opening.end_listen(&orphan.id);
            sink.send((Direction::ServerToClient, failure).into());
        }
    }

    /// Returns the time at which the driver must call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Duration> {
        let restoring = match self.state {
            State::Restoring(until) => Some(until),
            State::Up | State::Away | State::Broken(_) => None,
        };
        // The driver carries out a pending action first, so the line needs no second timeout.
        let unfinished = self.unfinished.filter(|_| self.action.is_none());
        let own = [self.deadlines.next(), unfinished.map(Unfinished::deadline)];
        let all = [self.guard.poll_timeout(), self.waiting.next_deadline(), restoring];
        all.into_iter().chain(own).flatten().min()
    }

    /// Handles timeouts. `is_quiet` is true if there is nothing to read from the server: bytes that
    /// are already in the pipe count as if they had arrived before the deadline.
    pub fn handle_timeout(&mut self, now: Duration, is_quiet: bool, sink: &mut impl Sink) {
        if is_quiet {
            let inspection = self.guard.handle_timeout(now);
            self.dispatch(inspection, now, sink);
            if self.unfinished.is_some_and(|it| it.deadline() <= now) {
                self.action.get_or_insert(DriverAction::EndLine);
            }
        }
        // The deadlines of the client hold, whatever the server may still be sending.
        self.expire_waiting(now, sink);
        self.expire_requests(now, sink);
        if matches!(self.state, State::Restoring(until) if until <= now) {
            self.kill_server();
        }
    }

    /// Requests the end of a server that does not work. Another one will be started.
    fn kill_server(&mut self) {
        self.state = State::Away;
        self.action.get_or_insert(DriverAction::KillServer);
    }

    /// Inspects a line of the client and forwards it to the running server.
    fn take_client(&mut self, line: &Line<'_>, now: Duration, sink: &mut impl Sink) {
        // Until a server has left requests open, each answer is for this one: no need to decode.
        if !self.ids.is_empty()
            && let Some(text) = line.whole()
        {
            if let Ok(Frame::Batch(batch)) = self.decoder.decode(text) {
                // Each element alone, because some may answer a server that has ended.
                for element in batch.elements() {
                    self.take_client(&Line::of_text(element.text), now, sink);
                }
                return;
            }
            match self.ids.take_answer(text, &mut self.decoder, &self.limits) {
                AnswerTo::Other => {}
                AnswerTo::Late => return,
                AnswerTo::Renamed(text) => {
                    let renamed = Line::of_text(&text);
                    return self.pass(Direction::ClientToServer, &renamed, line, now, sink);
                }
            }
        }
        self.pass(Direction::ClientToServer, line, line, now, sink);
    }

    /// Inspects a line, reports it as `arrived`, and sends the deliveries.
    fn pass(
        &mut self,
        direction: Direction,
        line: &Line<'_>,
        arrived: &Line<'_>,
        now: Duration,
        sink: &mut impl Sink,
    ) {
        let inspection = self.guard.inspect(direction, line, now);
        self.show(direction, arrived, &inspection, sink);
        self.dispatch(inspection, now, sink);
    }
}

/// Returns true if a line of the client answers a request.
fn is_answer(line: &Line<'_>, decoder: &mut Decoder) -> bool {
    let decoded = line.whole().map(|text| decoder.decode(text));
    let Some(Ok(Frame::Message(message, _))) = decoded else { return false };
    matches!(message, Message::Response(_) | Message::Error(_))
}
