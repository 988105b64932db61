//! Ends a hold: delivers the joined message, or fails the requests that the held lines were about.

use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::recover::{Ending, recover};

use super::hold::{Hold, Reading};
use super::suspicion::Suspicion;
use super::{JoinEvent, Joined, Joiner, MAX_WAIT, Pending};
use crate::finding::{Direction, Finding, Severity};
use crate::frame::{
    finding_at, first_end, has_outcome, has_unnamed_answer, is_plain_json, probable_ids,
    probable_ids_of_lines,
};
use crate::rule::Rule;

impl Joiner {
    /// Ends a hold with a reading that is whole.
    pub(super) fn conclude(
        &mut self,
        hold: &mut Hold,
        reading: Reading,
        text: Vec<u8>,
        pending: &impl Pending,
    ) {
        if matches!(reading, Reading::Other) && hold.witness.total() == 0 && self.is_printed(&text)
        {
            // No part of it is a message, as on one line.
            self.report_noise(hold);
            self.is_printed_line = true;
            self.push(JoinEvent::Printed { text, is_whole: true });
            return;
        }
        let mut unawaited = None;
        let mut is_unclear = hold.is_unclear(&reading, pending);
        if let Reading::Answer(id) = &reading
            && !pending.is_pending(id)
            && hold.is_whole_as_it_came()
        {
            // It may be a copy of another one.
            is_unclear = false;
            unawaited = Some(JoinEvent::Unawaited { id: id.clone(), text: text.clone() });
        }
        let delivered = self.settle_reading(hold, reading, text, pending);
        if is_unclear {
            self.push(JoinEvent::Lost);
        }
        unawaited.into_iter().for_each(|event| self.push(event));
        if hold.is_read_as_text() && hold.witness.has_head {
            // The line that ended this message may belong to the other one.
            self.suspect(hold.last());
        }
        // A printed document may show any id, so its request gets time for the real answer.
        if !hold.is_printed {
            self.fail_head(hold, delivered.as_ref(), pending);
        }
        // The lines between may have been answers of their own.
        self.watch_answers_in(hold, hold.last(), delivered.as_ref(), pending);
        for id in std::mem::take(&mut hold.witness.touched) {
            let is_settled = delivered.as_ref() == Some(&id) || !self.is_owed(&id, pending);
            if !is_settled && !self.watch.add(id.clone(), hold.last() + MAX_WAIT) {
                self.fail(id, "its answer was inside another message");
            }
        }
    }

