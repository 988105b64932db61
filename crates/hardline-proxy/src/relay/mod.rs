//! What goes to whom, line by line, whichever server is there.
//!
//! A [`Relay`] is shown every line of the client and the server, the server's ends and starts, and the
//! time. It has the guard judge each line, hands what goes on to a [`Sink`], and remembers what a server
//! in the place of one that ended must be told: the client's own `initialize`, its log level, its
//! subscriptions. The client notices a restart only by errors for what was in flight.
//!
//! Invariants:
//! - Every request of the client gets exactly one answer from the server or from us, unless it was
//!   cancelled.
//! - What a server sends in answer to what we asked for ourselves reaches nobody.
//! - While there is no server, no more than `max_in_flight` lines and `max_queue_bytes` wait for one,
//!   none longer than [`MAX_WAIT`].

mod breaker;
mod deadline;
mod end;
mod learn;
mod line;
mod opening;
mod refused;
mod restore;
mod server_ids;
mod show;
mod unfinished;
mod waiting;

use std::collections::HashMap;
use std::time::Duration;

use hardline_guard::policy::Policy;
use hardline_guard::tools::PinKeeper;
use hardline_guard::{Carries, Delivery, Direction, Guard, Inspection};
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Line, LineEnd};
use hardline_wire::message::Message;

use crate::note::Note;
use breaker::Breaker;
use deadline::Deadlines;
use opening::{Interest, Opening};
use restore::Own;
use server_ids::ServerIds;
use unfinished::{Cut, Unfinished};
use waiting::Waiting;

pub use end::{After, Ended};
pub use refused::Refused;

/// How long a request waits for a server that is being started again.
pub const MAX_WAIT: Duration = Duration::from_secs(5);

/// When a server that ended is started again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a contract: command lines name these three")]
pub enum Restart {
    /// If it ended with another code than 0, by a signal, or with requests pending.
    #[default]
    OnFailure,
    /// Whenever it ends.
    Always,
    /// Never.
    Never,
}

/// How a relay works.
#[derive(Debug)]
#[non_exhaustive]
pub struct Settings {
    /// What is done about findings.
    pub policy: Policy,
    /// The server's name, as the policy has it.
    pub server: String,
    /// When the server is started again.
    pub restart: Restart,
    /// How long a request may take; without end if there is none.
    pub request_timeout: Option<Duration>,
    /// Who keeps the pins of tools, if they are pinned.
    pub pins: Option<Box<dyn PinKeeper>>,
}

impl Settings {
    /// The settings for a server with this name.
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

/// Where what comes of a line goes.
pub trait Sink {
    /// Sends a line, which has no end yet. One of our own making may go against the stream it comes
    /// from, and `is_own` says so.
    fn send(&mut self, direction: Direction, frame: &[u8], is_own: bool);

    /// Tells whoever watches.
    fn note(&mut self, note: &Note<'_>);

    /// Whether it is told of every line.
    fn wants_lines(&self) -> bool {
        false
    }
}

/// What there is to do besides sending.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "whoever drives a relay must do each")]
pub enum Wish {
    /// End the server, which is of no use: it will be started again.
    KillServer,
    /// End the server's unfinished line as if its newline had come, and hand it over, if
    /// [`Relay::ends_line`] says so.
    EndLine,
    /// End the session.
    EndSession,
}

/// Whether there is a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// It is there, and told everything.
    Up,
    /// It is being told what the one before knew, until this time at most.
    Restoring(Duration),
    /// It will be started.
    Away,
    /// It ends too often, or may not be started: requests fail until this time.
    Broken(Duration),
}

/// Everything about one session.
#[derive(Debug)]
pub struct Relay {
    guard: Guard,
    limits: Limits,
    settings: Settings,
    state: State,
    opening: Opening,
    /// Requests of the client whose answers are of interest.
    interests: HashMap<Id<'static>, Interest>,
    /// Requests of ours.
    own: HashMap<Id<'static>, Own>,
    next_own: u64,
    ids: ServerIds,
    waiting: Waiting,
    deadlines: Deadlines,
    breaker: Breaker,
    /// How the server ended last.
    last_end: String,
    /// Why it may not be started again, if it may not.
    refused: Option<Refused>,
    wish: Option<Wish>,
    /// Set while the server has begun a line and not ended it.
    unfinished: Option<Unfinished>,
    cut: Cut,
    is_client_gone: bool,
    decoder: Decoder,
}

impl Relay {
    /// Creates a relay whose server is just being started.
    pub fn new(mut settings: Settings) -> Self {
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
            waiting: Waiting::new(&limits),
            deadlines: Deadlines::default(),
            breaker: Breaker::default(),
            last_end: String::new(),
            refused: None,
            wish: None,
            unfinished: None,
            cut: Cut::default(),
            is_client_gone: false,
            decoder: Decoder::new(&limits),
            limits,
            settings,
        }
    }

