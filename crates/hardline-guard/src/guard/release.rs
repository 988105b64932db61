//! Releases or drops the messages that were held back.

use std::collections::HashMap;

use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::message::Message;
use hardline_wire::recover::Ending;

use super::Guard;
use super::content::Subject;
use super::copy::is_same_json;
use super::holdback::{Held, HeldKind};
use super::work::Work;
use crate::finding::{Direction, Severity};
use crate::frame::{FrameVerdict, ids_of_part};
use crate::rule::Rule;
use crate::session::{Doubt, Reply, SessionVerdict};

impl Guard {
    /// Drops the requests that were held back, because of what followed. Their sender gets errors.
    pub(super) fn drop_held_requests(&mut self, reason: &str, work: &mut Work<'_>) {
        if !self.holdback.has_request() {
            return;
        }
        let mut dropped = Vec::new();
        for held in self.holdback.take() {
            if held.kind == HeldKind::Request {
                let detail = format!("a request that content may have written: dropped, {reason}");
                self.report(&held.frame, Severity::High, &detail, work);
                dropped.extend(self.refuse_held(&held.frame, work));
            } else {
                self.holdback.put_back(held);
            }
        }
        for id in dropped {
            self.session.settle(Direction::ServerToClient, &id);
        }
    }

    /// Answers the requests in a frame that was dropped. Returns the ids of those that the session has
    /// taken as requests in flight.
    fn refuse_held(&mut self, frame: &[u8], work: &mut Work<'_>) -> Vec<Id<'static>> {
        match self.frames.from_server.judge_text(frame, Ending::Whole).verdict {
            FrameVerdict::Frame(Frame::Message(message, value)) => {
                let subject = Subject { value, text: frame, base: 0, names: 1 };
                self.refuse_dropped(&message, subject, work).into_iter().collect()
            }
            FrameVerdict::Frame(Frame::Batch(batch)) => {
                let mut taken = Vec::new();
                for element in batch.elements() {
                    let (text, base) = (element.text, element.offset);
                    let verdict = self.frames.from_server.judge_element(element).verdict;
                    if let FrameVerdict::Frame(Frame::Message(message, value)) = verdict {
                        let subject = Subject { value, text, base, names: 1 };
                        taken.extend(self.refuse_dropped(&message, subject, work));
                    }
                }
                taken
            }
            FrameVerdict::Refused(_) | FrameVerdict::Blank => Vec::new(),
        }
    }

    /// Answers a request that was dropped, after reporting what else the session has against it. Returns
    /// its id if the session has taken it as a request in flight.
    fn refuse_dropped(
        &mut self,
        message: &Message<'_>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> Option<Id<'static>> {
        let Message::Request(request) = message else { return None };
        let direction = Direction::ServerToClient;
        let actions = self.policy.actions(None);
        let decide = |rule| actions.action(rule, direction);
        let mut decision = self.session.handle(direction, message, work.now, &decide);
        let is_taken = decision.verdict == SessionVerdict::Pass;
        self.note_session(direction, &mut decision, subject, work);
        self.refuse_planted(message, work);
        is_taken.then(|| request.id.clone().into_owned())
    }

    /// Delivers the notifications and answers that were held back, and drops the requests.
    pub(super) fn release_notifications(&mut self, work: &mut Work<'_>) {
        for held in self.holdback.take() {
            if held.kind == HeldKind::Request {
                self.drop_held(&held.frame, work);
            } else {
                self.take_text(Direction::ServerToClient, held.frame, work);
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
        for held in held {
            if held.kind == HeldKind::Request {
                self.holdback.put_back(held);
            } else {
                self.release_one(held, &contested, work);
            }
        }
    }

    /// Delivers all messages that were held back, except answers that contradict each other.
    pub(super) fn release_held(&mut self, work: &mut Work<'_>) {
        let held = self.holdback.take();
        let contested = self.fail_contested(&held, b"", work);
        for held in held {
            self.release_one(held, &contested, work);
        }
    }

    /// Delivers a message that was held back, unless it is an answer that another one contradicts.
    fn release_one(&mut self, held: Held, contested: &[Id<'static>], work: &mut Work<'_>) {
        let ids = if contested.is_empty() { Vec::new() } else { self.answered_ids(&held.frame) };
        if ids.iter().any(|id| contested.contains(id)) {
            self.drop_held(&held.frame, work);
        } else {
            self.take_text(Direction::ServerToClient, held.frame, work);
        }
    }

    /// Fails the requests that several of these frames answer, or a frame and the line `torn`, and
    /// returns their ids. Content has written at least one of the answers, and nothing shows which.
    fn fail_contested(
        &mut self,
        frames: &[Held],
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

    /// Returns the ids that several of these frames answer, or a frame and the line `torn`.
    fn contested_ids(&mut self, frames: &[Held], torn: &[u8]) -> Vec<Id<'static>> {
        let mut contested = Vec::new();
        // Answers wait only after a torn message, and one answer contradicts nothing.
        if frames.is_empty() || frames.len() < 2 && torn.is_empty() {
            return contested;
        }
        let torn = ids_of_part(torn, self.limits.max_id_bytes());
        let mut seen: HashMap<_, Option<&[u8]>> = torn.into_iter().map(|id| (id, None)).collect();
        for held in frames {
            for id in self.answered_ids(&held.frame) {
                // A copy contradicts nothing, and is dropped when it is released.
                let is_other = |first: &Option<&[u8]>| {
                    first.is_none_or(|first| !is_same_json(first, &held.frame))
                };
                if seen.get(&id).is_some_and(is_other) {
                    contested.push(id);
                } else {
                    seen.insert(id, Some(&held.frame));
                }
            }
        }
        contested
    }

    /// Drops all messages that were held back.
    pub(super) fn drop_all_held(&mut self, work: &mut Work<'_>) {
        for held in self.holdback.take() {
            self.drop_held(&held.frame, work);
        }
    }

    /// Drops the messages that the server sent on its own and that were held back: a torn message
    /// followed them. Answers go on.
    pub(super) fn drop_own_held(&mut self, work: &mut Work<'_>) {
        for held in self.take_held_answers(b"", work) {
            self.take_text(Direction::ServerToClient, held.frame, work);
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
    fn take_held_answers(&mut self, torn: &[u8], work: &mut Work<'_>) -> Vec<Held> {
        let held = self.holdback.take();
        let contested = self.fail_contested(&held, torn, work);
        let mut answers = Vec::new();
        for held in held {
            if self.answers_pending(&held.frame, &contested) {
                answers.push(held);
            } else {
                self.drop_held(&held.frame, work);
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
    pub(super) fn drop_held(&mut self, frame: &[u8], work: &mut Work<'_>) {
        let detail = "a message inside of another one that content has ended: dropped";
        self.report_planted(frame, detail, work);
        let answered = self.answered_ids(frame);
        let verdict = self.frames.from_server.judge_text(frame, Ending::Whole).verdict;
        if matches!(verdict, FrameVerdict::Frame(Frame::Batch(_))) {
            // An element may be a broken answer, which names its request to no parser.
            self.session.doubt_all(work.now);
            self.doubt_answers(frame, answered.is_empty(), 0, work.now);
        } else if let FrameVerdict::Frame(Frame::Message(message, _)) = verdict {
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
}
