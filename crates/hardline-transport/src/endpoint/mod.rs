//! The rules of one end of a connection, with no I/O in them.
//!
//! An [`Endpoint`] is given the lines that arrive and the messages that leave, and says what becomes
//! of them: handed on, answered, held for a batch, dropped. Reading, writing and waiting are the
//! [`Connection`](crate::Connection)'s.
//!
//! Invariants:
//! - A request that was handed on is answered once: by the service, or by [`Endpoint::abandon`].
//!   An answer to anything else does not leave.
//! - A request that was not handed on is answered at once if its id can be had.
//! - A request of ours gets an answer that it can use, or a [`Failure`]; never both.
//! - A line that looks like an answer is never answered.

mod answer;
mod batch;
mod incoming;
mod outbound;
mod pending;
mod refuse;

use std::collections::{HashMap, VecDeque};

use hardline_wire::batch::Element;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line};
use hardline_wire::message::{Message, Request};
use hardline_wire::recover::Ending;
use hardline_wire::version::Version;
use tracing::Span;

use crate::budget::Budget;
use crate::config::Config;
use crate::event::{Dropped, Event, RequestRefusal};
use crate::report::Reporter;
use answer::{Answer, Replies};
use batch::{BatchKey, Batches};
use pending::Pending;

pub(crate) use answer::internal_error;
pub(crate) use incoming::rule;
pub use incoming::{Failure, Incoming, Role, Unfit};

/// A request that was handed on and waits for its answer.
#[derive(Debug)]
struct Accepted {
    kind: RequestKind,
    /// The batch that its answer goes into.
    batch: Option<BatchKey>,
    /// How long it was.
    bytes: usize,
    /// Ends with it.
    _span: Span,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum RequestKind {
    Ordinary,
    /// It cannot be cancelled.
    Initialize,
    /// It stays open for the length of the session, so the end of a session does not wait for it.
    Subscription,
}

/// The state of one end of a connection.
#[derive(Debug)]
pub(crate) struct Endpoint {
    decoder: Decoder,
    limits: Limits,
    reporter: Reporter,
    role: Role,
    /// What `initialize` agreed on, or what the first request without it says.
    version: Option<Version>,
    /// Requests of the peer that were handed on: at most `max_in_flight`.
    inbound: HashMap<Id<'static>, Accepted>,
    /// How many of them the end of the session waits for.
    awaited: usize,
    /// The bytes that they took: at most `max_in_flight_bytes`, or one of them.
    inbound_bytes: usize,
    /// Requests of ours: at most `max_in_flight`.
    outbound: Pending,
    batches: Batches,
    budget: Budget,
    replies: Replies,
    failures: VecDeque<Failure>,
    abandoned: VecDeque<Id<'static>>,
}

impl Endpoint {
    pub(crate) fn new(role: Role, config: &Config) -> Self {
        Self {
            decoder: Decoder::new(&config.limits),
            limits: config.limits.clone(),
            reporter: Reporter::new(config),
            role,
            version: None,
            inbound: HashMap::new(),
            awaited: 0,
            inbound_bytes: 0,
            outbound: Pending::default(),
            batches: Batches::new(config.limits.max_queue_bytes()),
            budget: Budget::new(&config.limits),
            replies: Replies::default(),
            failures: VecDeque::new(),
            abandoned: VecDeque::new(),
        }
    }

