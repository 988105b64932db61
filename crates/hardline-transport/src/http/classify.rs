//! Classification of received texts: answers, events, and unusable input.

use std::collections::VecDeque;

use hardline_wire::batch::Batch;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::frame::{Decoder, Frame, Refusal, RefusalReason};
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::limits::Limits;
use hardline_wire::message::{Message, MessageReason};
use hardline_wire::mistyped::{integer_meant, retyped};
use hardline_wire::version::Version;

use crate::client::{Answer, MAX_REFUSED_BYTES, TransportEvent};
use crate::mistyped;

/// Limit on the bytes of a text that are shown to people.
pub(super) const SHOWN_BYTES: usize = 200;

/// A received item.
#[derive(Debug)]
pub(super) enum Item {
    /// An answer to any request.
    Answer { id: Option<Id<'static>>, answer: Answer },
    /// An answer whose id looks like that of a request but has another type.
    Mistyped { request: i64, written: String, event: TransportEvent },
    /// Any other message, or unusable input.
    Event(TransportEvent),
    /// The address for messages, from the first event of HTTP+SSE.
    Address(Box<[u8]>),
    /// An event that was too long, with the ids of the answers in it.
    Overlong { answers: Vec<Id<'static>>, reason: String },
}

/// Classifies received texts.
#[derive(Debug)]
pub(super) struct Classifier {
    decoder: Decoder,
    limits: Limits,
    has_batches: bool,
}

impl Classifier {
    pub(super) fn new(limits: &Limits, version: Option<Version>) -> Self {
        let has_batches = version.is_some_and(Version::has_batches);
        Self { decoder: Decoder::new(limits), limits: limits.clone(), has_batches }
    }

    /// Reads a body that must be the answer to one request, and stores it unchanged.
    ///
    /// # Errors
    ///
    /// A description of the problem.
    pub(super) fn answer(&mut self, id: i64, body: Vec<u8>) -> Result<Answer, String> {
        // Copied first, because `Answer::read` takes the body.
        let start = body.get(..SHOWN_BYTES).unwrap_or(&body).to_vec();
        let cut = if start.len() < body.len() { "…" } else { "" };
        let shown = Excerpt::new(&start, SHOWN_BYTES);
        match Answer::read(body, id, &mut self.decoder) {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => {
                Err(format!("it is no answer to the request with the id {id}: {shown}{cut}"))
            }
            Err(refusal) => Err(format!("{}: {shown}{cut}", describe(refusal.reason))),
        }
    }

    /// Returns true if a body may be a batch.
    pub(super) fn is_batch(&self, body: &[u8]) -> bool {
        self.has_batches && body.trim_ascii_start().first() == Some(&b'[')
    }

    /// Reads a text: one message, or a batch of them.
    pub(super) fn classify(&mut self, text: &[u8], items: &mut VecDeque<Item>) {
        match self.decoder.decode(text) {
            Ok(Frame::Message(message, value)) => items.push_back(item(message, value)),
            Ok(Frame::Batch(batch)) if self.has_batches => self.classify_batch(&batch, items),
            Ok(Frame::Batch(_)) => {
                items.push_back(refused("the version has no batches", text));
            }
            Err(refusal) => items.push_back(self.refuse(refusal, text)),
        }
    }

    fn classify_batch(&mut self, batch: &Batch<'_>, items: &mut VecDeque<Item>) {
        for element in batch.elements() {
            items.push_back(match self.decoder.decode_element(element) {
                Ok((message, value)) => item(message, value),
                Err(refusal) => self.refuse(refusal, element.text),
            });
        }
    }

    fn refuse(&self, refusal: Refusal, text: &[u8]) -> Item {
        let event = error(&describe(refusal.reason), text);
        // An otherwise valid answer may have an id such as `7.0`.
        let is_id = matches!(refusal.reason, RefusalReason::Message(MessageReason::BadId(_)));
        let meant = is_id.then(|| integer_meant(text, &self.limits)).flatten();
        match meant.and_then(|(id, written)| Some((id.as_i64()?, written))) {
            Some((request, written)) => {
                Item::Mistyped { request, written: written.to_owned(), event }
            }
            None => Item::Event(event),
        }
    }
}

impl Item {
    /// Converts an item that no request waits for into an event.
    pub(super) fn into_event(self) -> TransportEvent {
        match self {
            Self::Event(event) | Self::Mistyped { event, .. } => event,
            Self::Answer { id: None, answer } => {
                error("an answer without an id", answer.text().as_bytes())
            }
            Self::Answer { id: Some(id), answer } => {
                let id = id.to_string();
                // Bounded, because the id comes from the server.
                let id = Excerpt::of_json(&id, 64);
                let reason = format!("an answer to no pending request, with the id {id}");
                error(&reason, answer.text().as_bytes())
            }
            Self::Address(address) => error("an event of the unexpected type endpoint", &address),
            Self::Overlong { reason, .. } => error(&reason, &[]),
        }
    }
}

/// Returns true if an id is exactly the request's.
pub(super) fn is_for(id: Option<&Id<'_>>, request: i64) -> bool {
    id.and_then(Id::as_i64) == Some(request)
}

/// Returns the progress token, if the event is a progress notification.
pub(super) fn progress_token(event: &TransportEvent, limits: &Limits) -> Option<i64> {
    match event {
        TransportEvent::Notification { method, text } if &**method == "notifications/progress" => {
            mistyped::progress_token(text, limits)
        }
        _ => None,
    }
}

/// Creates an item for unusable input.
pub(super) fn refused(reason: &str, raw: &[u8]) -> Item {
    Item::Event(error(reason, raw))
}

/// Creates an event for unusable input.
fn error(reason: &str, raw: &[u8]) -> TransportEvent {
    let shown = Excerpt::new(raw, SHOWN_BYTES);
    let reason = if raw.is_empty() { reason.to_owned() } else { format!("{reason}: {shown}") };
    // The raw bytes are bounded, because events wait in a queue.
    TransportEvent::Error { reason, raw: raw.get(..MAX_REFUSED_BYTES).unwrap_or(raw).into() }
}

fn describe(reason: RefusalReason) -> String {
    format!("not a valid message ({reason})")
}

fn item(message: Message<'_>, value: Value<'_>) -> Item {
    let text = value.text();
    match message {
        Message::Request(request) => Item::Event(TransportEvent::Request {
            id: request.id.into_owned(),
            method: request.method.into(),
            text: text.into(),
        }),
        Message::Notification(notification) => Item::Event(TransportEvent::Notification {
            method: notification.method.into(),
            text: text.into(),
        }),
        Message::Response(_) | Message::Error(_) => match Answer::copy(&message, value) {
            Some(answer) => {
                let id = message.id().cloned().map(Id::into_owned);
                // Our ids are integers, so a string with an integer in it is probably one of them.
                let meant = id.as_ref().and_then(retyped);
                match (meant.and_then(|it| it.as_i64()), &id) {
                    (Some(request), Some(id)) => {
                        let written = id.to_string();
                        let event = Item::Answer { id: Some(id.clone()), answer }.into_event();
                        Item::Mistyped { request, written, event }
                    }
                    _ => Item::Answer { id, answer },
                }
            }
            None => refused("not a valid message", text.as_bytes()),
        },
    }
}
