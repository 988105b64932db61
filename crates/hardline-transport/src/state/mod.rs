//! Session rules of one end of a connection, without I/O.
//!
//! The [`Endpoint`](crate::Endpoint) passes each incoming line and each outgoing message to the
//! [`EndpointState`], which decides: hand to the service, answer, hold for a batch, or drop. Reading,
//! writing and waiting are left to the connection.
//!
//! Invariants:
//! - A request that was handed to the service is answered once: by the service, or by
//!   [`EndpointState::abandon`]. An answer to any other request is not sent.
//! - A request that was not handed to the service is answered at once if its id can be recovered.
//! - A request to the peer gets a usable answer or a [`Failure`], never both.
//! - A line that looks like an answer is never answered.

mod batch;
mod incoming;
mod outbound;
mod pending;
mod refuse;
mod reply;

use std::collections::{HashMap, VecDeque};

use hardline_wire::batch::Element;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line};
use hardline_wire::message::{Message, Request, cancelled_id};
use hardline_wire::recover::Ending;
use hardline_wire::token_bucket::{RateLimit, TokenBucket};
use hardline_wire::version::Version;
use tokio::time::Instant;
use tracing::Span;

use crate::event::{Dropped, EndpointEvent, RequestRefusal};
use crate::report::Reporter;
use crate::settings::EndpointSettings;
use batch::{BatchKey, Batches};
use pending::Pending;
use reply::{OwnReply, Replies};

pub(crate) use incoming::rule;
pub use incoming::{Failure, Incoming, Role, Unfit};
pub(crate) use reply::internal_error;

