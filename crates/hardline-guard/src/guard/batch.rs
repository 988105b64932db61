//! Inspects batches: each element is judged alone.

use std::borrow::Cow;
use std::collections::HashSet;

use hardline_wire::batch::Batch;
use hardline_wire::frame::Frame;
use hardline_wire::line::Line;
use hardline_wire::message::Message;

use super::Guard;
use super::content::Subject;
use super::inspection::Carries;
use super::unasked::is_answer;
use super::work::Work;
use crate::finding::{Direction, Severity};
use crate::frame::FrameVerdict;
use crate::join::Pending;
use crate::rule::Action;
use crate::session::Doubt;

impl Guard {
    /// Handles a batch: each element is judged alone.
    pub(super) fn take_batch<'a>(
        &mut self,
        direction: Direction,
        line: &Line<'a>,
        text: &'a [u8],
        batch: Batch<'a>,
        work: &mut Work<'a>,
    ) {
        if !self.session.has_batches() {
            let (finding, refused) = self.frames.of(direction).refuse_batch(text, line.ending());
            self.take_refused(direction, line, vec![finding], refused, work);
            return;
        }
        let is_from_server = direction == Direction::ServerToClient;
        let is_doubtful = is_from_server && self.find_misplaced_element(&batch);
        if is_doubtful {
            // Content may have ended one element and written others.
            self.joiner.suspect(work.now);
            self.doubt_batch(&batch, work);
        }
        let is_mixed = is_from_server && self.find_answers_and_requests(&batch);
        let mut parts: Vec<Cow<'a, [u8]>> = Vec::with_capacity(batch.len());
        let mut messages = Vec::with_capacity(batch.len());
        for element in batch.elements() {
            let judged = self.frames.of(direction).judge_element(element);
            let action = self.note(direction, judged.findings, work);
            let passes = action < Action::Sanitize && !self.has_tool_filter();
            match judged.verdict {
                FrameVerdict::Frame(Frame::Message(message, value)) => {
                    let (text, base) = (element.text, element.offset);
                    let subject = Subject { value, text, base, names: 1 };
                    if is_doubtful && message.id().is_some() {
                        continue;
                    }
                    if is_mixed && matches!(message, Message::Request(_)) {
                        self.drop_beside_answers(&message, element.text, work);
                        continue;
                    }
                    let verdict = self.pass(direction, &message, subject, work);
                    if let Some(part) = verdict.into_frame(element.text) {
                        parts.push(part);
                        messages.push(message);
                    }
                }
                FrameVerdict::Refused(_) if passes => parts.push(Cow::Borrowed(element.text)),
                FrameVerdict::Refused(refused) => {
                    self.give_up(direction, element.text, refused, work);
                }
                FrameVerdict::Blank | FrameVerdict::Frame(Frame::Batch(_)) => {}
            }
        }
        let is_whole =
            parts.len() == batch.len() && parts.iter().all(|part| matches!(part, Cow::Borrowed(_)));
        let frame = if is_whole { Some(Cow::Borrowed(text)) } else { join_elements(&parts) };
        if let Some(frame) = frame {
            work.deliver(direction, frame, Carries::Batch(messages));
        }
    }

    /// Judges the elements of a server's batch. Returns true if one is broken, or answers no pending
    /// request, or one that another element answers.
    pub(super) fn find_misplaced_element(&mut self, batch: &Batch<'_>) -> bool {
        let mut seen = HashSet::new();
        batch.elements().any(|element| {
            match self.frames.from_server.judge_element(element).verdict {
                FrameVerdict::Frame(Frame::Message(message, _)) if is_answer(&message) => {
                    let id = message.id().map(|id| id.clone().into_owned());
                    id.is_none_or(|id| !self.session.is_pending(&id) || !seen.insert(id))
                }
                FrameVerdict::Frame(_) | FrameVerdict::Blank => false,
                FrameVerdict::Refused(_) => true,
            }
        })
    }

    /// Returns true if a server's batch has an answer and a request. Content can end its answer inside of
    /// a batch and write the next element, and no element after it need show that.
    pub(super) fn find_answers_and_requests(&mut self, batch: &Batch<'_>) -> bool {
        let (mut has_answers, mut has_requests) = (false, false);
        for element in batch.elements() {
            let verdict = self.frames.from_server.judge_element(element).verdict;
            if let FrameVerdict::Frame(Frame::Message(message, _)) = verdict {
                has_answers |= is_answer(&message);
                has_requests |= matches!(message, Message::Request(_));
            }
        }
        has_answers && has_requests
    }

    /// Fails the requests that a batch answers after a while, unless proper answers arrive.
    pub(super) fn doubt_batch(&mut self, batch: &Batch<'_>, work: &mut Work<'_>) {
        for element in batch.elements() {
            if let Some(id) = self.frames.from_server.answered_id(element) {
                self.session.doubt(&id, Doubt::Damaged, work.now);
            }
        }
        self.session.doubt_all(work.now);
        let detail = "a batch with an answer that belongs to no request: its answers were dropped";
        self.report(b"", Severity::High, detail, work);
    }
}

/// Returns the batch of these elements. `None` if there is none.
fn join_elements<'a>(elements: &[Cow<'_, [u8]>]) -> Option<Cow<'a, [u8]>> {
    let is_some = !elements.is_empty();
    is_some.then(|| Cow::Owned([b"[".as_slice(), &elements.join(&b','), b"]"].concat()))
}
