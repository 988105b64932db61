//! Drops or holds back messages that a server sends on its own, where content may have written them.
//!
//! They are dropped while a torn message waits for its rest (see [`Joiner::is_suspicious`]), and held
//! back right after another message (see [`holdback`](super::holdback)).
//!
//! [`Joiner::is_suspicious`]: crate::join::Joiner::is_suspicious

use std::collections::HashSet;
use std::time::Duration;

use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::json::Kind;
use hardline_wire::message::Message;
use hardline_wire::recover::Ending;

use super::Guard;
use super::content::Subject;
use super::work::Work;
use crate::finding::{Direction, Finding, Severity};
use crate::frame::{FrameVerdict, finding_at, has_outcome, probable_ids};
use crate::join::{Pending, starts_with_member};
use crate::rule::{Action, Rule};
use crate::session::{Doubt, Reply};

/// Members that JSON-RPC defines for messages.
const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

impl Guard {
    /// Returns true if a message of the server may be part of a torn message.
    ///
    /// An answer to no pending request is not: the session drops it, and may learn from it which
    /// request was meant.
    pub(super) fn is_suspect(&self, message: &Message<'_>) -> bool {
        self.joiner.is_suspicious() && !is_answer(message)
    }

    /// Drops a message that may be part of a torn one.
    pub(super) fn drop_suspect(&mut self, message: &Message<'_>, text: &[u8], work: &mut Work<'_>) {
        let detail = "a message that the server seems to send on its own, after a torn one whose rest \
                      has not come: dropped";
        self.report_planted(text, detail, work);
        self.refuse_planted(message, work);
        match message {
            Message::Error(_) => self.session.doubt_all(work.now),
            // The server is at work, even if the notification is not delivered.
            Message::Notification(call) if call.method == "notifications/progress" => {
                self.session.trust(call, work.now);
            }
            _ if has_outcome(text) => self.session.doubt_all(work.now),
            _ => {}
        }
    }

    /// Holds a frame of the server back if it has to wait. Returns true if it does.
    pub(super) fn holds_back(
        &mut self,
        frame: &Frame<'_>,
        text: &[u8],
        work: &mut Work<'_>,
    ) -> bool {
        let (is_answer, is_awaited) = match frame {
            Frame::Message(message, _) => (is_answer(message), self.is_awaited(message)),
            // An answer in a batch vouches for the rest of the batch.
            Frame::Batch(batch) => {
                let judge = &mut self.frames.from_server;
                let ids = batch.elements().filter_map(|element| judge.answered_id(element));
                let ids: Vec<_> = ids.collect();
                let has_batches = self.session.has_batches();
                let is_awaited = has_batches && ids.iter().any(|id| self.session.is_pending(id));
                (!ids.is_empty(), is_awaited)
            }
        };
        let is_due = match (is_awaited, is_answer) {
            (true, _) => {
                let is_suspect = self.joiner.is_suspicious();
                self.holdback.is_due_for_answers(is_suspect, work.now)
            }
            // The session drops an answer to no pending request. It may be the rest of an answer that
            // content has ended, with a second start that the content has written.
            (false, true) => {
                self.drop_own_held(work);
                self.holdback.note_other(work.now);
                return false;
            }
            (false, false) if self.joiner.is_suspicious() => false,
            (false, false) if self.is_decoy(frame, text, work.now) => {
                self.end_message(text, work);
                return false;
            }
            (false, false) => {
                let is_request = matches!(frame, Frame::Message(Message::Request(_), _));
                self.holdback.is_due(work.now) || is_request && self.holdback.is_due_for_requests()
            }
        };
        if is_due && self.holdback.push(text, work.now) {
            if matches!(frame, Frame::Message(Message::Request(_), _) | Frame::Batch(_)) {
                self.holdback.note_request(work.now);
            }
            return true;
        }
        if is_due {
            // Too many wait. Notifications do little harm, and a request could do much.
            self.release_notifications(work);
        } else if is_awaited {
            self.release_but_requests(work);
        }
        self.holdback.note_message(is_answer, text, work.now);
        false
    }

    /// Returns true if a message of the server's own may be the rest of the last message: content may have
    /// written the start of a request, or of a line that no client takes, for the rest to end.
    ///
    /// Notifications are not judged like this, because honest ones often end in the same way.
    fn is_decoy(&self, frame: &Frame<'_>, text: &[u8], now: Duration) -> bool {
        let is_notification = match frame {
            Frame::Message(Message::Notification(call), _) => {
                call.method.starts_with("notifications/")
            }
            _ => false,
        };
        !is_notification && self.holdback.may_end_message(text, now)
    }

