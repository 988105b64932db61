//! What a guarded transport has seen, and what waits to be taken.
//!
//! Nothing here waits: whoever has a message shows it, and comes again when there is room for the events.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use hardline_guard::{Direction, Rule, Verdict};
use hardline_transport::client::{Answer, Event, Events, Notice, TransportError};
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::line::Line;
use hardline_wire::message::Message;
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::GuardSettings;
use super::judge::{Judge, closed_by};
use super::shared::Shared;

pub(super) type Reply = oneshot::Sender<Result<Answer, TransportError>>;

pub(super) struct State {
    judge: Judge,
    decoder: Decoder,
    shared: Weak<Shared>,
    /// What has arrived and was not judged; `None` once nothing arrives any more.
    arriving: Option<Events>,
    /// Events taken from there so far.
    taken: u64,
    /// What was judged and finds no room.
    backlog: VecDeque<Event>,
    /// Events that were judged so far, and those of them that are on their way.
    judged: u64,
    sent: u64,
    /// `None` after the last.
    leaving: Option<mpsc::Sender<Event>>,
    replies: mpsc::Sender<Notice>,
    waiting: HashMap<i64, Reply>,
    closed: Option<TransportError>,
}

/// What becomes of a message on its way to the server.
pub(super) enum Outgoing {
    AsIs,
    Instead(String),
    Nothing,
}

/// What comes of a verdict, free of what was judged.
enum Step {
    /// It goes on as it came.
    Pass,
    /// This goes there, in its place or beside it.
    Send(Direction, Vec<u8>),
}

