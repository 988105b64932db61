//! Checks each message against the state of its session: the rules `session.*`.
//!
//! A [`Session`] takes every message of both directions, in the order of their arrival, and returns
//! a verdict for each. It learns the version and the capabilities of both sides from the traffic.
//! The policy decides about each rule; the session only reports a rule that it does not block. The
//! caller sends frames, stores those that are coalesced, and passes the time since the session's
//! start.
//!
//! Decisions:
//! - Lifecycle and capabilities bind the server. A message that the client sends too early is
//!   reported and passes: the server can refuse it, and one-shot clients do not wait for the
//!   handshake.
//! - A violation that never blocks (a notification without its capability) has the severity `low`.
//! - A request of a server in 2026-07-28 gets an error like any other blocked request.
//! - An error without an id passes, and counts as a notification.
//!
//! ```
//! use std::time::Duration;
//!
//! use hardline_guard::session::{FloodLimit, Session, SessionVerdict};
//! use hardline_guard::{Direction, Rule};
//! use hardline_wire::frame::{Decoder, Frame};
//! use hardline_wire::limits::Limits;
//!
//! let limits = Limits::default();
//! let mut session = Session::new(&limits, FloodLimit::BALANCED);
//! let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;
//! let mut decoder = Decoder::new(&limits);
//! let Ok(Frame::Message(message, _)) = decoder.decode(line) else { panic!() };
//! // A server that calls a tool of its client.
//! let direction = Direction::ServerToClient;
//! let decision = session.handle(direction, &message, Duration::ZERO, &Rule::balanced);
//! assert_eq!(decision.findings[0].rule, Rule::SessionWrongDirection);
//! assert!(matches!(decision.verdict, SessionVerdict::Answer(_)));
//! ```
//!
//! Invariants:
//! - Each request that passes is in a table until it is answered, cancelled or failed, and no table
//!   has more than `max_in_flight` entries.
//! - An answer that a request waits for always passes, at any rate of messages, unless the policy
//!   blocks its content. In that case the request gets an error.
//! - A blocked request is answered once, with its id; a blocked notification is dropped.

mod answer;
mod call;
mod capability;
mod check;
mod coalesce;
mod decision;
mod doubt;
mod embedded;
mod era;
mod flood;
mod judge;
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
use answer::AnswerOutcome;
use era::Era;
use flood::Flood;
use judge::Judge;
use table::{Ended, Table};

