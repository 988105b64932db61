//! Lines of the client that wait for a server.

use std::collections::VecDeque;
use std::time::Duration;

use hardline_guard::Direction;
use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::Line;
use hardline_wire::message::{Message, cancelled_id};
use hardline_wire::recover::{Ending, recover};

use super::{MAX_WAIT, Relay, Sink, line};
use crate::audit::Fate;

/// Lines in their order, bounded.
#[derive(Debug)]
pub(super) struct Waiting {
    lines: VecDeque<Held>,
    bytes: usize,
    max_lines: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Held {
    deadline: Duration,
    /// The requests on it.
    ids: Vec<Id<'static>>,
    frame: Vec<u8>,
}

impl Waiting {
    pub(super) fn new(limits: &Limits) -> Self {
        // At least one frame fits.
        let max_bytes = limits.max_queue_bytes().max(limits.max_frame_bytes());
        Self { lines: VecDeque::new(), bytes: 0, max_lines: limits.max_in_flight(), max_bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.lines.front().map(|held| held.deadline)
    }

    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        let held = self.lines.pop_front()?;
        self.bytes -= held.frame.len();
        Some(held.frame)
    }

    fn push(&mut self, held: Held) -> Result<(), Held> {
        if self.max_lines <= self.lines.len() || self.max_bytes < self.bytes + held.frame.len() {
            return Err(held);
        }
        self.bytes += held.frame.len();
        self.lines.push_back(held);
        Ok(())
    }

    /// Takes a request out that its sender cancelled. Says whether it was there.
    fn cancel(&mut self, id: &Id<'_>) -> bool {
        let Some(at) = self.lines.iter().position(|held| held.ids == [id.clone()]) else {
            return false;
        };
        if let Some(held) = self.lines.remove(at) {
            self.bytes -= held.frame.len();
        }
        true
    }
}

/// What a line of the client is about.
enum About {
    /// Requests with these ids, or something that is owed no answer.
    Ids(Vec<Id<'static>>),
    /// A request that needs no answer any more.
    Cancelled(Id<'static>),
    /// The client is ready: the next server is told so when it has begun.
    Ready,
    /// An answer to a server that is gone.
    Late,
    /// No message.
    Unreadable,
}

impl Relay {
    /// Keeps a line until there is a server.
    pub(super) fn hold(&mut self, line: &Line<'_>, now: Duration, sink: &mut impl Sink) {
        let Some((ids, text)) = self.about(line, now, sink) else { return };
        let held = Held { deadline: now + MAX_WAIT, ids, frame: text.to_vec() };
        if let Err(held) = self.waiting.push(held) {
            let reason = "too many requests wait for the server, which is being started again";
            fail_all(&held.ids, "server.away", reason, sink);
        }
    }

    /// Fails what a line of the client asks for.
    pub(super) fn refuse(
        &mut self,
        line: &Line<'_>,
        until: Duration,
        now: Duration,
        sink: &mut impl Sink,
    ) {
        let Some((ids, _)) = self.about(line, now, sink) else { return };
        self.show_as(Direction::ClientToServer, line, Fate::Answered, sink);
        let (rule, why) = match &self.refused {
            Some(refused) => {
                (refused.rule.name(), format!("it is not started again: {}", refused.reason))
            }
            None => ("server.broken", "it ended too often".to_owned()),
        };
        let seconds = until.saturating_sub(now).as_secs() + 1;
        let reason =
            format!("the server {}; {why}; it is tried again in {seconds} s", self.last_end);
        fail_all(&ids, rule, &reason, sink);
    }

    /// Fails what waited too long.
    pub(super) fn expire_waiting(&mut self, now: Duration, sink: &mut impl Sink) {
        while let Some(held) = self.waiting.lines.pop_front_if(|held| held.deadline <= now) {
            self.waiting.bytes -= held.frame.len();
            let reason = format!(
                "the server {}, and was not back within {} s",
                self.last_end,
                MAX_WAIT.as_secs()
            );
            fail_all(&held.ids, "server.away", &reason, sink);
        }
    }

    /// Fails everything that waits.
    pub(super) fn fail_waiting(&mut self, rule: &str, reason: &str, sink: &mut impl Sink) {
        while let Some(held) = self.waiting.lines.pop_front() {
            self.waiting.bytes -= held.frame.len();
            fail_all(&held.ids, rule, reason, sink);
        }
    }

    /// Reads a line that comes while there is no server. Returns the requests on it, if it is one to
    /// be kept.
    fn about<'a>(
        &mut self,
        line: &Line<'a>,
        now: Duration,
        sink: &mut impl Sink,
    ) -> Option<(Vec<Id<'static>>, &'a [u8])> {
        if line.is_blank() {
            return None;
        }
        let text = line.whole().unwrap_or_default();
        match self.read(text) {
            About::Ids(ids) => return Some((ids, text)),
            About::Cancelled(id) => {
                self.waiting.cancel(&id);
                // A subscription that is not wanted any more is not asked for again.
                self.opening.end_listen(&id);
            }
            About::Ready if self.opening.initialize().is_some() => self.opening.initialized(text),
            About::Ready => return Some((Vec::new(), text)),
            About::Late => {}
            About::Unreadable => {
                // The guard knows how it is answered. Nothing of it can go to a server.
                let verdict = self.guard.inspect(Direction::ClientToServer, line, now);
                self.show(Direction::ClientToServer, line, &verdict, sink);
                for delivery in verdict.deliveries {
                    if delivery.direction == Direction::ServerToClient {
                        sink.send(Direction::ServerToClient, delivery.frame.get(), true);
                    }
                }
            }
        }
        None
    }

    fn read(&mut self, text: &[u8]) -> About {
        let max_id_bytes = self.limits.max_id_bytes();
        match self.decoder.decode(text) {
            Ok(Frame::Message(message, _)) => match message {
                Message::Request(request) => About::Ids(vec![request.id.into_owned()]),
                Message::Notification(call) if call.method == "notifications/cancelled" => {
                    match cancelled_id(call.params, max_id_bytes) {
                        Some(id) => About::Cancelled(id.into_owned()),
                        None => About::Late,
                    }
                }
                Message::Notification(call) if call.method == "notifications/initialized" => {
                    About::Ready
                }
                Message::Notification(_) => About::Ids(Vec::new()),
                Message::Response(_) | Message::Error(_) => About::Late,
            },
            Ok(Frame::Batch(batch)) => {
                let mut ids = Vec::new();
                for element in batch.elements() {
                    match self.decoder.decode_element(element) {
                        Ok((Message::Request(request), _)) => ids.push(request.id.into_owned()),
                        Ok(_) => {}
                        // Whoever wrote it waits all the same.
                        Err(_) => {
                            let found = recover(element.text, Ending::Whole, &self.limits);
                            let asked = found.filter(|it| !it.is_response);
                            ids.extend(asked.filter_map(|it| it.id));
                        }
                    }
                }
                About::Ids(ids)
            }
            Err(_) => About::Unreadable,
        }
    }
}

fn fail_all(ids: &[Id<'_>], rule: &str, reason: &str, sink: &mut impl Sink) {
    for id in ids {
        sink.send(Direction::ServerToClient, &line::failure(id, rule, reason), true);
    }
}