    #[cfg(feature = "rmcp")]
    pub(crate) fn set_role(&mut self, role: Role) {
        self.role = role;
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Tells the version that `initialize` agreed on.
    pub(crate) fn set_version(&mut self, version: Version) {
        self.version = Some(version);
    }

    pub(crate) fn reporter(&self) -> &Reporter {
        &self.reporter
    }

    /// Takes one line. `decode` turns a message into what the service takes.
    pub(crate) fn handle_line<T>(
        &mut self,
        line: &Line<'_>,
        decode: &mut impl FnMut(&Message<'_>, Value<'_>) -> Result<T, Unfit>,
    ) -> Option<Incoming<T>> {
        let frame = match &line.content {
            Content::Overlong(overlong) => {
                self.refuse_overlong(overlong);
                return None;
            }
            Content::Whole(_) if line.is_blank() => return None,
            Content::Whole(frame) => *frame,
        };
        match self.decoder.decode(frame) {
            Ok(Frame::Message(message, value)) => {
                self.handle_message(&message, value, None, decode)
            }
            Ok(Frame::Batch(batch)) if self.version.is_some_and(Version::has_batches) => {
                self.batches.open(&batch);
                None
            }
            Ok(Frame::Batch(_)) => {
                self.refuse_batch(frame, line.ending());
                None
            }
            Err(refusal) => {
                self.refuse(frame, refusal, line.ending(), None);
                None
            }
        }
    }

    /// Takes the next element of a batch that came before, if there is one.
    pub(crate) fn handle_element<T>(
        &mut self,
        decode: &mut impl FnMut(&Message<'_>, Value<'_>) -> Result<T, Unfit>,
    ) -> Option<Option<Incoming<T>>> {
        let (key, text) = self.batches.next_element()?;
        let handed_on = match self.decoder.decode_element(Element::of_text(&text)) {
            Ok((message, value)) => self.handle_message(&message, value, Some(key), decode),
            Err(refusal) => {
                self.refuse(&text, refusal, Ending::Whole, Some(key));
                None
            }
        };
        if let Some(line) = self.batches.settle_element(key) {
            self.replies.push(&line);
        }
        Some(handed_on)
    }

    fn handle_message<T>(
        &mut self,
        message: &Message<'_>,
        value: Value<'_>,
        batch: Option<BatchKey>,
        decode: &mut impl FnMut(&Message<'_>, Value<'_>) -> Result<T, Unfit>,
    ) -> Option<Incoming<T>> {
        match message {
            Message::Request(request) => {
                let bytes = value.text().len();
                if let Err(refusal) = self.admit(&request.id, bytes) {
                    self.refuse_request(&request.id, &refusal, None, batch);
                    return None;
                }
                match decode(message, value) {
                    Ok(item) => {
                        if self.version.is_none() {
                            self.version = inline_version(request.params);
                        }
                        self.accept(request, bytes, batch);
                        Some(Incoming::Message(item))
                    }
                    Err(unfit) => {
                        let reason = RequestRefusal::Unfit;
                        self.refuse_request(&request.id, &reason, Some(&unfit), batch);
                        None
                    }
                }
            }
            Message::Notification(notification) => {
                let Ok(item) = decode(message, value) else {
                    self.reporter.dropped(Dropped::UnfitNotification);
                    return None;
                };
                if notification.method == "notifications/progress" {
                    self.handle_progress(notification.params);
                }
                if notification.method == "notifications/cancelled"
                    && !self.cancel_inbound(notification.params)
                {
                    self.reporter.dropped(Dropped::CancelledInitialize);
                    return None;
                }
                Some(Incoming::Message(item))
            }
            Message::Response(_) | Message::Error(_) => {
                self.handle_response(message, value, decode)
            }
        }
    }

    /// Whether a request with this id may be handed on.
    fn admit(&self, id: &Id<'_>, bytes: usize) -> Result<(), RequestRefusal> {
        let limit = self.limits.max_in_flight();
        // The table owns its ids; an integer is copied for nothing.
        if self.inbound.contains_key(&id.clone().into_owned()) {
            return Err(RequestRefusal::DuplicateId);
        }
        if limit <= self.inbound.len() {
            return Err(RequestRefusal::TooManyInFlight { limit });
        }
        let limit = self.limits.max_in_flight_bytes();
        if limit < self.inbound_bytes.saturating_add(bytes) && !self.inbound.is_empty() {
            return Err(RequestRefusal::TooLargeInFlight { limit });
        }
        Ok(())
    }

    fn accept(&mut self, request: &Request<'_>, bytes: usize, batch: Option<BatchKey>) {
        if let Some(key) = batch {
            self.batches.expect_answer(key);
        }
        let kind = RequestKind::of(&request.method);
        self.awaited += usize::from(kind != RequestKind::Subscription);
        let span = self.reporter.request(&request.id, &request.method);
        self.inbound_bytes += bytes;
        let accepted = Accepted { kind, batch, bytes, _span: span };
        self.inbound.insert(request.id.clone().into_owned(), accepted);
    }

    /// Removes a request that was handed on.
    fn release(&mut self, id: &Id<'static>) -> Option<Accepted> {
        let accepted = self.inbound.remove(id)?;
        self.awaited -= usize::from(accepted.kind != RequestKind::Subscription);
        self.inbound_bytes -= accepted.bytes;
        Some(accepted)
    }

    /// Its sender wants no answer any more. Returns whether that is allowed: `initialize` cannot be
    /// taken back.
    fn cancel_inbound(&mut self, params: Option<Value<'_>>) -> bool {
        let id = params
            .and_then(|params| params.get("requestId"))
            .and_then(|id| Id::read(id, self.limits.max_id_bytes()).ok())
            .map(Id::into_owned);
        let Some(id) = id else { return true };
        if self.role == Role::Client {
            self.outbound.end_subscription(&id);
        }
        let kind = self.inbound.get(&id).map(|accepted| accepted.kind);
        if kind == Some(RequestKind::Initialize) {
            return false;
        }
        let batch = self.release(&id).and_then(|accepted| accepted.batch);
        if let Some(line) = batch.and_then(|key| self.batches.settle_answer(key, None)) {
            self.replies.push(&line);
        }
        true
    }

    /// Answers all that is still open with an error, since nothing will leave after this.
    pub(crate) fn abandon(&mut self, reason: &str) {
        if 0 < self.awaited {
            self.reporter.report(&Event::Unanswered { count: self.awaited });
        }
        let ids: Vec<_> = self.inbound.keys().cloned().collect();
        for id in ids {
            let Some(accepted) = self.release(&id) else { continue };
            let reply = match accepted.kind {
                RequestKind::Subscription => Answer::end_of_subscription(&id),
                _ => internal_error(&id, rule::CLOSED, reason),
            };
            match accepted.batch {
                None => self.replies.push(reply.as_bytes()),
                Some(key) => {
                    let line = self.batches.settle_answer(key, Some(reply.as_bytes()));
                    self.replies.extend(line.as_deref());
                }
            }
            self.abandoned.push_back(id);
        }
    }

    /// Whether the end of the session need not wait for an answer.
    pub(crate) fn is_settled(&self) -> bool {
        self.awaited == 0
    }

    pub(crate) fn next_abandoned(&mut self) -> Option<Id<'static>> {
        self.abandoned.pop_front()
    }

