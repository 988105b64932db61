//! Replies for lines that are no valid message: the requests that wait for them fail.

use std::borrow::Cow;

use hardline_wire::encode::{ReplyTo, code, error};
use hardline_wire::line::Line;
use hardline_wire::mistyped::integer_meant;
use hardline_wire::recover::Ending;
use memchr::memmem;

use super::inspection::Carries;
use super::work::Work;
use super::{Guard, is_fit};
use crate::finding::{Direction, Finding};
use crate::frame::{FrameVerdict, Refused, cut_junk};
use crate::rule::{Action, Rule};
use crate::session::{Doubt, Reply};

impl Guard {
    /// Handles a line that is no valid message.
    pub(super) fn take_refused<'a>(
        &mut self,
        direction: Direction,
        line: &Line<'a>,
        findings: Vec<Finding>,
        mut refused: Refused,
        work: &mut Work<'a>,
    ) {
        let is_from_server = direction == Direction::ServerToClient;
        if is_from_server && self.take_prefixed(line, work) {
            return;
        }
        // A flood of such lines must not become a flood of findings.
        let is_news = !is_from_server || self.session.handle_invalid(work.now);
        let listed = work.findings.found.len();
        let action = self.note(direction, findings, work);
        if !is_news {
            work.findings.unlisted += work.findings.found.len() - listed;
            work.findings.found.truncate(listed);
        }
        let text = line.whole();
        match (action, text) {
            // A line that the guard cannot read might call a denied tool.
            (Action::Allow | Action::Log, Some(text)) if !self.has_tool_filter() => {
                work.deliver(direction, Cow::Borrowed(text), Carries::Unchecked);
                return;
            }
            (Action::Sanitize, Some(text)) => {
                if let Some(mended) = refused.mended.take()
                    && is_fit(&mended, text, &self.limits)
                {
                    self.take_text(direction, mended, work);
                    return;
                }
            }
            _ => {}
        }
        if is_from_server && refused.rule == Rule::FrameNoise {
            work.inspection.noise = text;
        }
        if refused.rule == Rule::FrameNotJsonrpc && refused.responses.is_empty() {
            let meant = text.and_then(|text| Some(integer_meant(text, &self.limits)?.0));
            refused.responses.extend(meant);
        }
        if is_from_server && refused.rule == Rule::FrameNoise {
            if self.holdback.has_pretty() {
                self.drop_all_held(work);
            }
            self.read_behind_junk(text.unwrap_or_default(), &mut refused);
        }
        if is_from_server {
            self.doubt_log_line(text, &mut refused, work);
            self.note_broken_line(text, &mut refused, work);
        }
        self.give_up(direction, text.unwrap_or_default(), refused, work);
    }

    /// Leaves the requests some time that a log line in JSON seems to answer: it may have an id and a
    /// result too. If the line was meant as the answer, the request fails a little later.
    fn doubt_log_line(&mut self, text: Option<&[u8]>, refused: &mut Refused, work: &mut Work<'_>) {
        if text.is_some_and(|text| memmem::find(text, b"jsonrpc").is_none()) {
            for id in refused.responses.drain(..) {
                self.session.doubt(&id, Doubt::Damaged, work.now);
            }
        }
    }

    /// Records that a broken line of the server may have ended, begun or continued a message.
    fn note_broken_line(
        &mut self,
        text: Option<&[u8]>,
        refused: &mut Refused,
        work: &mut Work<'_>,
    ) {
        self.look_for_rest(text, work);
        refused.is_torn |= text.is_some_and(|text| self.is_torn_behind_decoration(text));
        let may_be_message = refused.rule != Rule::FrameNoise || text.is_some_and(ends_object);
        if may_be_message && !refused.is_torn {
            // Content may have ended a refused message too.
            self.holdback.note_message(true, text.unwrap_or_default(), work.now);
        }
    }

    /// Gives up on a broken line, or on a broken element of a batch. The requests that it answers fail
    /// now or in the end, and the server is suspect if content may have broken it.
    pub(super) fn give_up(
        &mut self,
        direction: Direction,
        text: &[u8],
        refused: Refused,
        work: &mut Work<'_>,
    ) {
        let is_from_server = direction == Direction::ServerToClient;
        // The lines of a value that the server prints show what they are at its end.
        let was_suspect = self.joiner.is_after_torn();
        if is_from_server && refused.is_torn {
            self.joiner.suspect(work.now);
            self.keep_held_answers(text, work);
            self.holdback.note_torn(work.now);
        }
        let is_noise = refused.rule == Rule::FrameNoise && refused.responses.is_empty();
        let may_answer = refused.may_answer && !is_noise;
        let has_more = refused.has_more_answers;
        let has_failed = self.refuse(direction, refused, work);
        if is_from_server {
            let may_answer = may_answer && (!has_failed || has_more);
            self.doubt_answers(text, may_answer, usize::from(has_failed), work.now);
            self.doubt_unclear(text, is_noise, was_suspect, work.now);
        }
    }

    /// Names the requests that a broken message behind padding or a progress bar answers.
    fn read_behind_junk(&mut self, text: &[u8], refused: &mut Refused) {
        let Some(message) = cut_junk(text).filter(|it| it.len() < text.len()) else { return };
        let judged = self.frames.from_server.judge_text(message, Ending::Whole);
        if let FrameVerdict::Refused(inner) = judged.verdict {
            refused.responses = inner.responses;
            refused.may_answer = inner.may_answer;
        }
    }

    /// Sends the replies for a line that does not pass. Returns true if a request failed because of
    /// it.
    pub(super) fn refuse(
        &mut self,
        direction: Direction,
        refused: Refused,
        work: &mut Work<'_>,
    ) -> bool {
        let Refused { rule, code, reason, requests, responses, owes_anonymous, .. } = refused;
        let kind = if code == code::PARSE_ERROR { "Parse error" } else { "Invalid request" };
        let mut failed = Vec::new();
        for id in responses {
            let reply = Reply::new(id.clone(), rule, format!("no usable answer: {reason}"));
            if self.fail_towards(direction, reply, work) {
                failed.push(id);
            }
        }
        for id in requests {
            // One id may be recovered as a request and as an answer.
            if !failed.contains(&id) {
                let reply = Reply::new(id, rule, format!("{kind}: {reason}"));
                work.reply(direction.opposite(), reply.with_code(code));
            }
        }
        if owes_anonymous && self.anonymous.try_acquire(work.now) {
            let to = ReplyTo::unknown(self.session.version());
            let mut line = error(to, code, &format!("{kind}: {reason}"), None).into_bytes();
            line.pop();
            work.deliver(direction.opposite(), line.into(), Carries::Complaint);
        }
        !failed.is_empty()
    }
}

/// Returns true if a line that is no message ends as one does, or names the protocol. Content may have
/// ended it and written the next one.
fn ends_object(text: &[u8]) -> bool {
    let last = text.trim_ascii_end().last();
    matches!(last, Some(b'}' | b']')) || memmem::find(text, b"jsonrpc").is_some()
}
