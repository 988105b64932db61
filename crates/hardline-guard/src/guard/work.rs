//! Collects the results of one line while the guard inspects it.

use std::borrow::Cow;
use std::time::Duration;

use hardline_wire::single_line::single_line;
use memchr::memchr;

use super::findings::Findings;
use super::inspection::{Carries, Delivery, Inspection, MAX_FOUND};
use crate::finding::{Direction, Finding, Severity};
use crate::frame::finding_at;
use crate::inspected::Inspected;
use crate::rule::{Action, Rule};
use crate::session::Reply;

/// The results of one line so far.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) now: Duration,
    pub(super) findings: Findings,
    /// The result, except for its findings.
    pub(super) inspection: Inspection<'a>,
    /// Set if frames that some reader would split are rewritten.
    rewrites_lines: bool,
}

impl<'a> Work<'a> {
    pub(super) fn new(now: Duration, rewrites_lines: bool) -> Self {
        let mut findings = Findings::of_worst(MAX_FOUND);
        findings.now = Some(now);
        Self { now, findings, rewrites_lines, inspection: Inspection::default() }
    }

    pub(super) fn deliver(
        &mut self,
        direction: Direction,
        frame: Cow<'a, [u8]>,
        carries: Carries<'a>,
    ) {
        // The policy lets a line that is no JSON pass as it is.
        let is_json = !matches!(carries, Carries::Unchecked);
        let frame =
            if self.rewrites_lines && is_json { self.on_one_line(direction, frame) } else { frame };
        let frame = Inspected::new(frame);
        self.inspection.deliveries.push(Delivery { direction, frame, carries });
    }

    /// Rewrites a frame that some reader would split: it would have several meanings.
    fn on_one_line(&mut self, direction: Direction, frame: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        let rewritten = match single_line(&frame) {
            Cow::Borrowed(_) => return frame,
            Cow::Owned(rewritten) => rewritten,
        };
        if let Some(at) = memchr(b'\r', &frame) {
            let rule = Rule::FrameControlCharacter;
            let detail = "a carriage return between tokens, which ends a line for some readers: \
                          replaced by a space";
            self.findings.add(rule, Action::Sanitize, || Finding {
                severity: Severity::Medium,
                ..finding_at(rule, direction, &frame, at, 1, detail)
            });
        }
        Cow::Owned(rewritten)
    }

    /// Begins the work on a line that is in memory. [`absorb`](Self::absorb) takes its outcome.
    pub(super) fn for_owned<'b>(&mut self) -> Work<'b> {
        let findings = std::mem::replace(&mut self.findings, Findings::of_worst(MAX_FOUND));
        Work { findings, ..Work::new(self.now, self.rewrites_lines) }
    }

    /// Takes the outcome of work that [`for_owned`](Self::for_owned) began, without what it borrows.
    pub(super) fn absorb(&mut self, other: Work<'_>) {
        self.findings = other.findings;
        let (own, other) = (&mut self.inspection, other.inspection);
        own.asked = other.asked.or(own.asked.take());
        own.denied = other.denied.or(own.denied.take());
        own.trouble = other.trouble.or(own.trouble.take());
        own.close = own.close.or(other.close);
        for Delivery { direction, frame, carries } in other.deliveries {
            // Parsed messages borrow the text that goes away.
            let carries = match carries {
                Carries::Message(_) | Carries::Batch(_) | Carries::Unread => Carries::Unread,
                Carries::Reply(reply) => Carries::Reply(reply),
                Carries::Complaint => Carries::Complaint,
                Carries::Unchecked => Carries::Unchecked,
            };
            own.deliveries.push(Delivery { direction, frame: frame.into_owned(), carries });
        }
    }

    /// Sends a reply.
    pub(super) fn reply(&mut self, direction: Direction, reply: Reply) {
        let mut line = reply.to_line().into_bytes();
        // Deliveries have no line end.
        line.pop();
        self.deliver(direction, line.into(), Carries::Reply(reply));
    }

    /// Ends the session, if nothing has ended it yet.
    pub(super) fn close(&mut self, rule: Rule) {
        self.inspection.close.get_or_insert(rule);
    }

    pub(super) fn finish(self) -> Inspection<'a> {
        let Findings { found, unlisted, .. } = self.findings;
        Inspection { found, unlisted, ..self.inspection }
    }
}
