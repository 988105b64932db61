//! What the state of one connection allows: the rules `session.*`.
//!
//! A [`Session`] is shown every message of both directions, in the order in which they arrive, and
//! says what becomes of each. It learns the version and what each side can do from the traffic. What
//! is done about a rule is the policy's: it is asked, and a rule that it does not block is only
//! reported. Sending, keeping frames and asking the time are the caller's; times are counted from
//! the session's start.
//!
//! Chosen where DESIGN leaves it open:
//! - Lifecycle and capability bind the server. What a client does too early is reported and passes:
//!   the server itself knows best, and one-shot clients do not wait for the handshake.
//! - What is only reported (a notification without its capability) has the severity `low`.
//! - A request of a server in 2026-07-28 is answered with an error like any other blocked request.
//! - An error without an id passes, and counts as a notification.
//!
//! ```
//! use std::time::Duration;
//!
//! use hardline_guard::session::{Burst, Fate, Session};
//! use hardline_guard::{Direction, Rule};
//! use hardline_wire::frame::{Decoder, Frame};
//! use hardline_wire::limits::Limits;
//!
//! let limits = Limits::default();
//! let mut session = Session::new(&limits, Burst::BALANCED);
//! let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;
//! let mut decoder = Decoder::new(&limits);
//! let Ok(Frame::Message(message, _)) = decoder.decode(line) else { panic!() };
//! // A server that calls a tool of its client.
//! let direction = Direction::ServerToClient;
//! let outcome = session.handle(direction, &message, Duration::ZERO, &Rule::balanced);
//! assert_eq!(outcome.findings[0].rule, Rule::SessionWrongDirection);
//! assert!(matches!(outcome.fate, Fate::Answer(_)));
//! ```
//!
//! Invariants:
//! - Each request that passes is in a table until it is answered, cancelled or failed, and no table
//!   has more than `max_in_flight` entries.
//! - An answer that a request waits for always passes, whatever the budget, unless it carries
//!   something that the policy blocks: then whoever asked gets an error.
//! - A blocked request is answered once, with its id; a blocked notification is dropped.

mod answer;
mod bucket;
mod burst;
mod call;
mod capability;
mod check;
mod coalesce;
mod doubt;
mod embedded;
mod era;
mod judge;
mod outcome;
mod part;
mod reply;
mod table;

use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::message::Message;
use hardline_wire::version::Version;

use crate::finding::Direction;
use crate::join::Pending;
use crate::rule::{Action, Rule};
use answer::Answer;
use burst::Flood;
use era::Era;
use judge::Judge;
use table::{Ended, Table};

pub use bucket::Burst;
pub(crate) use call::page_mark;
pub use coalesce::CoalesceKey;
pub(crate) use doubt::Doubt;
pub use doubt::{MAX_DAMAGED_WAIT, MAX_LOST_WAIT, MAX_MISTYPED_WAIT};
pub use outcome::{Asked, Fate, MAX_TOOL_BYTES, Orphan, Outcome, SessionEvent};
pub use reply::Reply;

/// The state of one connection.
#[derive(Debug)]
pub struct Session {
    limits: Limits,
    era: Era,
    /// Requests of the client.
    client: Table,
    /// Requests of the server.
    server: Table,
    flood: Flood,
}

impl Session {
    /// Creates a session that obeys `max_in_flight` and `max_id_bytes` of `limits`.
    pub fn new(limits: &Limits, burst: Burst) -> Self {
        let max = limits.max_in_flight();
        Self {
            limits: limits.clone(),
            era: Era::default(),
            client: Table::new(max),
            server: Table::new(max),
            flood: Flood::new(burst, max),
        }
    }

    /// The version that was agreed on, or that requests say of themselves.
    pub fn version(&self) -> Option<Version> {
        self.era.version
    }

    /// Whether there is no handshake: each request speaks for itself.
    pub fn is_stateless(&self) -> bool {
        self.era.is_stateless()
    }

    /// Begins a session without a handshake, in the place of another one.
    pub(crate) fn begin_stateless(&mut self) {
        self.era.begin_stateless();
    }

    /// Whether several messages may share a line.
    pub fn has_batches(&self) -> bool {
        self.era.version.is_some_and(Version::has_batches)
    }

