//! The state of a guarded transport: pending requests, judged events, and the guard itself.
//!
//! No function here waits. Callers pass messages in, and call again once the event channel has room.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use hardline_guard::{Delivery, Direction, Inspected, Inspection, Rule};
use hardline_transport::client::{
    Answer, MessageText, TransportError, TransportEvent, TransportEvents,
};
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::line::Line;
use hardline_wire::message::Message;
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::GuardSettings;
use super::judge::{Judge, closed_by};
use super::outgoing::InspectedText;
use super::shared::Shared;

/// Sender of the answer to the caller that waits for it.
pub(super) type Waiter = oneshot::Sender<Result<Answer, TransportError>>;

/// The guard's answer to a request of the server, with the id of the request.
pub(super) type Owed = (Id<'static>, InspectedText);

pub(super) struct State {
    judge: Judge,
    decoder: Decoder,
    shared: Weak<Shared>,
    /// Events from the server that were not judged yet; `None` once the stream has ended.
    arriving: Option<TransportEvents>,
    /// Number of events taken from `arriving` so far.
    taken: u64,
    /// Judged events that the channel had no room for.
    backlog: VecDeque<TransportEvent>,
    /// Number of events judged so far, and the number of those handed to the channel.
    judged: u64,
    sent: u64,
    /// Channel to the client; `None` after the last event.
    leaving: Option<mpsc::Sender<TransportEvent>>,
    replies: mpsc::Sender<Owed>,
    waiting: HashMap<i64, Waiter>,
    closed: Option<TransportError>,
}

/// One delivery of an inspection, without a borrow of the judged text.
enum Step {
    /// Deliver the message unchanged.
    Pass,
    /// Deliver this text in that direction, instead of the message or in addition to it.
    Deliver(Direction, Text),
}

/// A text that the guard has written or changed.
type Text = Inspected<Cow<'static, [u8]>>;

impl Step {
    fn new(delivery: Delivery<'_>) -> Self {
        if delivery.is_unchanged() {
            Self::Pass
        } else {
            Self::Deliver(delivery.direction, delivery.frame.into_owned())
        }
    }
}

impl State {
    pub(super) fn new(
        settings: &GuardSettings,
        shared: Weak<Shared>,
        arriving: Option<TransportEvents>,
        leaving: mpsc::Sender<TransportEvent>,
        replies: mpsc::Sender<Owed>,
    ) -> Self {
        Self {
            judge: Judge::new(settings.build().for_whole_messages(), settings),
            decoder: Decoder::new(&settings.limits()),
            shared,
            arriving,
            taken: 0,
            backlog: VecDeque::new(),
            judged: 0,
            sent: 0,
            leaving: Some(leaving),
            replies,
            waiting: HashMap::new(),
            closed: None,
        }
    }

    /// Returns the channel for judged events, until the last one was sent.
    pub(super) fn leaving(&self) -> Option<mpsc::Sender<TransportEvent>> {
        self.leaving.clone()
    }

    /// Returns the error for new messages once the policy has ended the session.
    pub(super) fn closed(&self) -> Option<TransportError> {
        self.closed.clone()
    }

    pub(super) fn wait_for(&mut self, id: i64, waiter: Waiter) {
        self.waiting.insert(id, waiter);
    }

    /// Forgets a request whose caller no longer waits for the answer.
    pub(super) fn forget(&mut self, id: i64) {
        self.waiting.remove(&id);
        // The guard drops a late answer silently instead of reporting a forgery.
        self.judge.guard.abandon(&Id::from_integer(id));
    }

    /// Forgets the server's open requests: it has ended its session and may reuse their ids.
    pub(super) fn forget_session(&mut self) {
        self.judge.guard.settle_all(Direction::ServerToClient);
    }

    /// Returns the time at which the guard wants its next timeout call.
    pub(super) fn due(&self) -> Option<Instant> {
        self.judge.guard.poll_timeout().map(|due| self.judge.instant(due))
    }

    /// Judges a message from the client to the server. Returns the text to send, or `None` if the guard
    /// blocked the message.
    pub(super) fn take_outgoing(&mut self, text: &MessageText) -> Option<InspectedText> {
        let mut outgoing = None;
        for delivery in self.judge(Direction::ClientToServer, text) {
            match delivery.direction {
                Direction::ClientToServer => {
                    outgoing = InspectedText::new(delivery.frame, Some(text));
                }
                Direction::ServerToClient => {
                    self.deliver_to_client(&delivery.frame.into_owned());
                }
            }
        }
        outgoing
    }

    /// Judges the answer to request `id`, and hands the outcome to its caller.
    pub(super) fn take_answer(&mut self, id: i64, answer: Answer) {
        let steps = self.inspect(Direction::ServerToClient, answer.text());
        let mut answer = Some(answer);
        for step in steps {
            match step {
                Step::Pass => {
                    // A duplicate answer finds no caller and is dropped.
                    if let (Some(waiter), Some(answer)) = (self.waiting.remove(&id), answer.take())
                    {
                        let _ = waiter.send(Ok(answer));
                    }
                }
                Step::Deliver(direction, text) => self.deliver(direction, text),
            }
        }
    }

    /// Judges the message in the body of an HTTP error. Returns the text that may reach the caller, if any.
    pub(super) fn take_refusal(&mut self, text: &str) -> Option<Box<str>> {
        let mut left = None;
        for step in self.inspect(Direction::ServerToClient, text) {
            match step {
                Step::Pass => left = Some(text.into()),
                Step::Deliver(Direction::ServerToClient, other)
                    if self.decodes_as_answer(&other) =>
                {
                    let other = other.into_inner().into_owned();
                    left = String::from_utf8(other).ok().map(Into::into);
                }
                Step::Deliver(direction, other) => self.deliver(direction, other),
            }
        }
        left
    }

    /// Judges events that have arrived, as long as the channel has room for the results.
    pub(super) fn pump(&mut self) {
        // Judging more than fits would only grow the backlog, which has no limit of its own.
        while self.flush() {
            match self.arriving.as_mut().map(TransportEvents::try_recv) {
                None | Some(Err(TryRecvError::Empty)) => return,
                Some(Err(TryRecvError::Disconnected)) => self.finish(),
                Some(Ok(event)) => self.take_event(event),
            }
        }
    }

    /// Like [`pump`](Self::pump), but waits for one event. Returns false once no more events can come.
    pub(super) fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        if !self.flush() {
            return Poll::Ready(true);
        }
        let Some(arriving) = &mut self.arriving else { return Poll::Ready(false) };
        arriving.poll_recv(context).map(|event| {
            match event {
                Some(event) => self.take_event(event),
                None => self.finish(),
            }
            self.flush();
            true
        })
    }

    /// Returns a mark that [`has_judged`](Self::has_judged) reaches once every event that has arrived by now
    /// was judged.
    pub(super) fn arrived(&self) -> u64 {
        let waiting = self.arriving.as_ref().map_or(0, TransportEvents::len);
        self.taken + u64::try_from(waiting).unwrap_or(u64::MAX)
    }

    pub(super) fn has_judged(&self, mark: u64) -> bool {
        mark <= self.taken || self.arriving.is_none()
    }

    /// Returns a mark that [`flush_past`](Self::flush_past) reaches once every event judged by now was sent.
    pub(super) fn judged(&self) -> u64 {
        self.judged
    }

    /// Sends judged events while the channel has room. Returns true once all events up to `mark` were sent.
    pub(super) fn flush_past(&mut self, mark: u64) -> bool {
        self.flush();
        mark <= self.sent
    }

    /// Tells the guard the time, unless events that arrived earlier still wait to be judged.
    pub(super) fn handle_timeout(&mut self) {
        self.pump();
        // A waiting event may be the rest of what the guard holds back; it must see it before the timeout.
        if self.arriving.as_ref().is_none_or(TransportEvents::is_empty) {
            let inspection = self.judge.handle_timeout();
            let deliveries = self.take_inspection(inspection);
            self.deliver_all(deliveries);
            self.flush();
        }
    }

    /// Moves judged events to the channel, in order. Returns true if the backlog is empty afterwards.
    fn flush(&mut self) -> bool {
        while let Some(event) = self.backlog.pop_front() {
            let sent = self.leaving.as_ref().map_or(Ok(()), |leaving| leaving.try_send(event));
            if let Err(TrySendError::Full(event)) = sent {
                self.backlog.push_front(event);
                return false;
            }
            self.sent += 1;
        }
        // Dropping the sender ends the client's stream, but only after the last judged event.
        if self.arriving.is_none() {
            self.leaving = None;
        }
        true
    }

    fn take_event(&mut self, event: TransportEvent) {
        self.taken += 1;
        let text = match &event {
            TransportEvent::Notification { text, .. } | TransportEvent::Request { text, .. } => {
                text
            }
            // What the guard still holds back must come out before the end.
            TransportEvent::Closed(_) => {
                self.finish();
                self.set_closed();
                return self.push(event);
            }
            // Events without a message have nothing to judge.
            _ => return self.push(event),
        };
        let steps = self.inspect(Direction::ServerToClient, text);
        let mut event = Some(event);
        for step in steps {
            match step {
                Step::Pass => event.take().into_iter().for_each(|event| self.push(event)),
                Step::Deliver(direction, text) => self.deliver(direction, text),
            }
        }
    }

    /// Ends the server's stream: the guard settles what it still holds back.
    fn finish(&mut self) {
        self.arriving = None;
        let inspection = self.judge.finish_server();
        let deliveries = self.take_inspection(inspection);
        self.deliver_all(deliveries);
    }

    fn inspect(&mut self, direction: Direction, text: &str) -> Vec<Step> {
        self.judge(direction, text).into_iter().map(Step::new).collect()
    }

    fn judge<'a>(&mut self, direction: Direction, text: &'a str) -> Vec<Delivery<'a>> {
        let inspection = self.judge.inspect(direction, &Line::of_text(text.as_bytes()));
        // The watch task may be asleep until a later deadline than the one this message has set.
        if self.judge.guard.poll_timeout().is_some()
            && let Some(shared) = self.shared.upgrade()
        {
            shared.changed.notify_one();
        }
        self.take_inspection(inspection)
    }

    fn take_inspection<'a>(&mut self, inspection: Inspection<'a>) -> Vec<Delivery<'a>> {
        if let Some(rule) = inspection.close {
            self.close(rule);
        }
        // After the policy has ended the session, not even the output for this message is delivered.
        if self.closed.is_some() { Vec::new() } else { inspection.deliveries }
    }

    /// Ends the session on behalf of the policy: fails pending requests and signals the tasks.
    fn close(&mut self, rule: Rule) {
        if self.closed.is_some() {
            return;
        }
        let error = TransportError::Closed(closed_by(rule));
        for (_, waiter) in self.waiting.drain() {
            let _ = waiter.send(Err(error.clone()));
        }
        // Nothing that arrives later may pass, not even to be judged.
        self.arriving = None;
        self.closed = Some(error.clone());
        self.push(TransportEvent::Closed(error));
        self.set_closed();
        if let Some(shared) = self.shared.upgrade() {
            shared.closing.notify_one();
            shared.changed.notify_one();
        }
    }

    fn set_closed(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.is_closed.store(true, Ordering::Release);
        }
    }

    fn deliver_all(&mut self, deliveries: Vec<Delivery<'_>>) {
        for delivery in deliveries {
            self.deliver(delivery.direction, delivery.frame.into_owned());
        }
    }

    /// Delivers a message that the guard wrote.
    fn deliver(&mut self, direction: Direction, text: Text) {
        if direction == Direction::ServerToClient {
            return self.deliver_to_client(&text);
        }
        let Ok(Frame::Message(message, _)) = self.decoder.decode(text.get()) else { return };
        // Only requests get an answer; an error without an id has no recipient on this transport.
        let Some(id) = message.id().cloned().map(Id::into_owned) else { return };
        drop(message);
        if let Some(text) = InspectedText::new(text, None) {
            // A full queue means that the server does not read; it loses the answer.
            let _ = self.replies.try_send((id, text));
        }
    }

    /// Delivers a message that the guard wrote or changed to the client.
    fn deliver_to_client(&mut self, text: &Text) {
        let Ok(Frame::Message(message, whole)) = self.decoder.decode(text.get()) else { return };
        let event = match &message {
            Message::Notification(call) => TransportEvent::Notification {
                method: (*call.method).into(),
                text: whole.text().into(),
            },
            Message::Request(request) => TransportEvent::Request {
                id: request.id.clone().into_owned(),
                method: (*request.method).into(),
                text: whole.text().into(),
            },
            Message::Response(_) | Message::Error(_) => {
                let waiter = message.id().and_then(Id::as_i64);
                let waiter = waiter.and_then(|id| self.waiting.remove(&id));
                if let Some((waiter, answer)) = waiter.zip(Answer::copy(&message, whole)) {
                    let _ = waiter.send(Ok(answer));
                }
                return;
            }
        };
        // Ends the borrow of `self.decoder`, so that `push` can borrow `self`.
        drop(message);
        self.push(event);
    }

    fn decodes_as_answer(&mut self, text: &Text) -> bool {
        let decoded = self.decoder.decode(text.get());
        matches!(decoded, Ok(Frame::Message(Message::Response(_) | Message::Error(_), _)))
    }

    fn push(&mut self, event: TransportEvent) {
        self.judged += 1;
        self.backlog.push_back(event);
    }
}
