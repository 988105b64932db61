//! Joins messages of the server that raw newlines tore apart, in a recorded session.
//!
//! A [`Joiner`] holds lines and joins them, as in a live session. A recording has the time of each
//! line and the client's requests, so a hold ends as it did live. A transcript has neither: every
//! answer counts as expected, and a hold ends when a message is complete, when it exceeds the frame
//! size, or at the end of the file. A hold without a result was a line cut short, which says
//! nothing about the lines after it. Those are then judged as if there had been no hold.
//!
//! Invariants: every line is judged, alone or as part of a message; the stored lines are not longer
//! than a frame.

use std::collections::HashSet;
use std::time::Duration;

use hardline_guard::join::{JoinEvent, Joiner, MAX_HOLD, Pending, Taken};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::Line;
use hardline_wire::message::Message;

use super::Stop;
use super::held::Held;
use super::line_scanner::{JudgedLine, LineScanner, is_about_frame};

/// Limit on remembered requests; answers to others are found as well.
const MAX_PENDING: usize = 1 << 16;

pub(super) struct Torn {
    joiner: Joiner,
    pending: Requests,
    /// Lines that the joiner holds.
    held: Held,
    limits: Limits,
    /// Lead of the joiner's clock, from holds that were ended early.
    ahead: Duration,
}

/// Requests of the client without an answer.
enum Requests {
    /// Unknown: any id may be pending.
    Any,
    These(HashSet<Id<'static>>),
}

impl Pending for Requests {
    fn is_pending(&self, id: &Id<'_>) -> bool {
        match self {
            // A recording has the requests, so its answers are known; a transcript may begin anywhere.
            Self::Any => true,
            Self::These(ids) => ids.contains(&id.clone().into_owned()),
        }
    }
}

/// End of a hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// The lines are one message.
    Whole,
    /// The lines are not a message.
    RunOut,
}

impl Torn {
    /// For lines without times and without the client's requests.
    pub(super) fn untimed(limits: &Limits) -> Self {
        Self::new(limits, Requests::Any)
    }

    /// For lines with times, and with the client's requests.
    pub(super) fn timed(limits: &Limits) -> Self {
        Self::new(limits, Requests::These(HashSet::new()))
    }

    fn new(limits: &Limits, pending: Requests) -> Self {
        Self {
            joiner: Joiner::new(limits),
            pending,
            held: Held::default(),
            limits: limits.clone(),
            ahead: Duration::ZERO,
        }
    }

    /// Handles a line of the server that was already judged on its own.
    pub(super) fn take(
        &mut self,
        line: &Line<'_>,
        judged: JudgedLine<'_>,
        now: Duration,
        scanner: &mut LineScanner<'_, '_>,
    ) -> Result<(), Stop> {
        let now = now + self.ahead;
        self.handle_timeout(now, scanner)?;
        // A line that is a message cannot begin another one.
        if !self.joiner.is_holding() && !judged.is_refused() {
            return scanner.report(&judged);
        }
        let was_holding = self.joiner.is_holding();
        if self.joiner.handle_line(line, now, &self.pending) == Taken::Pass {
            // The opening brackets did not begin a message.
            if was_holding {
                self.settle(End::RunOut, scanner)?;
            }
            return scanner.report(&judged);
        }
        self.held.push(line, judged);
        if !self.joiner.is_holding() {
            return self.settle(End::Whole, scanner);
        }
        // No message is longer than a frame, so the hold is ended by its deadline.
        if self.held.is_over(&self.limits) {
            self.ahead += MAX_HOLD;
            return self.handle_timeout(now + MAX_HOLD, scanner);
        }
        Ok(())
    }

    /// Ends the stream.
    pub(super) fn finish(&mut self, scanner: &mut LineScanner<'_, '_>) -> Result<(), Stop> {
        let was_holding = self.joiner.is_holding();
        self.joiner.finish(&self.pending);
        if was_holding { self.settle(End::RunOut, scanner) } else { Ok(()) }
    }

    /// Remembers a request of the client.
    pub(super) fn note_request(&mut self, message: &Message<'_>) {
        if let (Requests::These(ids), Message::Request(request)) = (&mut self.pending, message)
            // A hostile recording must not grow the set without a bound.
            && ids.len() < MAX_PENDING
        {
            ids.insert(request.id.clone().into_owned());
        }
    }

    /// Removes the request of an answer, unless lines are held.
    pub(super) fn note_answer(&mut self, message: &Message<'_>) {
        let is_answer = matches!(message, Message::Response(_) | Message::Error(_));
        // While lines are held, the answer may be part of what is joined.
        if let Some(id) = message.id().filter(|_| is_answer && !self.joiner.is_holding()) {
            self.joiner.settle(id);
            self.forget(id);
        }
    }

    fn forget(&mut self, id: &Id<'_>) {
        if let Requests::These(ids) = &mut self.pending {
            ids.remove(&id.clone().into_owned());
        }
    }

    fn handle_timeout(
        &mut self,
        now: Duration,
        scanner: &mut LineScanner<'_, '_>,
    ) -> Result<(), Stop> {
        let was_holding = self.joiner.is_holding();
        self.joiner.handle_timeout(now, &self.pending);
        if was_holding && !self.joiner.is_holding() {
            return self.settle(End::RunOut, scanner);
        }
        // Only the end of a hold is reported.
        while self.joiner.poll_event().is_some() {}
        Ok(())
    }

    /// Reports the result of a hold.
    fn settle(&mut self, end: End, scanner: &mut LineScanner<'_, '_>) -> Result<(), Stop> {
        let held = std::mem::take(&mut self.held);
        // In a transcript, an unfinished hold proves nothing about the server.
        let is_evidence = end == End::Whole || matches!(self.pending, Requests::These(_));
        let mut joined = None;
        while let Some(event) = self.joiner.poll_event() {
            match event {
                JoinEvent::Found { finding, .. } if is_evidence => {
                    held.report(&finding, scanner)?;
                }
                JoinEvent::Joined(message) => joined = Some(message),
                _ => {}
            }
        }
        if let Some(joined) = joined {
            self.forget(&joined.id);
            return held.report_joined(&joined.text, scanner);
        }
        // Findings about the bytes of single lines were replaced by one about all of them.
        held.report_each(scanner, |finding| !is_evidence || !is_about_frame(finding))
    }
}