    /// The replies that are to leave, and how many they are.
    pub(crate) fn take_replies(&mut self) -> Option<(Vec<u8>, usize)> {
        self.replies.take()
    }

    /// Says what becomes of the service's answer to the request with this id.
    pub(crate) fn route_answer(&mut self, id: &Id<'static>) -> Route {
        match self.release(id) {
            Some(Accepted { batch: Some(key), .. }) => Route::Hold(key),
            Some(Accepted { batch: None, .. }) => Route::Send,
            None => {
                self.reporter.dropped(Dropped::LateResponse);
                Route::Drop
            }
        }
    }

    /// Adds an answer to its batch. Returns the batch's, if that was all.
    pub(crate) fn hold_answer(&mut self, key: BatchKey, line: &[u8]) -> Option<Vec<u8>> {
        self.batches.settle_answer(key, Some(line))
    }
}

/// What becomes of an answer of the service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Route {
    Send,
    /// It waits for the others of its batch.
    Hold(BatchKey),
    /// Nobody waits for it.
    Drop,
}

impl RequestKind {
    fn of(method: &str) -> Self {
        match method {
            "initialize" => Self::Initialize,
            "subscriptions/listen" => Self::Subscription,
            _ => Self::Ordinary,
        }
    }
}

/// The version that a request of a session without `initialize` says of itself.
fn inline_version(params: Option<Value<'_>>) -> Option<Version> {
    let meta = params?.get("_meta")?;
    meta.get("io.modelcontextprotocol/protocolVersion")?.as_str()?.parse().ok()
}