    /// The limits of the wire that hold for this session.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What there is to do besides sending, once.
    pub fn take_wish(&mut self) -> Option<Wish> {
        self.wish.take()
    }

    /// Whether the client waits for nothing but subscriptions.
    pub fn is_idle(&self) -> bool {
        let own = self.own.values().filter(|own| !matches!(own, Own::Listen)).count();
        self.waiting.is_empty() && self.guard.in_flight(Direction::ClientToServer) <= own
    }

    /// Takes a line of the client.
    pub fn handle_client(&mut self, line: &Line<'_>, now: Duration, sink: &mut impl Sink) {
        let state = self.state;
        match state {
            State::Up => self.take_client(line, now, sink),
            // The new server may ask something before it answers.
            State::Restoring(_) if self.is_answer(line) => self.take_client(line, now, sink),
            State::Restoring(_) | State::Away => self.hold(line, now, sink),
            State::Broken(until) => self.refuse(line, until, now, sink),
        }
    }

    /// Takes a line of the server.
    pub fn handle_server(&mut self, line: &Line<'_>, now: Duration, sink: &mut impl Sink) {
        if line.end == LineEnd::Eof && self.is_cut_short(line) {
            // Its end says more than what it left behind, and comes next.
            sink.note(&Note::Noise(line.whole().unwrap_or_default()));
            return;
        }
        let rest = self.cut.take_rest(line);
        if rest.is_some() {
            // It may have been an answer, and is no message behind the text before it.
            self.guard.lose_answer(now);
        }
        let line = &rest.as_deref().map_or(*line, Line::of_text);
        let verdict = self.guard.inspect(Direction::ServerToClient, line, now);
        self.show(Direction::ServerToClient, line, &verdict, sink);
        self.dispatch(verdict, now, sink);
        if self.is_client_gone {
            self.fail_server_requests(sink);
        }
    }

    /// Takes note that bytes of the server came. `unfinished` is the line that they begin or go on
    /// with, and `has_lines` says that they ended others before it.
    pub fn handle_server_bytes(&mut self, unfinished: &[u8], has_lines: bool, now: Duration) {
        if !has_lines || !unfinished.is_empty() || self.unfinished.is_some() {
            self.guard.handle_bytes(unfinished, now);
        }
        let before = self.unfinished.filter(|_| !has_lines);
        self.unfinished = match before {
            Some(before) => before.grow(unfinished, now),
            None => Unfinished::new(unfinished, now),
        };
    }

    /// Takes note that the server says no more: it will end, or be ended. What comes from the client
    /// waits for the next.
    pub fn handle_server_silence(&mut self) {
        self.state = match self.state {
            State::Up | State::Restoring(_) => State::Away,
            other @ (State::Away | State::Broken(_)) => other,
        };
    }

    /// Whether the last line of a server that is gone is no message.
    fn is_cut_short(&mut self, line: &Line<'_>) -> bool {
        !line.is_blank() && line.whole().is_none_or(|text| self.decoder.decode(text).is_err())
    }