    /// Delivers, refuses or drops a reading that is whole. Returns the id of the answer that it
    /// delivers.
    fn settle_reading(
        &mut self,
        hold: &mut Hold,
        reading: Reading,
        mut text: Vec<u8>,
        pending: &impl Pending,
    ) -> Option<Id<'static>> {
        // The line end became a space.
        while text.last() == Some(&b' ') {
            text.pop();
        }
        let has_planted = hold.witness.total() > 0;
        match reading {
            // A document that the server prints may show any answer, and pretty-printed ones first.
            Reading::Answer(id) if hold.is_printed && self.is_owed(&id, pending) => {
                self.report(hold, "an answer on the lines after a log line was not delivered");
                hold.witness.probable.push(id);
            }
            Reading::Answer(id) if self.is_owed(&id, pending) => {
                self.report(hold, "a raw newline tore a message apart; it was put together again");
                self.watch.forget(&id);
                let delivered = id.clone();
                let (is_pretty, offset) = (hold.is_pretty, hold.offset);
                self.push(JoinEvent::Joined(Joined { text, id, has_planted, is_pretty, offset }));
                return Some(delivered);
            }
            Reading::Answer(_) => {
                self.report(hold, "a torn answer that nobody waits for was dropped");
            }
            Reading::Notification => self.report(hold, "a torn notification was dropped"),
            Reading::Request(id) => {
                self.report(hold, "a torn request was answered with an error");
                self.refuse(id);
            }
            Reading::Other | Reading::Nothing => {
                self.report(hold, "a torn line that is no message was dropped");
                self.fail_answers_in(&text, pending);
                // Content may have ended it too early, and may continue.
                self.suspect(hold.last());
            }
        }
        None
    }

    /// Returns true if a text is JSON without a message in it.
    pub(super) fn is_printed(&self, text: &[u8]) -> bool {
        is_plain_json(text, &self.limits)
    }

    /// Ends a hold without a message. Every request that a held line was about gets an error.
    pub(super) fn run_out(&mut self, mut hold: Box<Hold>, now: Duration, pending: &impl Pending) {
        // Brackets name no request, so any pending one may have lost its answer here.
        if hold.head.is_bare {
            self.report_noise(&hold);
            self.push(JoinEvent::Lost);
            return;
        }
        self.report(&hold, "a raw newline tore a message apart, and its rest was not found");
        if let (true, Some(id)) = (hold.head.has_method, &hold.head.id) {
            self.refuse(id.clone());
        }
        let failed_before = self.failed.len();
        self.fail_head(&hold, None, pending);
        // The id may come after the content.
        self.fail_answers_in(hold.raw(), pending);
        // A torn answer whose id was not found may have been for any pending request.
        let is_unnamed = self.failed.len() == failed_before && !hold.head.has_method;
        let has_more = self.has_more_answers(&hold, pending) || hold.witness.has_unnamed;
        // Any of the lines after the head may be a part of another answer, and so may text on its
        // own line behind the first message there.
        let has_parts = hold.followers > 0 || first_end(hold.raw()).is_some();
        if is_unnamed || has_more || has_parts {
            self.push(JoinEvent::Lost);
        }
        for id in &hold.witness.touched {
            if self.is_owed(id, pending) {
                self.fail(id.clone(), "its answer was inside a message that fell apart");
            }
        }
        self.watch_answers_in(&hold, now, None, pending);
        if !self.is_observing {
            self.is_line_torn = self.is_mid_line;
            if self.suspicion.is_some() {
                // The rest of one torn message does not show that of the other one.
                hold.forget_head();
            }
            self.suspicion = Some(Suspicion::after_hold(now, hold.after_head()));
            self.paused = Some(hold).filter(|hold| hold.is_paused());
        }
    }

    /// Returns true if the lines of a hold seem to have more answers than those for known requests.
    fn has_more_answers(&self, hold: &Hold, pending: &impl Pending) -> bool {
        let is_named = |id: &Id<'static>| self.failed.contains(id) || pending.is_pending(id);
        let max_id_bytes = self.limits.max_id_bytes();
        let ids = probable_ids_of_lines(hold.raw(), max_id_bytes);
        let named = ids.into_iter().filter(is_named).count();
        // One line may have the halves of two answers, while another one is whole.
        let has_more_on = |line: &[u8]| {
            let named = probable_ids(line, max_id_bytes).into_iter().filter(is_named).count();
            has_unnamed_answer(line, named)
        };
        let mut lines = hold.raw().split(|byte| *byte == b'\n');
        // The server may have ended its line too late, so that an answer follows a call on it.
        let is_behind_call = hold.head.has_method && named == 0 && has_outcome(hold.raw());
        is_behind_call || has_unnamed_answer(hold.raw(), named) || lines.any(has_more_on)
    }

    /// Gives the requests that held lines seem to answer some time for a proper answer, except the one
    /// that has been `delivered`.
    fn watch_answers_in(
        &mut self,
        hold: &Hold,
        now: Duration,
        delivered: Option<&Id<'static>>,
        pending: &impl Pending,
    ) {
        let mut ids = probable_ids_of_lines(hold.raw(), self.limits.max_id_bytes());
        // The hold does not keep lines once there are too many.
        ids.extend_from_slice(&hold.witness.probable);
        for id in ids {
            let is_owed = self.is_owed(&id, pending) && delivered != Some(&id);
            if is_owed && !self.watch.add(id.clone(), now + MAX_WAIT) {
                self.fail(id, "its answer was inside a message that fell apart");
            }
        }
    }

    /// Fails the requests that `text` has answers to, as far as their ids can be recovered.
    fn fail_answers_in(&mut self, text: &[u8], pending: &impl Pending) {
        let ids: Vec<_> = recover(text, Ending::Whole, &self.limits)
            .take(self.limits.max_in_flight())
            // An object with an id and without a method is an answer, even if damaged.
            .filter(|it| !it.has_method && !it.follows_junk)
            .filter_map(|it| it.id)
            .collect();
        for id in ids {
            if self.is_owed(&id, pending) {
                self.fail(id, "its answer was inside a message that fell apart");
            }
        }
    }

    /// Fails the request that the head was the answer to, unless that was delivered.
    fn fail_head(&mut self, hold: &Hold, delivered: Option<&Id<'_>>, pending: &impl Pending) {
        let Some(id) = hold.head.id.as_ref().filter(|_| !hold.head.has_method) else { return };
        if delivered != Some(id) && self.is_owed(id, pending) {
            self.fail(id.clone(), "its answer fell apart at a raw newline");
        }
    }

    pub(super) fn report_noise(&mut self, hold: &Hold) {
        let (rule, detail) = (Rule::FrameNoise, "not a message: removed from the protocol stream");
        let length = hold.raw().len();
        let finding = finding_at(rule, Direction::ServerToClient, hold.raw(), 0, length, detail);
        self.push(JoinEvent::Found { finding, start: hold.offset });
    }

    /// Adds the findings of a hold: one for the frame, and one for each message inside it.
    fn report(&mut self, hold: &Hold, what: &str) {
        let witness = &hold.witness;
        if hold.head.is_plain && witness.total() == 0 {
            self.report_noise(hold);
            return;
        }
        // Without a line behind it, nothing shows that a newline tore the head.
        let rule = if hold.followers == 0 { Rule::FrameNotJson } else { Rule::FrameSplit };
        let detail = match witness.total() {
            0 => format!("{what} ({} lines after its first)", hold.followers),
            _ => format!(
                "{what}; whole messages on its lines, none of them delivered: {} requests, \
                 {} notifications, {} answers",
                witness.requests, witness.notifications, witness.answers
            ),
        };
        let direction = Direction::ServerToClient;
        let is_planted = witness.total() > 0 && rule == Rule::FrameSplit;
        let severity = if is_planted { Severity::Critical } else { rule.severity() };
        let offset = hold.head_length;
        let finding = finding_at(rule, direction, hold.raw(), offset, hold.length, &detail);
        let length = hold.length.saturating_sub(offset);
        let start = hold.offset;
        let finding = Finding { severity, length, ..finding };
        self.push(JoinEvent::Found { finding, start });
        for planted in &witness.planted {
            let detail = format!("a whole {} on a line inside a torn message", planted.kind);
            let finding =
                finding_at(Rule::FrameSplit, direction, &planted.start, 0, planted.length, &detail);
            let (offset, length) = (planted.offset, planted.length);
            let finding = Finding { severity: Severity::Critical, offset, length, ..finding };
            self.push(JoinEvent::Found { finding, start });
        }
    }
}