    /// Delivers the notifications and answers that were held back, and drops the requests.
    fn release_notifications(&mut self, work: &mut Work<'_>) {
        for frame in self.holdback.take() {
            if self.has_request(&frame) {
                self.drop_held(&frame, work);
            } else {
                self.take_text(Direction::ServerToClient, frame, work);
            }
        }
    }

    /// Delivers the messages that were held back, except requests.
    ///
    /// Before an answer, so that the order stays the same. Requests stay: content that ends one answer can write a request, and behind it an answer to
    /// another pending request.
    pub(super) fn release_but_requests(&mut self, work: &mut Work<'_>) {
        let held = self.holdback.take();
        let contested = self.fail_contested(&held, b"", work);
        for frame in held {
            if self.has_request(&frame) {
                self.holdback.put_back(frame);
            } else if self.answered_ids(&frame).iter().any(|id| contested.contains(id)) {
                self.drop_held(&frame, work);
            } else {
                self.take_text(Direction::ServerToClient, frame, work);
            }
        }
    }

    /// Returns true if a frame of the server is a request, or a batch with one.
    fn has_request(&mut self, frame: &[u8]) -> bool {
        match self.frames.from_server.judge_text(frame, Ending::Whole).verdict {
            FrameVerdict::Frame(Frame::Message(message, _)) => {
                matches!(message, Message::Request(_))
            }
            FrameVerdict::Frame(Frame::Batch(batch)) => {
                let judge = &mut self.frames.from_server;
                batch.elements().any(|element| {
                    let verdict = judge.judge_element(element).verdict;
                    matches!(verdict, FrameVerdict::Frame(Frame::Message(Message::Request(_), _)))
                })
            }
            FrameVerdict::Refused(_) | FrameVerdict::Blank => false,
        }
    }

    /// Delivers all messages that were held back, except answers that contradict each other.
    pub(super) fn release_held(&mut self, work: &mut Work<'_>) {
        let held = self.holdback.take();
        let contested = self.fail_contested(&held, b"", work);
        for frame in held {
            if self.answered_ids(&frame).iter().any(|id| contested.contains(id)) {
                self.drop_held(&frame, work);
            } else {
                self.take_text(Direction::ServerToClient, frame, work);
            }
        }
    }