    /// When the relay wants to be told the time, if no line comes before that.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let restoring = match self.state {
            State::Restoring(until) => Some(until),
            State::Up | State::Away | State::Broken(_) => None,
        };
        // Once there is a wish, the caller acts first.
        let unfinished = self.unfinished.filter(|_| self.wish.is_none());
        let own = [self.deadlines.next(), unfinished.map(Unfinished::deadline)];
        let all = [self.guard.poll_timeout(), self.waiting.next_deadline(), restoring];
        all.into_iter().chain(own).flatten().min()
    }

    /// Takes note of the time. `is_quiet` says that there is nothing to read from the server: what was
    /// already there when the time ran out counts as if it had come before.
    pub fn handle_timeout(&mut self, now: Duration, is_quiet: bool, sink: &mut impl Sink) {
        if is_quiet {
            let verdict = self.guard.handle_timeout(now);
            self.dispatch(verdict, now, sink);
            if self.unfinished.is_some_and(|it| it.deadline() <= now) {
                self.wish.get_or_insert(Wish::EndLine);
            }
        }
        self.expire_waiting(now, sink);
        self.expire_requests(now, sink);
        if matches!(self.state, State::Restoring(until) if until <= now) {
            self.condemn();
        }
    }

    /// Has the server ended, because it is of no use: another one will be started.
    fn condemn(&mut self) {
        self.state = State::Away;
        self.wish.get_or_insert(Wish::KillServer);
    }

    /// Takes a line of the client while there is a server.
    fn take_client(&mut self, line: &Line<'_>, now: Duration, sink: &mut impl Sink) {
        if !self.ids.is_empty()
            && let Some(text) = line.whole()
        {
            if let Ok(Frame::Batch(batch)) = self.decoder.decode(text) {
                // Each on its own: some may be for a server that is gone.
                for element in batch.elements() {
                    self.take_client(&Line::of_text(element.text), now, sink);
                }
                return;
            }
            match self.ids.answer(text, &mut self.decoder, &self.limits) {
                server_ids::Answer::Other => {}
                server_ids::Answer::Late => return,
                server_ids::Answer::Renamed(text) => {
                    let renamed = Line::of_text(&text);
                    let verdict = self.guard.inspect(Direction::ClientToServer, &renamed, now);
                    self.show(Direction::ClientToServer, line, &verdict, sink);
                    self.dispatch(verdict, now, sink);
                    return;
                }
            }
        }
        let verdict = self.guard.inspect(Direction::ClientToServer, line, now);
        self.show(Direction::ClientToServer, line, &verdict, sink);
        self.dispatch(verdict, now, sink);
    }

    /// Whether a line of the client answers a request.
    fn is_answer(&mut self, line: &Line<'_>) -> bool {
        let decoded = line.whole().map(|text| self.decoder.decode(text));
        let Some(Ok(Frame::Message(message, _))) = decoded else { return false };
        matches!(message, Message::Response(_) | Message::Error(_))
    }

    /// Does what a verdict says.
    fn dispatch(&mut self, verdict: Inspection<'_>, now: Duration, sink: &mut impl Sink) {
        for found in &verdict.found {
            sink.note(&Note::Found(found));
        }
        if 0 < verdict.unlisted {
            sink.note(&Note::Unlisted(verdict.unlisted));
        }
        if let Some(noise) = verdict.noise {
            sink.note(&Note::Noise(noise));
        }
        if let Some(tool) = &verdict.denied {
            sink.note(&Note::Denied(tool));
        }
        if let Some(trouble) = &verdict.trouble {
            sink.note(&Note::Trouble(trouble));
        }
        for delivery in verdict.deliveries {
            match delivery.direction {
                Direction::ClientToServer => self.deliver_to_server(&delivery, now, sink),
                Direction::ServerToClient => self.deliver_to_client(&delivery, now, sink),
            }
        }
        if let Some(rule) = verdict.close {
            sink.note(&Note::Closed(rule));
            self.wish = Some(Wish::EndSession);
        }
    }

    fn deliver_to_server(&mut self, delivery: &Delivery<'_>, now: Duration, sink: &mut impl Sink) {
        let frame = &**delivery.frame.get();
        match &delivery.carries {
            Carries::Message(message) => self.learn_from_client(message, frame, now),
            Carries::Batch(messages) => {
                for message in messages {
                    self.learn_from_client(message, &[], now);
                }
            }
            // The guard keeps no batch of the client back.
            Carries::Unread => {
                if let Ok(Frame::Message(message, _)) = self.decoder.decode(frame) {
                    self.learn_from_client(&message, frame, now);
                }
            }
            Carries::Reply(_) | Carries::Complaint | Carries::Unchecked => {}
        }
        sink.send(Direction::ClientToServer, frame, is_own(delivery));
    }

    fn deliver_to_client(&mut self, delivery: &Delivery<'_>, now: Duration, sink: &mut impl Sink) {
        let frame = &**delivery.frame.get();
        let decoded = match &delivery.carries {
            Carries::Unread => self.decoder.decode(frame).ok(),
            _ => None,
        };
        let message = match (&delivery.carries, &decoded) {
            (Carries::Message(message), _) | (_, Some(Frame::Message(message, _))) => Some(message),
            (Carries::Batch(messages), _) => {
                for message in messages {
                    self.learn_from_server(message);
                }
                None
            }
            (_, Some(Frame::Batch(batch))) => {
                let elements: Vec<_> = batch.elements().collect();
                for element in elements {
                    if let Ok((message, _)) = self.decoder.decode_element(element) {
                        self.learn_from_server(&message);
                    }
                }
                None
            }
            (Carries::Reply(reply), _) => {
                self.end_request(&reply.id);
                match self.own.remove(&reply.id) {
                    None | Some(Own::Listen) => None,
                    Some(own) => {
                        self.own_failed(&own);
                        if let Own::List { list, .. } = own {
                            self.listed(list, now, sink);
                        }
                        return;
                    }
                }
            }
            _ => None,
        };
        if let Some(message) = message {
            if self.is_own_answer(message, now, sink) {
                return;
            }
            self.learn_from_server(message);
            if let Some(renamed) = self.ids.request(message, frame, &self.limits) {
                sink.send(Direction::ServerToClient, &renamed, false);
                return;
            }
        }
        sink.send(Direction::ServerToClient, frame, is_own(delivery));
    }
}

fn is_own(delivery: &Delivery<'_>) -> bool {
    matches!(delivery.carries, Carries::Reply(_) | Carries::Complaint)
}
