//! Drops or holds back messages that a server sends on its own, where content may have written them.
//!
//! [`release`](super::release) has the messages that were held back.
//!
//! They are dropped while a torn message waits for its rest (see [`Joiner::is_suspicious`]), and held
//! back right after another message (see [`holdback`](super::holdback)).
//!
//! [`Joiner::is_suspicious`]: crate::join::Joiner::is_suspicious

use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::message::Message;
use hardline_wire::recover::Ending;

use super::Guard;
use super::ending::ends_closed;
use super::holdback::HeldKind;
use super::work::Work;
use crate::finding::{Direction, Finding, Severity};
use crate::frame::{FrameVerdict, finding_at, has_outcome};
use crate::join::{Pending, begins_inside};
use crate::rule::{Action, Rule};
use crate::session::{Doubt, Reply};

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

    /// Holds a frame of the server back if it has to wait, or drops it. Returns false if it may pass now.
    pub(super) fn try_hold_back(
        &mut self,
        decoded: &Frame<'_>,
        text: &[u8],
        work: &mut Work<'_>,
    ) -> bool {
        let (is_answer, is_awaited) = self.find_answer(decoded);
        let has_request = self.find_request(decoded);
        let is_due = match (is_awaited, is_answer) {
            (true, _) => {
                let is_suspect = self.joiner.is_suspicious();
                self.holdback.is_due_for_answers(is_suspect)
            }
            // The session drops an answer to no pending request. It may be the rest of an answer that
            // content has ended, with a second start that the content has written.
            (false, true) => {
                if self.holdback.has_answer() {
                    // The torn message may still go on around the answers that wait.
                    self.keep_held_answers(b"", work);
                } else {
                    self.drop_own_held(work);
                }
                self.holdback.note_other(work.now);
                return false;
            }
            // The suspicion check drops it, so it need not wait.
            (false, false) if self.joiner.is_suspicious() => false,
            (false, false) if self.is_decoy(decoded, text) => {
                self.end_message(text, work);
                return false;
            }
            (false, false) if self.drop_followed(has_request, text, work) => return true,
            (false, false) => {
                self.holdback.is_due() || has_request && self.holdback.is_due_for_requests()
            }
        };
        if !is_answer {
            // Two requests of one kind end alike, and honest servers send both.
            self.holdback.note_own(if has_request { b"" } else { text }, work.now);
        }
        let kind = match (has_request, is_awaited) {
            (true, _) => HeldKind::Request,
            (false, true) => HeldKind::Answer,
            (false, false) => HeldKind::Other,
        };
        if is_due && self.holdback.push(text, kind, work.now) {
            return true;
        }
        if is_awaited {
            self.note_answer(text, work);
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

    /// Returns true if a frame is an answer, and true if it answers a pending request. An answer in a batch
    /// vouches for the rest of the batch.
    fn find_answer(&mut self, decoded: &Frame<'_>) -> (bool, bool) {
        match decoded {
            Frame::Message(message, _) => (is_answer(message), self.is_awaited(message)),
            Frame::Batch(batch) => {
                let judge = &mut self.frames.from_server;
                let ids = batch.elements().filter_map(|element| judge.answered_id(element));
                let ids: Vec<_> = ids.collect();
                let has_batches = self.session.has_batches();
                let is_awaited = has_batches && ids.iter().any(|id| self.session.is_pending(id));
                (!ids.is_empty(), is_awaited)
            }
        }
    }

    /// Returns true if a message of the server's own may be the rest of the last message: content may have
    /// written the start of a request, or of a line that no client takes, for the rest to end.
    ///
    /// Notifications are not judged like this, because honest ones often end in the same way.
    fn is_decoy(&self, decoded: &Frame<'_>, text: &[u8]) -> bool {
        let is_notification = match decoded {
            Frame::Message(Message::Notification(call), _) => {
                call.method.starts_with("notifications/")
            }
            _ => false,
        };
        !is_notification && self.holdback.may_end_message(text)
    }

    /// Drops the requests that wait if a message of the server's own may have the rest of an answer in it.
    /// Returns true if the message itself was dropped.
    ///
    /// Content can begin a sound message for the rest to complete. It ends as the other answers of the
    /// same template do. Where the policy blocks planted messages, any message may be that one: the
    /// template may be new.
    fn drop_followed(&mut self, has_request: bool, text: &[u8], work: &mut Work<'_>) -> bool {
        let is_alike = self.holdback.ends_like_answer(text);
        if is_alike || self.blocks_planted() {
            self.drop_held_requests("another message of the server followed", work);
        }
        let is_rest = has_request
            && (is_alike && self.holdback.is_due() || self.holdback.ends_like_last_line(text));
        if is_rest {
            self.drop_held(text, work);
            self.holdback.note_message(false, text, work.now);
        }
        is_rest
    }

    /// Records an answer to a pending request. Where the policy blocks planted messages, one that ends like
    /// another one drops the requests that wait: content may have begun it.
    pub(super) fn note_answer(&mut self, text: &[u8], work: &mut Work<'_>) {
        if self.blocks_planted() && self.holdback.ends_like_answer(text) {
            self.drop_held_requests("an answer that ends like another one followed", work);
        }
        self.holdback.note_answer(text);
    }

    /// Returns true if a frame of the server is a request, or a batch with one.
    fn find_request(&mut self, decoded: &Frame<'_>) -> bool {
        match decoded {
            Frame::Message(message, _) => matches!(message, Message::Request(_)),
            Frame::Batch(batch) => {
                let judge = &mut self.frames.from_server;
                batch.elements().any(|element| {
                    let verdict = judge.judge_element(element).verdict;
                    matches!(verdict, FrameVerdict::Frame(Frame::Message(Message::Request(_), _)))
                })
            }
        }
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

    /// Drops a copy of an answer that was delivered: servers print what they send. Returns false for any
    /// other message.
    pub(super) fn drop_copy(
        &mut self,
        message: &Message<'_>,
        text: &[u8],
        work: &mut Work<'_>,
    ) -> bool {
        let Some(id) = message.id().filter(|_| is_answer(message)) else { return false };
        if self.session.is_pending(id) {
            return false;
        }
        let Some(copied_at) = self.answers.time_of_copied(id, text) else { return false };
        let (rule, direction) = (Rule::SessionDuplicateResponse, Direction::ServerToClient);
        let actions = self.policy.actions(None);
        let action = actions.action_at(rule, Severity::Low, direction);
        if action < Action::Block {
            return false;
        }
        // Content that knows an older answer can write it in the place of a later one.
        self.session.doubt_sent_after(copied_at, work.now);
        let detail = "a copy of an answer that was delivered: dropped";
        let finding = finding_at(rule, direction, text, 0, text.len(), detail);
        work.findings.add(rule, Action::Block, || Finding { severity: Severity::Low, ..finding });
        true
    }

    /// Returns the ids that a frame of the server answers.
    pub(super) fn answered_ids(&mut self, frame: &[u8]) -> Vec<Id<'static>> {
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
        self.holdback.note_own(text.unwrap_or_default(), work.now);
        let ends_message = match text {
            // As far as the server goes on with a value, its lines end nothing but that. Content may have
            // begun the value, though.
            Some(text) if self.joiner.is_printed_line() => {
                if self.holdback.is_followed_by_rest(text, &self.limits) {
                    self.drop_own_held(work);
                }
                false
            }
            Some(text) => {
                let ends = self.holdback.ends_message(text, &self.limits, work.now);
                if !ends && self.holdback.has_answer() && begins_inside(text) {
                    self.drop_all_held(work);
                }
                ends
            }
            None => self.holdback.is_holding(),
        };
        if !ends_message {
            // Content may have begun the line, and the rest of an answer ends with a bracket.
            if text.is_some_and(ends_closed) {
                self.drop_held_requests("a line that may be the rest of an answer followed", work);
            }
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
        for held in held {
            self.drop_held(&held.frame, work);
        }
        // The start of the answer may have been lost, and with it the id.
        self.session.doubt_all(work.now);
        // The rest may be text as well, and more may follow.
        self.joiner.suspect(work.now);
    }

    /// Drops a request in a batch that also has answers. Its sender gets an error.
    pub(super) fn drop_beside_answers(
        &mut self,
        message: &Message<'_>,
        text: &[u8],
        work: &mut Work<'_>,
    ) {
        let detail = "a request of the server in a batch with answers: dropped";
        self.report_planted(text, detail, work);
        self.refuse_planted(message, work);
    }

    /// Answers a request that was dropped: its sender may be honest.
    pub(super) fn refuse_planted(&mut self, message: &Message<'_>, work: &mut Work<'_>) {
        if let Message::Request(request) = message {
            let id = request.id.clone().into_owned();
            // The id may be that of the answer whose rest is in this request.
            self.session.doubt(&id, Doubt::Lost, work.now);
            let reason = "the request was dropped: it may be part of a torn message";
            work.reply(Direction::ClientToServer, Reply::new(id, Rule::FrameSplit, reason));
        }
    }

    pub(super) fn report_planted(&self, text: &[u8], detail: &str, work: &mut Work<'_>) {
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
        let action = self.policy.decide(&finding, None);
        if action == Action::Close {
            work.close(rule);
        }
        // Nothing that was dropped is left to be sanitized.
        let shown = if action == Action::Sanitize { Action::Block } else { action };
        work.findings.add(rule, shown, || finding);
    }

    /// Ends the session if the policy blocks torn messages with a message in them: one may have been
    /// delivered already.
    fn close_if_blocked(&self, work: &mut Work<'_>) {
        if self.blocks_planted() {
            work.close(Rule::FrameSplit);
        }
    }

    /// Returns true if the policy blocks torn messages with a message in them, as `strict` does.
    fn blocks_planted(&self) -> bool {
        let actions = self.policy.actions(None);
        let direction = Direction::ServerToClient;
        actions.action_at(Rule::FrameSplit, Severity::Critical, direction) >= Action::Block
    }

    /// Returns true if a message of the server answers a pending request.
    pub(super) fn is_awaited(&self, message: &Message<'_>) -> bool {
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