    /// Fails the requests that several of these frames answer, or a frame and the line `torn`, and
    /// returns their ids. Content has written at least one of the answers, and nothing shows which.
    fn fail_contested(
        &mut self,
        frames: &[Vec<u8>],
        torn: &[u8],
        work: &mut Work<'_>,
    ) -> Vec<Id<'static>> {
        let contested = self.contested_ids(frames, torn);
        for id in &contested {
            let reason = "no usable answer: the server sent two after a torn message";
            self.fail(Reply::new(id.clone(), Rule::FrameSplit, reason), work);
            // One of the two may have been meant for another request.
            self.session.doubt_all(work.now);
        }
        contested
    }

    /// Fails a request that a torn line and now also `message` seem to answer, while the server
    /// is suspect: content may have broken the answer and written this one. Returns false for any
    /// other message.
    pub(super) fn fail_second_answer(
        &mut self,
        message: &Message<'_>,
        work: &mut Work<'_>,
    ) -> bool {
        let id = message.id().filter(|_| is_answer(message) && self.joiner.is_suspicious());
        let Some(id) = id.filter(|id| self.session.has_torn_answer(id)) else { return false };
        let reason = "no usable answer: the server sent a broken line and another answer";
        self.fail(Reply::new(id.clone().into_owned(), Rule::FrameSplit, reason), work);
        self.session.doubt_all(work.now);
        true
    }

    /// Drops a message that no client takes, or that the server did not mean as a message. Returns
    /// false for any other message.
    ///
    /// Official clients take no message with members that JSON-RPC does not define, and no result
    /// but an object. A log line in JSON gets the members of a message where its template does not
    /// escape content.
    pub(super) fn drop_misshapen(
        &mut self,
        message: &Message<'_>,
        subject: &Subject<'_>,
        work: &mut Work<'_>,
    ) -> bool {
        let detail = match message {
            Message::Response(answer) if answer.result.kind() != Kind::Object => {
                "the result is not an object"
            }
            _ if is_answer(message) => {
                if starts_with_member(subject.text) {
                    return false;
                }
                "an answer that begins with a member which JSON-RPC does not define"
            }
            _ => {
                let is_known = |key: &str| ENVELOPE.contains(&key);
                if subject.value.members().all(|(key, _)| is_known(&key)) {
                    return false;
                }
                "a message of the server with a member that JSON-RPC does not define"
            }
        };
        let (rule, direction) = (Rule::FrameNotJsonrpc, Direction::ServerToClient);
        let finding = finding_at(rule, direction, subject.text, 0, subject.text.len(), detail);
        let action = self.policy.decide(&finding, self.server.as_deref(), None);
        if action == Action::Close {
            work.close(rule);
        }
        work.sink.add(rule, action, || finding);
        if action < Action::Sanitize {
            return false;
        }
        match message {
            Message::Response(answer) if answer.result.kind() != Kind::Object => {
                let id = answer.id.clone().into_owned();
                let reply = Reply::new(id, rule, "no usable answer: the result is not an object");
                if !self.fail_towards(direction, reply, work) {
                    self.session.doubt_all(work.now);
                }
            }
            // A proper answer may follow.
            _ if is_answer(message) => self.doubt_answers(subject.text, true, 0, work.now),
            // An error without an id may have been meant for any request.
            Message::Error(_) => self.session.doubt_all(work.now),
            _ => self.refuse_planted(message, work),
        }
        true
    }

    /// Returns the ids that several of these frames answer, or a frame and the line `torn`.
    fn contested_ids(&mut self, frames: &[Vec<u8>], torn: &[u8]) -> Vec<Id<'static>> {
        let mut contested = Vec::new();
        // Answers wait only after a torn message, and one answer contradicts nothing.
        if frames.is_empty() || frames.len() < 2 && torn.is_empty() {
            return contested;
        }
        let mut seen: HashSet<_> =
            probable_ids(torn, self.limits.max_id_bytes()).into_iter().collect();
        for frame in frames {
            for id in self.answered_ids(frame) {
                if !seen.insert(id.clone()) {
                    contested.push(id);
                }
            }
        }
        contested
    }

    /// Returns the ids that a frame of the server answers.
    fn answered_ids(&mut self, frame: &[u8]) -> Vec<Id<'static>> {
        match self.frames.from_server.judge_text(frame, Ending::Whole).verdict {
            FrameVerdict::Frame(Frame::Message(message, _)) => {
                let id = message.id().filter(|_| is_answer(&message));
                id.map(|id| id.clone().into_owned()).into_iter().collect()
            }
            FrameVerdict::Frame(Frame::Batch(batch)) => {
                let judge = &mut self.frames.from_server;
                batch.elements().filter_map(|element| judge.answered_id(element)).collect()
            }
            FrameVerdict::Refused(_) | FrameVerdict::Blank => Vec::new(),
        }
    }

    /// Checks if a line that is no message is the rest of the last message. Then content has ended that
    /// message, and may have written those since. A line that was too long to keep may be anything.
    pub(super) fn look_for_rest(&mut self, text: Option<&[u8]>, work: &mut Work<'_>) {
        let ends_message = match text {
            Some(text) => self.holdback.ends_message(text, &self.limits, work.now),
            None => self.holdback.is_holding(),
        };
        if !ends_message {
            return;
        }
        self.end_message(text.unwrap_or_default(), work);
    }

    /// Takes a line as the rest of a message that content has ended. Drops the messages between them.
    fn end_message(&mut self, text: &[u8], work: &mut Work<'_>) {
        let held = self.holdback.take();
        let detail = match (held.is_empty(), self.holdback.has_followed()) {
            (false, _) => {
                "the rest of an answer that content has ended; the messages between were dropped"
            }
            (true, true) => {
                "the rest of an answer that content has ended; a message between them was delivered"
            }
            (true, false) => "the rest of an answer that content has ended",
        };
        if self.holdback.has_followed() {
            self.report_planted(text, detail, work);
            self.close_if_blocked(work);
        } else {
            self.report(text, Severity::High, detail, work);
        }
        for frame in held {
            self.drop_held(&frame, work);
        }
        // The start of the answer may have been lost, and with it the id.
        self.session.doubt_all(work.now);
        // The rest may be text as well, and more may follow.
        self.joiner.suspect(work.now);
    }

    /// Drops all messages that were held back.
    pub(super) fn drop_all_held(&mut self, work: &mut Work<'_>) {
        for frame in self.holdback.take() {
            self.drop_held(&frame, work);
        }
    }

    /// Drops the messages that the server sent on its own and that were held back: a torn message
    /// followed them. Answers go on.
    pub(super) fn drop_own_held(&mut self, work: &mut Work<'_>) {
        for frame in self.take_held_answers(b"", work) {
            self.take_text(Direction::ServerToClient, frame, work);
        }
    }

    /// Does the same where `torn` is a line of the torn message, and more of it may follow. Answers
    /// wait on, except one whose request that line seems to answer as well: that request fails.
    pub(super) fn keep_held_answers(&mut self, torn: &[u8], work: &mut Work<'_>) {
        let has_pretty = self.holdback.has_pretty();
        let answers = self.take_held_answers(torn, work);
        self.holdback.restore(answers, has_pretty, work.now);
    }

    /// Takes the answers that were held back, and drops all other messages that were.
    fn take_held_answers(&mut self, torn: &[u8], work: &mut Work<'_>) -> Vec<Vec<u8>> {
        let held = self.holdback.take();
        let contested = self.fail_contested(&held, torn, work);
        let mut answers = Vec::new();
        for frame in held {
            if self.answers_pending(&frame, &contested) {
                answers.push(frame);
            } else {
                self.drop_held(&frame, work);
            }
        }
        answers
    }

    /// Returns true if a frame of the server is the only answer to a pending request.
    fn answers_pending(&mut self, frame: &[u8], contested: &[Id<'static>]) -> bool {
        match self.frames.from_server.judge_text(frame, Ending::Whole).verdict {
            FrameVerdict::Frame(Frame::Message(message, _)) => {
                let is_contested = message.id().is_some_and(|id| contested.contains(id));
                self.is_awaited(&message) && !is_contested
            }
            _ => false,
        }
    }

    /// Drops a frame that was held back and that content has written.
    fn drop_held(&mut self, frame: &[u8], work: &mut Work<'_>) {
        let detail = "a message inside of another one that content has ended: dropped";
        self.report_planted(frame, detail, work);
        let answered = self.answered_ids(frame);
        let outcome = self.frames.from_server.judge_text(frame, Ending::Whole).verdict;
        if matches!(outcome, FrameVerdict::Frame(Frame::Batch(_))) {
            // An element may be a broken answer, which names its request to no parser.
            self.session.doubt_all(work.now);
            self.doubt_answers(frame, answered.is_empty(), 0, work.now);
        } else if let FrameVerdict::Frame(Frame::Message(message, _)) = outcome {
            self.refuse_planted(&message, work);
            if matches!(message, Message::Response(_) | Message::Error(_)) {
                self.session.doubt_all(work.now);
            }
        }
        // The server may still send a proper answer.
        for id in answered {
            self.session.doubt(&id, Doubt::Damaged, work.now);
        }
    }

    /// Answers a request that was dropped: its sender may be honest.
    fn refuse_planted(&self, message: &Message<'_>, work: &mut Work<'_>) {
        if let Message::Request(request) = message {
            let id = request.id.clone().into_owned();
            let reason = "the request was dropped: it may be part of a torn message";
            work.reply(Direction::ClientToServer, Reply::new(id, Rule::FrameSplit, reason));
        }
    }

    fn report_planted(&self, text: &[u8], detail: &str, work: &mut Work<'_>) {
        self.report(text, Severity::Critical, detail, work);
    }

    pub(super) fn report(
        &self,
        text: &[u8],
        severity: Severity,
        detail: &str,
        work: &mut Work<'_>,
    ) {
        let (rule, direction) = (Rule::FrameSplit, Direction::ServerToClient);
        let finding = finding_at(rule, direction, text, 0, text.len(), detail);
        let finding = Finding { severity, ..finding };
        let action = self.policy.decide(&finding, self.server.as_deref(), None);
        if action == Action::Close {
            work.close(rule);
        }
        // Nothing that was dropped is left to be sanitized.
        let shown = if action == Action::Sanitize { Action::Block } else { action };
        work.sink.add(rule, shown, || finding);
    }

    /// Ends the session if the policy blocks torn messages with a message in them: one may have been
    /// delivered already.
    fn close_if_blocked(&self, work: &mut Work<'_>) {
        let actions = self.policy.actions(self.server.as_deref(), None);
        let direction = Direction::ServerToClient;
        if actions.action_at(Rule::FrameSplit, Severity::Critical, direction) >= Action::Block {
            work.close(Rule::FrameSplit);
        }
    }

    /// Returns true if a message of the server answers a pending request.
    fn is_awaited(&self, message: &Message<'_>) -> bool {
        let id = message.id().filter(|_| is_answer(message));
        id.is_some_and(|id| self.session.is_pending(id))
    }
}

/// Returns true if a message answers a request. An error without an id answers none.
pub(super) fn is_answer(message: &Message<'_>) -> bool {
    match message {
        Message::Response(_) => true,
        Message::Error(error) => error.id.is_some(),
        Message::Request(_) | Message::Notification(_) => false,
    }
}