impl State {
    pub(super) fn new(
        settings: &GuardSettings,
        shared: Weak<Shared>,
        arriving: Option<Events>,
        leaving: mpsc::Sender<Event>,
        replies: mpsc::Sender<Notice>,
    ) -> Self {
        Self {
            judge: Judge::new(settings),
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

    /// Where events go, until the last is there.
    pub(super) fn leaving(&self) -> Option<mpsc::Sender<Event>> {
        self.leaving.clone()
    }

    /// Why nothing is carried any more, if the policy ended the session.
    pub(super) fn closed(&self) -> Option<TransportError> {
        self.closed.clone()
    }

    pub(super) fn wait_for(&mut self, id: i64, reply: Reply) {
        self.waiting.insert(id, reply);
    }

    /// Takes note that nobody waits for an answer any more.
    pub(super) fn forget(&mut self, id: i64) {
        self.waiting.remove(&id);
        self.judge.guard.abandon(&Id::from_integer(id));
    }

    /// Takes note that the server has ended its session: it may use its ids again.
    pub(super) fn forget_session(&mut self) {
        self.judge.guard.settle_all(Direction::ServerToClient);
    }

    /// When the guard wants to be told the time.
    pub(super) fn due(&self) -> Option<Instant> {
        self.judge.guard.poll_timeout().map(|due| self.judge.instant(due))
    }

    /// Judges a message on its way to the server.
    pub(super) fn take_outgoing(&mut self, text: &str) -> Outgoing {
        let mut outgoing = Outgoing::Nothing;
        for step in self.judge(Direction::ClientToServer, text) {
            match step {
                Step::Pass => outgoing = Outgoing::AsIs,
                Step::Send(Direction::ClientToServer, text) => {
                    outgoing = String::from_utf8(text).map_or(Outgoing::Nothing, Outgoing::Instead);
                }
                Step::Send(Direction::ServerToClient, text) => self.arrive(&text),
            }
        }
        outgoing
    }

    /// Judges an answer, and gives whoever waits for it what comes of it.
    pub(super) fn take_answer(&mut self, id: i64, answer: Answer) {
        let steps = self.judge(Direction::ServerToClient, answer.text());
        let mut answer = Some(answer);
        for step in steps {
            match step {
                Step::Pass => {
                    if let (Some(reply), Some(answer)) = (self.waiting.remove(&id), answer.take()) {
                        let _ = reply.send(Ok(answer));
                    }
                }
                Step::Send(direction, text) => self.send(direction, &text),
            }
        }
    }

    /// Judges the message in an answer that is none. Returns what is left of it.
    pub(super) fn take_refusal(&mut self, text: &str) -> Option<Box<str>> {
        let mut left = None;
        for step in self.judge(Direction::ServerToClient, text) {
            match step {
                Step::Pass => left = Some(text.into()),
                Step::Send(Direction::ServerToClient, other) if self.is_answer(&other) => {
                    left = String::from_utf8(other).ok().map(Into::into);
                }
                Step::Send(direction, other) => self.send(direction, &other),
            }
        }
        left
    }

    /// Judges what has arrived, as far as there is room.
    pub(super) fn pump(&mut self) {
        while self.flush() {
            match self.arriving.as_mut().map(Events::try_recv) {
                None | Some(Err(TryRecvError::Empty)) => return,
                Some(Err(TryRecvError::Disconnected)) => self.finish(),
                Some(Ok(event)) => self.take_event(event),
            }
        }
    }

    /// The same for whoever waits for one. Returns whether there may be more.
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

    /// A mark that [`has_judged`](Self::has_judged) tells to be reached once all that has arrived by now
    /// was judged.
    pub(super) fn arrived(&self) -> u64 {
        let waiting = self.arriving.as_ref().map_or(0, Events::len);
        self.taken + u64::try_from(waiting).unwrap_or(u64::MAX)
    }

    pub(super) fn has_judged(&self, mark: u64) -> bool {
        mark <= self.taken || self.arriving.is_none()
    }

    /// The same for events that were judged by now, and are on their way.
    pub(super) fn judged(&self) -> u64 {
        self.judged
    }

    pub(super) fn has_sent(&mut self, mark: u64) -> bool {
        self.flush();
        mark <= self.sent
    }

    /// Takes note of the time, if there is nothing that came before.
    pub(super) fn keep_time(&mut self) {
        self.pump();
        if self.arriving.as_ref().is_none_or(Events::is_empty) {
            let verdict = self.judge.handle_timeout();
            let steps = self.take_verdict(verdict);
            self.send_all(steps);
            self.flush();
        }
    }

    /// Hands judged events over, in their order. Returns whether that was all.
    fn flush(&mut self) -> bool {
        while let Some(event) = self.backlog.pop_front() {
            let sent = self.leaving.as_ref().map_or(Ok(()), |leaving| leaving.try_send(event));
            if let Err(TrySendError::Full(event)) = sent {
                self.backlog.push_front(event);
                return false;
            }
            self.sent += 1;
        }
        if self.arriving.is_none() {
            self.leaving = None;
        }
        true
    }

    fn take_event(&mut self, event: Event) {
        self.taken += 1;
        let text = match &event {
            Event::Notification { text, .. } | Event::Request { text, .. } => text,
            Event::Closed(_) => {
                self.finish();
                self.set_closed();
                return self.push(event);
            }
            _ => return self.push(event),
        };
        let steps = self.judge(Direction::ServerToClient, text);
        let mut event = Some(event);
        for step in steps {
            match step {
                Step::Pass => event.take().into_iter().for_each(|event| self.push(event)),
                Step::Send(direction, text) => self.send(direction, &text),
            }
        }
    }

    /// Takes note that nothing arrives any more.
    fn finish(&mut self) {
        self.arriving = None;
        let verdict = self.judge.finish_server();
        let steps = self.take_verdict(verdict);
        self.send_all(steps);
    }

    fn judge(&mut self, direction: Direction, text: &str) -> Vec<Step> {
        let verdict = self.judge.inspect(direction, &Line::of_text(text.as_bytes()));
        if self.judge.guard.poll_timeout().is_some()
            && let Some(shared) = self.shared.upgrade()
        {
            shared.changed.notify_one();
        }
        self.take_verdict(verdict)
    }

    fn take_verdict(&mut self, verdict: Verdict<'_>) -> Vec<Step> {
        let step = |delivery: hardline_guard::Delivery<'_>| match delivery.frame.into_inner() {
            Cow::Borrowed(_) => Step::Pass,
            Cow::Owned(text) => Step::Send(delivery.direction, text),
        };
        if let Some(rule) = verdict.close {
            self.close(rule);
        }
        // Nothing goes on after the end.
        let deliveries = Some(verdict.deliveries).filter(|_| self.closed.is_none());
        deliveries.into_iter().flatten().map(step).collect()
    }

    /// Ends the session, because the policy wants it.
    fn close(&mut self, rule: Rule) {
        if self.closed.is_some() {
            return;
        }
        let error = TransportError::Closed(closed_by(rule));
        for (_, reply) in self.waiting.drain() {
            let _ = reply.send(Err(error.clone()));
        }
        self.arriving = None;
        self.closed = Some(error.clone());
        self.push(Event::Closed(error));
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

    fn send_all(&mut self, steps: Vec<Step>) {
        for step in steps {
            if let Step::Send(direction, text) = step {
                self.send(direction, &text);
            }
        }
    }

    /// Sends what the guard made.
    fn send(&mut self, direction: Direction, text: &[u8]) {
        if direction == Direction::ServerToClient {
            return self.arrive(text);
        }
        let Ok(Frame::Message(message, whole)) = self.decoder.decode(text) else { return };
        // An error without an id is waited for by nobody.
        if let Some(id) = message.id() {
            let notice = Notice::answer(id.clone().into_owned(), whole.text());
            let _ = self.replies.try_send(notice);
        }
    }

    /// Takes a message to our side that is not as it came.
    fn arrive(&mut self, text: &[u8]) {
        let Ok(Frame::Message(message, whole)) = self.decoder.decode(text) else { return };
        let event = match &message {
            Message::Notification(call) => {
                Event::Notification { method: (*call.method).into(), text: whole.text().into() }
            }
            Message::Request(request) => Event::Request {
                id: request.id.clone().into_owned(),
                method: (*request.method).into(),
                text: whole.text().into(),
            },
            Message::Response(_) | Message::Error(_) => {
                let reply = message.id().and_then(Id::as_i64);
                let reply = reply.and_then(|id| self.waiting.remove(&id));
                if let Some((reply, answer)) = reply.zip(Answer::copy(&message, whole)) {
                    let _ = reply.send(Ok(answer));
                }
                return;
            }
        };
        drop(message);
        self.push(event);
    }

    fn is_answer(&mut self, text: &[u8]) -> bool {
        let decoded = self.decoder.decode(text);
        matches!(decoded, Ok(Frame::Message(Message::Response(_) | Message::Error(_), _)))
    }

    fn push(&mut self, event: Event) {
        self.judged += 1;
        self.backlog.push_back(event);
    }
}
