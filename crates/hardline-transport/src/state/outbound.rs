//! Requests to the peer: their answers and their deadlines.

use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::Message;
use tokio::time::Instant;

use super::incoming::rule;
use super::{EndpointState, Failure, Incoming, Unfit};
use crate::event::{Dropped, EXCERPT_BYTES, EndpointEvent};

impl EndpointState {
    /// Records a request of the service. Returns true if it may be sent.
    pub(crate) fn send_request(&mut self, id: Id<'static>, method: &str) -> bool {
        self.outbound.len() < self.limits.max_in_flight() && self.outbound.insert(id, method)
    }

    /// Forgets a request that the service cancelled.
    pub(crate) fn cancel_outbound(&mut self, id: &Id<'static>) {
        self.outbound.remove(id);
    }

    pub(super) fn handle_response<T>(
        &mut self,
        message: &Message<'_>,
        value: Value<'_>,
        decode: &mut impl FnMut(&Message<'_>, Value<'_>) -> Result<T, Unfit>,
    ) -> Option<Incoming<T>> {
        let Some(id) = message.id() else {
            // Before the session is open, an error without an id can only be meant for the opening
            // request.
            match (self.outbound.take_opening(), message) {
                (Some(id), Message::Error(error)) => {
                    let message = Excerpt::new(error.message.as_bytes(), EXCERPT_BYTES);
                    self.fail(
                        id,
                        rule::ANSWER,
                        format!("the answer has no id: error {}: {message}", error.code),
                    );
                }
                _ => self.reporter.dropped(Dropped::AnonymousError),
            }
            return None;
        };
        let Some(id) = self.outbound.take(id) else {
            // Never deliver it on a guess: only the exact id proves that it answers this request.
            match self.outbound.meant_by(id) {
                Some(meant) => {
                    self.doubt(&meant, &id.to_string());
                    let excerpt = Excerpt::new(value.text().as_bytes(), EXCERPT_BYTES);
                    self.reporter.report(&EndpointEvent::Mistyped { id: &meant, excerpt });
                }
                None => self.reporter.dropped(Dropped::UnsolicitedResponse),
            }
            return None;
        };
        match decode(message, value) {
            Ok(item) => Some(Incoming::Message(item)),
            Err(unfit) => {
                let reason = format!("the answer cannot be used: {unfit}");
                self.reporter.report(&EndpointEvent::Failed { id: &id, reason: &reason });
                Some(Incoming::Failed(Failure { id, rule: rule::ANSWER, reason }))
            }
        }
    }

    /// Fails one of our requests.
    pub(super) fn fail(&mut self, id: Id<'static>, rule: &'static str, reason: String) {
        self.reporter.report(&EndpointEvent::Failed { id: &id, reason: &reason });
        self.failures.push_back(Failure { id, rule, reason });
    }

    /// Records an answer to one of our requests whose id was `written` in another type.
    pub(super) fn doubt(&mut self, id: &Id<'static>, written: &str) {
        self.outbound.doubt(id, written, Instant::now());
    }

    /// Returns the time at which [`expire`](Self::expire) has work.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.outbound.next_deadline()
    }

    /// Fails our requests that got a mistyped answer and no proper one before the deadline.
    pub(crate) fn expire(&mut self) {
        if self.outbound.next_deadline().is_none() {
            return;
        }
        let now = Instant::now();
        while let Some((id, reason)) = self.outbound.expire(now) {
            self.fail(id, rule::MISTYPED, format!("the answer cannot be used: {reason}"));
        }
    }

    /// Handles a progress notification: the peer still works on the request, so the mistyped answer
    /// is forgotten. The token identifies a request only if it equals the request's id.
    pub(super) fn handle_progress(&mut self, params: Option<Value<'_>>) {
        if self.outbound.next_deadline().is_none() {
            return;
        }
        let token = params
            .and_then(|params| params.get("progressToken"))
            .and_then(|token| Id::read(token, self.limits.max_id_bytes()).ok());
        if let Some(id) = token {
            self.outbound.trust(&id.into_owned());
        }
    }

    /// Fails all our requests, because no more input will arrive. Returns true if failures wait to
    /// be handed on.
    pub(crate) fn fail_all(&mut self, reason: &str) -> bool {
        for id in self.outbound.drain() {
            self.fail(id, rule::CLOSED, reason.to_owned());
        }
        !self.failures.is_empty()
    }

    pub(crate) fn next_failure(&mut self) -> Option<Failure> {
        self.failures.pop_front()
    }
}
