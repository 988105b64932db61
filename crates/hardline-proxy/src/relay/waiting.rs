//! Holds lines of the client until the server has restarted, and fails those that wait too long.

use std::collections::VecDeque;
use std::time::Duration;

use hardline_guard::Direction;
use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::Line;
use hardline_wire::message::{Message, cancelled_id};
use hardline_wire::recover::{Ending, recover};

use super::{MAX_WAIT, Relay, RelayReply, Sink};
use crate::verdict::Verdict;

/// Lines of the client in their order. Bounded in number and bytes.
#[derive(Debug)]
pub(super) struct WaitingLines {
    lines: VecDeque<WaitingLine>,
    bytes: usize,
    max_lines: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct WaitingLine {
    deadline: Duration,
    /// Ids of the requests in the line.
    ids: Vec<Id<'static>>,
    frame: Vec<u8>,
}

impl WaitingLines {
    pub(super) fn new(limits: &Limits) -> Self {
        // The largest frame must fit, or it could never be held.
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

    /// Adds a line. Returns it if there is no room.
    fn push(&mut self, held: WaitingLine) -> Result<(), WaitingLine> {
        let bytes = self.bytes + held.frame.len();
        if self.lines.len() >= self.max_lines || bytes > self.max_bytes {
            return Err(held);
        }
        self.bytes = bytes;
        self.lines.push_back(held);
        Ok(())
    }

    /// Removes a request that its sender cancelled.
    fn cancel(&mut self, id: &Id<'_>) {
        // A batch stays, because its other requests still need their answers.
        let at = self.lines.iter().position(|held| held.ids == [id.clone()]);
        if let Some(held) = at.and_then(|at| self.lines.remove(at)) {
            self.bytes -= held.frame.len();
        }
    }
}

/// Content of a line of the client while there is no server.
enum LineContent {
    /// Requests with these ids, or notifications.
    Ids(Vec<Id<'static>>),
    /// The cancellation of a request.
    Cancelled(Id<'static>),
    /// `notifications/initialized`. The next server gets it after `initialize`.
    Initialized,
    /// An answer to a server that has ended.
    Late,
    /// The line is no message.
    Unreadable,
}

impl Relay {
    /// Holds a line until the server has restarted. Fails its requests if there is no room.
    pub(super) fn hold(&mut self, line: &Line<'_>, now: Duration, sink: &mut impl Sink) {
        let Some((ids, text)) = self.read_waiting(line, now, sink) else { return };
        let held = WaitingLine { deadline: now + MAX_WAIT, ids, frame: text.to_vec() };
        if let Err(held) = self.waiting.push(held) {
            let reason = "too many requests wait for the server, which is being started again";
            fail_all(&held.ids, "server.away", reason, sink);
        }
    }

    /// Fails the requests in a line of the client.
    pub(super) fn refuse(
        &mut self,
        line: &Line<'_>,
        until: Duration,
        now: Duration,
        sink: &mut impl Sink,
    ) {
        let Some((ids, _)) = self.read_waiting(line, now, sink) else { return };
        self.show_as(Direction::ClientToServer, line, Verdict::Answered, sink);
        let (rule, why) = match &self.refused {
            Some(refused) => {
                (refused.rule.name(), format!("it is not started again: {}", refused.reason))
            }
            None => ("server.broken", "it ended too often".to_owned()),
        };
        // Rounded up, so that a client that waits this long is not too early.
        let seconds = until.saturating_sub(now).as_secs() + 1;
        let reason =
            format!("the server {}; {why}; it is tried again in {seconds} s", self.last_end);
        fail_all(&ids, rule, &reason, sink);
    }

    /// Fails the requests in lines that have waited too long.
    pub(super) fn expire_waiting(&mut self, now: Duration, sink: &mut impl Sink) {
        while let Some(held) = self.waiting.lines.pop_front_if(|held| held.deadline <= now) {
            self.waiting.bytes -= held.frame.len();
            let reason = format!(
                "the server {} and did not restart within {} s",
                self.last_end,
                MAX_WAIT.as_secs()
            );
            fail_all(&held.ids, "server.away", &reason, sink);
        }
    }

    /// Fails the requests in all waiting lines.
    pub(super) fn fail_waiting(&mut self, rule: &str, reason: &str, sink: &mut impl Sink) {
        while let Some(held) = self.waiting.lines.pop_front() {
            self.waiting.bytes -= held.frame.len();
            fail_all(&held.ids, rule, reason, sink);
        }
    }

    /// Reads a line that arrives while there is no server. Returns the ids of its requests and its
    /// text if it must wait; any other line is handled here.
    fn read_waiting<'a>(
        &mut self,
        line: &Line<'a>,
        now: Duration,
        sink: &mut impl Sink,
    ) -> Option<(Vec<Id<'static>>, &'a [u8])> {
        if line.is_blank() {
            return None;
        }
        let text = line.whole().unwrap_or_default();
        match self.read_content(text) {
            LineContent::Ids(ids) => return Some((ids, text)),
            LineContent::Cancelled(id) => {
                self.waiting.cancel(&id);
                // The relay must not request a cancelled subscription again.
                self.opening.end_listen(&id);
            }
            // The restore sends it after `initialize`; a held copy would arrive a second time.
            LineContent::Initialized if self.opening.initialize().is_some() => {
                self.opening.set_initialized(text);
            }
            LineContent::Initialized => return Some((Vec::new(), text)),
            LineContent::Late => {}
            LineContent::Unreadable => {
                // The guard writes the reply. Nothing of such a line may reach a server.
                let inspection = self.guard.inspect(Direction::ClientToServer, line, now);
                self.show(Direction::ClientToServer, line, &inspection, sink);
                for delivery in inspection.deliveries {
                    if delivery.direction == Direction::ServerToClient {
                        sink.send(delivery.into());
                    }
                }
            }
        }
        None
    }

    fn read_content(&mut self, text: &[u8]) -> LineContent {
        let max_id_bytes = self.limits.max_id_bytes();
        match self.decoder.decode(text) {
            Ok(Frame::Message(message, _)) => match message {
                Message::Request(request) => LineContent::Ids(vec![request.id.into_owned()]),
                Message::Notification(call) if call.method == "notifications/cancelled" => {
                    // A cancellation without a usable id has no receiver.
                    match cancelled_id(call.params, max_id_bytes) {
                        Some(id) => LineContent::Cancelled(id.into_owned()),
                        None => LineContent::Late,
                    }
                }
                Message::Notification(call) if call.method == "notifications/initialized" => {
                    LineContent::Initialized
                }
                Message::Notification(_) => LineContent::Ids(Vec::new()),
                Message::Response(_) | Message::Error(_) => LineContent::Late,
            },
            Ok(Frame::Batch(batch)) => {
                let mut ids = Vec::new();
                for element in batch.elements() {
                    match self.decoder.decode_element(element) {
                        Ok((Message::Request(request), _)) => ids.push(request.id.into_owned()),
                        Ok(_) => {}
                        // The client waits for an answer to a broken element too.
                        Err(_) => {
                            let found = recover(element.text, Ending::Whole, &self.limits);
                            let asked = found.filter(|it| !it.is_response);
                            ids.extend(asked.filter_map(|it| it.id));
                        }
                    }
                }
                LineContent::Ids(ids)
            }
            Err(_) => LineContent::Unreadable,
        }
    }
}

/// Fails requests that never reached a server.
fn fail_all(ids: &[Id<'_>], rule: &str, reason: &str, sink: &mut impl Sink) {
    for id in ids {
        let failure = RelayReply::Failure { id, rule, reason };
        sink.send((Direction::ServerToClient, failure).into());
    }
}