pub(crate) use call::{PROTOTYPE_KEY, may_have_special_key, page_mark};
pub use coalesce::CoalesceKey;
pub use decision::{Asked, MAX_TOOL_BYTES, Orphan, SessionDecision, SessionEvent, SessionVerdict};
pub(crate) use doubt::Doubt;
pub use doubt::{MAX_DAMAGED_WAIT, MAX_LOST_WAIT, MAX_MISTYPED_WAIT};
pub(crate) use embedded::asks_for_input;
pub use flood::FloodLimit;
pub(crate) use part::URL_ELICITATION_REQUIRED;
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
    pub fn new(limits: &Limits, limit: FloodLimit) -> Self {
        let max = limits.max_in_flight();
        Self {
            limits: limits.clone(),
            era: Era::default(),
            client: Table::new(max),
            server: Table::new(max),
            flood: Flood::new(limit, max),
        }
    }

    /// Returns the version that was negotiated, or that requests declare.
    pub fn version(&self) -> Option<Version> {
        self.era.version
    }

    /// Returns true if there is no handshake: each request declares its version.
    pub fn is_stateless(&self) -> bool {
        self.era.is_stateless()
    }

    /// Begins a session without a handshake, in place of another session.
    pub(crate) fn begin_stateless(&mut self) {
        self.era.begin_stateless();
    }

    /// Returns true if the version has batches.
    pub fn has_batches(&self) -> bool {
        self.era.version.is_some_and(Version::has_batches)
    }

    /// Judges one message. `decide` returns the action for a rule: [`Action::Block`] and
    /// [`Action::Close`] stop the message, [`Action::Allow`] suppresses the finding.
    pub fn handle(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        now: Duration,
        decide: &impl Fn(Rule) -> Action,
    ) -> SessionDecision {
        let judge = Judge { direction, decide };
        match message {
            Message::Request(request) => self.handle_request(request, now, &judge),
            Message::Notification(call) => self.handle_notification(call, now, &judge),
            Message::Response(response) => {
                let id = response.id.clone().into_owned();
                self.handle_answer(id, AnswerOutcome::Result(response.result), now, &judge)
            }
            Message::Error(error) => match &error.id {
                Some(id) => {
                    let id = id.clone().into_owned();
                    self.handle_answer(id, AnswerOutcome::Error(error), now, &judge)
                }
                None => {
                    // The server could not read one of the requests, and does not say which.
                    if direction == Direction::ServerToClient {
                        self.doubt_all(now);
                    }
                    self.handle_unasked(None, now, Vec::new(), &judge)
                }
            },
        }
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout), if no message
    /// arrives before.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let tables = [self.client.next_deadline(), self.server.next_deadline()];
        tables.into_iter().flatten().chain(self.flood.next_release()).min()
    }

    /// Advances the time. Returns the events that are due, in order.
    pub fn handle_timeout(&mut self, now: Duration) -> Vec<SessionEvent> {
        let mut events = Vec::new();
        for request in [Direction::ClientToServer, Direction::ServerToClient] {
            for (id, ended, doubt) in self.requests(request).expire(now) {
                let reply = Reply::new(id, doubt.rule(), doubt.reason());
                let before = self.flood.take_progress(ended.progress_token);
                events.push(SessionEvent::Failed { request, reply, before });
            }
        }
        // Failures come first: each takes its kept progress along, which must precede the reply.
        while let Some(key) = self.flood.release(now) {
            events.push(SessionEvent::Release(key));
        }
        events
    }

    /// Ends a request that gets a reply instead of an answer, because another layer refused it or its
    /// answer. Returns `None` if it was not in flight, and otherwise the key of a kept frame to send
    /// before the reply.
    pub fn settle(&mut self, request: Direction, id: &Id<'_>) -> Option<Option<CoalesceKey>> {
        let id = id.clone().into_owned();
        let ended = self.requests(request).end(&id, Ended::Answered)?;
        Some(self.flood.take_progress(ended.progress_token))
    }

    /// Ends all requests of one direction, because their receiver is gone. Returns them, in no order.
    pub fn settle_all(&mut self, request: Direction) -> Vec<Orphan> {
        self.requests(request).end_all(None, Ended::Answered)
    }

    /// Ends the requests of one direction that were sent after `since`, because their receiver never
    /// got them. Returns them, in no order.
    pub fn settle_since(&mut self, request: Direction, since: Duration) -> Vec<Orphan> {
        self.requests(request).end_all(Some(since), Ended::Answered)
    }

    /// Ends a request whose sender has given up. A late answer is dropped without a finding. Returns
    /// `None` if it was not in flight, and otherwise the key of a kept frame to forget.
    pub fn abandon(&mut self, request: Direction, id: &Id<'_>) -> Option<Option<CoalesceKey>> {
        let id = id.clone().into_owned();
        let ended = self.requests(request).end(&id, Ended::Cancelled)?;
        Some(self.flood.take_progress(ended.progress_token))
    }

    /// Returns the number of requests of one direction in flight, without subscriptions, which stay
    /// open.
    pub fn in_flight(&self, request: Direction) -> usize {
        match request {
            Direction::ClientToServer => self.client.in_flight_but_subscriptions(),
            Direction::ServerToClient => self.server.in_flight_but_subscriptions(),
        }
    }

    /// Counts a refused frame of the server. Returns true if it deserves a finding of its own: refused
    /// frames have a rate limit like that of notifications.
    pub fn handle_invalid(&mut self, now: Duration) -> bool {
        self.flood.take_invalid(now)
    }

    /// Returns the number of notifications and requests that exceeded the rate limit of the server
    /// and were dropped.
    pub fn dropped(&self) -> u64 {
        self.flood.dropped()
    }

    /// Returns the table of the requests that are sent in `direction`.
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
