//! Replies to messages that are not handed to the service.

use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::frame::{Refusal, RefusalReason};
use hardline_wire::id::Id;
use hardline_wire::line::Overlong;
use hardline_wire::message::MessageReason;
use hardline_wire::mistyped::integer_meant;
use hardline_wire::recover::{Ending, Recovered, recover};

use super::batch::BatchKey;
use super::incoming::rule;
use super::reply::{OwnReply, internal_error};
use super::{EndpointState, Role, Unfit};
use crate::event::{EXCERPT_BYTES, EndpointEvent, RequestRefusal};

impl EndpointState {
    pub(super) fn refuse_request(
        &mut self,
        id: &Id<'_>,
        refusal: &RequestRefusal,
        unfit: Option<&Unfit>,
        batch: Option<BatchKey>,
    ) {
        self.reporter.report(&EndpointEvent::Refused { id, reason: refusal });
        let reply = match (refusal, unfit) {
            (_, Some(unfit)) => OwnReply::new(id, unfit.code, &unfit.message),
            (
                RequestRefusal::TooManyInFlight { .. } | RequestRefusal::TooLargeInFlight { .. },
                None,
            ) => internal_error(id, "transport.in-flight", &refusal.to_string()),
            (_, None) => {
                OwnReply::new(id, code::INVALID_REQUEST, &format!("Invalid request: {refusal}"))
            }
        };
        self.reply(&reply, batch);
    }

    /// Answers the ids in a batch if the negotiated version has no batches.
    pub(super) fn refuse_batch(&mut self, frame: &[u8], ending: Ending) {
        let refusal = RequestRefusal::Batch;
        let text = format!("Invalid request: {refusal}");
        let answered = self.answer_recovered(
            recover(frame, ending, &self.limits.clone()),
            code::INVALID_REQUEST,
            &text,
            None,
        );
        for id in &answered.ids {
            self.reporter.report(&EndpointEvent::Refused { id, reason: &refusal });
        }
        self.answer_without_id_if(answered.is_anonymous(), code::INVALID_REQUEST, &text, None);
    }

    /// Answers the ids in a line, or in an element of a batch, that is not a message.
    pub(super) fn refuse(
        &mut self,
        frame: &[u8],
        refusal: Refusal,
        ending: Ending,
        batch: Option<BatchKey>,
    ) {
        let kind =
            if refusal.code() == code::PARSE_ERROR { "Parse error" } else { "Invalid request" };
        let text = format!("{kind}: {refusal}");
        let recovered = recover(frame, ending, &self.limits.clone());
        let answered = self.answer_recovered(recovered, refusal.code(), &text, batch);
        if matches!(refusal.reason, RefusalReason::Message(MessageReason::BadId(_))) {
            self.doubt_integer_meant(frame);
        }
        let excerpt = Excerpt::new(frame, EXCERPT_BYTES);
        let count = answered.ids.len();
        self.reporter.report(&EndpointEvent::Malformed { refusal, answered: count, excerpt });
        self.answer_without_id_if(answered.is_anonymous(), refusal.code(), &text, batch);
    }

    pub(super) fn refuse_overlong(&mut self, overlong: &Overlong<'_>) {
        let (length, limit) = (overlong.length, self.limits.max_frame_bytes());
        let text = format!(
            "Invalid request: message too large: {length} bytes, at most {limit} are accepted"
        );
        let recovered = overlong.recovered.iter().cloned();
        let answered = self.answer_recovered(recovered, code::INVALID_REQUEST, &text, None);
        let excerpt = Excerpt::new(overlong.prefix, EXCERPT_BYTES);
        let count = answered.ids.len();
        self.reporter.report(&EndpointEvent::TooLarge { length, answered: count, excerpt });
        self.answer_without_id_if(answered.is_anonymous(), code::INVALID_REQUEST, &text, None);
    }

    /// Answers requests of which only the id is known, and fails our own requests whose answers are
    /// among them.
    fn answer_recovered(
        &mut self,
        recovered: impl Iterator<Item = Recovered>,
        code: i64,
        text: &str,
        batch: Option<BatchKey>,
    ) -> Recovery {
        let mut answered = Recovery::default();
        // No peer may have more requests in flight than that.
        for it in recovered.take(self.limits.max_in_flight()) {
            answered.has_response |= it.is_response;
            match it.id {
                // A client never answers text that a server prints on its standard output: no one
                // reads the reply, and the id could be that of a request in flight.
                Some(_) if !it.is_response && self.role == Role::Client && !it.has_method => {}
                Some(id) if !it.is_response => {
                    self.reply(&OwnReply::new(&id, code, text), batch);
                    answered.ids.push(id);
                }
                // An id quoted in a log line proves nothing: the real answer may still come.
                Some(id) if !it.follows_junk => {
                    if let Some(id) = self.outbound.take(&id) {
                        self.fail(id, rule::ANSWER, format!("the answer cannot be used: {text}"));
                    } else if let Some(meant) = self.outbound.meant_by(&id) {
                        self.doubt(&meant, &id.to_string());
                    }
                }
                _ => {}
            }
        }
        answered
    }

    /// Records a doubt if a frame is an answer whose id has the right number in a form that ids may
    /// not have.
    fn doubt_integer_meant(&mut self, frame: &[u8]) {
        if let Some((id, written)) = integer_meant(frame, &self.limits) {
            self.doubt(&id, written);
        }
    }

    /// Answers a line without an id, unless it was an answer itself or the rate limit is reached.
    fn answer_without_id_if(
        &mut self,
        is_due: bool,
        code: i64,
        text: &str,
        batch: Option<BatchKey>,
    ) {
        // A client stays silent, for the reason given in `answer_recovered`.
        if !is_due || self.role == Role::Client {
            return;
        }
        if !self.anonymous_replies.try_acquire(self.started.elapsed()) {
            self.reporter.report(&EndpointEvent::Withheld);
            return;
        }
        let reply = OwnReply::without_id(self.version, code, text);
        self.reply(&reply, batch);
    }

    fn reply(&mut self, reply: &OwnReply, batch: Option<BatchKey>) {
        match batch {
            Some(key) => self.batches.hold(key, reply.as_bytes()),
            None => self.replies.push(reply.as_bytes()),
        }
    }
}

/// Ids recovered from a broken line and answered.
#[derive(Debug, Default)]
struct Recovery {
    ids: Vec<Id<'static>>,
    has_response: bool,
}

impl Recovery {
    fn is_anonymous(&self) -> bool {
        self.ids.is_empty() && !self.has_response
    }
}