/// A request that was handed to the service and waits for its answer.
#[derive(Debug)]
struct Accepted {
    kind: RequestKind,
    /// The batch that the answer belongs to.
    batch: Option<BatchKey>,
    /// Length of the request.
    bytes: usize,
    /// Closed when the request is answered.
    _span: Span,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum RequestKind {
    Ordinary,
    /// `initialize`, which cannot be cancelled.
    Initialize,
    /// Stays open for the whole session, so the end of the session does not wait for it.
    Subscription,
}

/// The state of one end of a connection.
#[derive(Debug)]
pub(crate) struct EndpointState {
    decoder: Decoder,
    limits: Limits,
    reporter: Reporter,
    role: Role,
    /// The version that `initialize` negotiated, or that the first request without it states.
    version: Option<Version>,
    /// Requests from the peer that the service works on: at most `max_in_flight`.
    inbound: HashMap<Id<'static>, Accepted>,
    /// Number of them that the end of the session waits for.
    awaited: usize,
    /// Total length of them: at most `max_in_flight_bytes`, or one request.
    inbound_bytes: usize,
    /// Requests to the peer: at most `max_in_flight`.
    outbound: Pending,
    batches: Batches,
    /// Rate limit on replies without an id. Such a reply belongs to no request: if every line of
    /// noise got one, two peers could answer each other for ever.
    anonymous_replies: TokenBucket,
    /// Start of the clock of the rate limit.
    started: Instant,
    replies: Replies,
    failures: VecDeque<Failure>,
    abandoned: VecDeque<Id<'static>>,
}

impl EndpointState {
    pub(crate) fn new(role: Role, settings: &EndpointSettings) -> Self {
        Self {
            decoder: Decoder::new(&settings.limits),
            limits: settings.limits.clone(),
            reporter: Reporter::new(settings),
            role,
            version: None,
            inbound: HashMap::new(),
            awaited: 0,
            inbound_bytes: 0,
            outbound: Pending::default(),
            batches: Batches::new(settings.limits.max_queue_bytes()),
            anonymous_replies: TokenBucket::new(RateLimit::per_second(
                settings.limits.max_anonymous_replies(),
                settings.limits.max_anonymous_replies_per_second(),
            )),
            started: Instant::now(),
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

    /// Sets the version that `initialize` negotiated.
    pub(crate) fn set_version(&mut self, version: Version) {
        self.version = Some(version);
    }

    pub(crate) fn reporter(&self) -> &Reporter {
        &self.reporter
    }

    /// Handles one line. `decode` turns a message into the type that the service takes.
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
            // A blank line holds nothing that could be answered.
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

    /// Handles the next element of an earlier batch, if there is one.
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
        // Settled after the message, so that a request in it is counted before the batch can be
        // complete.
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
                // Before decoding, so that a refused request costs little.
                if let Err(refusal) = self.admit(&request.id, bytes) {
                    self.refuse_request(&request.id, &refusal, None, batch);
                    return None;
                }
                match decode(message, value) {
                    Ok(item) => {
                        // The era without `initialize`: each request states its version.
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

    /// Checks whether a request with this id may be handed to the service.
    fn admit(&self, id: &Id<'_>, bytes: usize) -> Result<(), RequestRefusal> {
        let limit = self.limits.max_in_flight();
        // The table owns its ids. Cloning an integer id does not allocate.
        if self.inbound.contains_key(&id.clone().into_owned()) {
            return Err(RequestRefusal::DuplicateId);
        }
        if self.inbound.len() >= limit {
            return Err(RequestRefusal::TooManyInFlight { limit });
        }
        let limit = self.limits.max_in_flight_bytes();
        // A single request may exceed the limit, or it could never be served.
        if self.inbound_bytes.saturating_add(bytes) > limit && !self.inbound.is_empty() {
            return Err(RequestRefusal::TooLargeInFlight { limit });
        }
        Ok(())
    }

    fn accept(&mut self, request: &Request<'_>, bytes: usize, batch: Option<BatchKey>) {
        if let Some(key) = batch {
            self.batches.expect_answer(key);
        }
        let kind = RequestKind::of(&request.method);
        // The end of a session does not wait for subscriptions.
        self.awaited += usize::from(kind != RequestKind::Subscription);
        let span = self.reporter.request(&request.id, &request.method);
        self.inbound_bytes += bytes;
        let accepted = Accepted { kind, batch, bytes, _span: span };
        self.inbound.insert(request.id.clone().into_owned(), accepted);
    }

    /// Removes a request that was handed to the service.
    fn release(&mut self, id: &Id<'static>) -> Option<Accepted> {
        let accepted = self.inbound.remove(id)?;
        self.awaited -= usize::from(accepted.kind != RequestKind::Subscription);
        self.inbound_bytes -= accepted.bytes;
        Some(accepted)
    }

    /// Handles a cancellation by the peer. Returns false if it is not allowed: `initialize` cannot
    /// be cancelled.
    fn cancel_inbound(&mut self, params: Option<Value<'_>>) -> bool {
        let id = cancelled_id(params, self.limits.max_id_bytes()).map(Id::into_owned);
        // Without a readable id there is nothing to cancel.
        let Some(id) = id else { return true };
        // Since 2026-07-28 a server ends a subscription with this notification.
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

    /// Answers every open request with an error. No answer of the service is sent after this.
    pub(crate) fn abandon(&mut self, reason: &str) {
        if self.awaited > 0 {
            self.reporter.report(&EndpointEvent::Unanswered { count: self.awaited });
        }
        // Copied, because `release` changes the table.
        let ids: Vec<_> = self.inbound.keys().cloned().collect();
        for id in ids {
            let Some(accepted) = self.release(&id) else { continue };
            let reply = match accepted.kind {
                RequestKind::Subscription => OwnReply::end_of_subscription(&id),
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

    /// Returns true if the end of the session need not wait for an answer.
    pub(crate) fn is_settled(&self) -> bool {
        self.awaited == 0
    }

    pub(crate) fn next_abandoned(&mut self) -> Option<Id<'static>> {
        self.abandoned.pop_front()
    }

    /// Takes the replies to send, with their number.
    pub(crate) fn take_replies(&mut self) -> Option<(Vec<u8>, usize)> {
        self.replies.take()
    }

    /// Decides what to do with the service's answer to the request with this id.
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

    /// Adds an answer to its batch. Returns the answer of the whole batch if it is complete.
    pub(crate) fn hold_answer(&mut self, key: BatchKey, line: &[u8]) -> Option<Vec<u8>> {
        self.batches.settle_answer(key, Some(line))
    }
}

/// Route of an answer from the service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Route {
    Send,
    /// The answer is held until the rest of its batch is answered.
    Hold(BatchKey),
    /// The request was cancelled or already answered.
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

/// Returns the version that a request states in a session without `initialize`.
fn inline_version(params: Option<Value<'_>>) -> Option<Version> {
    let meta = params?.get("_meta")?;
    meta.get("io.modelcontextprotocol/protocolVersion")?.as_str()?.parse().ok()
}