    /// Takes one message. `decide` says what is done about a rule: [`Action::Block`] and
    /// [`Action::Close`] keep the message from going on, [`Action::Allow`] keeps a finding back.
    pub fn handle(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        now: Duration,
        decide: &impl Fn(Rule) -> Action,
    ) -> Outcome {
        let judge = Judge { direction, decide };
        match message {
            Message::Request(request) => self.handle_request(request, now, &judge),
            Message::Notification(call) => self.handle_notification(call, now, &judge),
            Message::Response(response) => {
                let id = response.id.clone().into_owned();
                self.handle_answer(id, Answer::Result(response.result), now, &judge)
            }
            Message::Error(error) => match &error.id {
                Some(id) => {
                    let id = id.clone().into_owned();
                    self.handle_answer(id, Answer::Error(error), now, &judge)
                }
                None => {
                    // The server could not read a request, and says nothing else about it.
                    if direction == Direction::ServerToClient {
                        self.doubt_all(now);
                    }
                    self.handle_unasked(None, now, Vec::new(), &judge)
                }
            },
        }
    }

    /// When the session wants to be told the time, if no message comes before that.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let tables = [self.client.next_deadline(), self.server.next_deadline()];
        tables.into_iter().flatten().chain(self.flood.next_release()).min()
    }

    /// Takes note of the time. Returns what is to be done now, in its order.
    pub fn handle_timeout(&mut self, now: Duration) -> Vec<SessionEvent> {
        let mut events = Vec::new();
        for request in [Direction::ClientToServer, Direction::ServerToClient] {
            for (id, ended, doubt) in self.requests(request).expire(now) {
                let reply = Reply::new(id, doubt.rule(), doubt.reason());
                let before = self.flood.take_progress(ended.progress_token);
                events.push(SessionEvent::Failed { request, reply, before });
            }
        }
        while let Some(key) = self.flood.release(now) {
            events.push(SessionEvent::Release(key));
        }
        events
    }

    /// Takes note that a request was answered with an error of our own: another layer refused it, or
    /// its answer. Returns whether it was in flight, and what is kept and goes on before the error.
    pub fn settle(&mut self, request: Direction, id: &Id<'_>) -> Option<Option<CoalesceKey>> {
        let id = id.clone().into_owned();
        let ended = self.requests(request).end(&id, Ended::Answered)?;
        Some(self.flood.take_progress(ended.progress_token))
    }

    /// Takes note that nobody will answer the requests of one direction any more: the other side is
    /// gone. Returns them, in no order.
    pub fn settle_all(&mut self, request: Direction) -> Vec<Orphan> {
        self.requests(request).end_all(Ended::Answered)
    }

    /// Takes note that a request is given up: its answer is not wanted any more, and a late one is
    /// dropped without a finding. Returns whether it was in flight, and what need not be kept.
    pub fn abandon(&mut self, request: Direction, id: &Id<'_>) -> Option<Option<CoalesceKey>> {
        let id = id.clone().into_owned();
        let ended = self.requests(request).end(&id, Ended::Cancelled)?;
        Some(self.flood.take_progress(ended.progress_token))
    }

    /// How many requests of one direction are in flight, subscriptions left out: those stay open.
    pub fn in_flight(&self, request: Direction) -> usize {
        match request {
            Direction::ClientToServer => self.client.in_flight_but_subscriptions(),
            Direction::ServerToClient => self.server.in_flight_but_subscriptions(),
        }
    }

    /// Takes note of a frame of the server that was refused. Returns whether it is worth a finding of
    /// its own: refused frames have a budget like that of notifications, apart from it.
    pub fn handle_invalid(&mut self, now: Duration) -> bool {
        self.flood.take_invalid(now)
    }

    /// How many notifications and requests were over the server's budget, and did not go on.
    pub fn dropped(&self) -> u64 {
        self.flood.dropped()
    }

    /// The requests that go in `direction`.
    fn requests(&mut self, direction: Direction) -> &mut Table {
        match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        }
    }
}

impl Pending for Session {
    fn is_pending(&self, id: &Id<'_>) -> bool {
        self.client.contains(id)
    }
}
