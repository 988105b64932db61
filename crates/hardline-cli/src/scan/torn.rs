//! Messages of the server that raw newlines tore apart, in what is left of a session.
//!
//! A [`Joiner`] holds lines back and puts them together, as it would in a session. A recording has the
//! time of each line, and the client's lines tell what was waited for; so a hold ends there as it would
//! have. A transcript has neither: every answer counts as waited for, and a hold ends when a message is
//! whole, when it is over the size of a frame, or with the file. One that came to nothing was a line cut
//! short, and says nothing of the lines after it: those are then judged as if it had not been.
//!
//! Invariants: no line goes unjudged, alone or as part of a message; no more lines are kept than a frame
//! may be long.

use std::collections::HashSet;
use std::time::Duration;

use hardline_guard::join::{JoinEvent, Joiner, MAX_HOLD, Pending, Taken};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::Line;
use hardline_wire::message::Message;

use super::Stop;
use super::desk::{Desk, Heard, is_about_frame};
use super::held::Held;

/// Most requests that are remembered as waiting; what answers to others is found all the same.
const MAX_PENDING: usize = 1 << 16;

pub(super) struct Torn {
    joiner: Joiner,
    pending: Requests,
    /// The lines that the joiner holds.
    held: Held,
    limits: Limits,
    /// By how much the joiner's time is ahead, as holds were ended early.
    ahead: Duration,
}

/// Which requests of the client have no answer yet.
enum Requests {
    /// Nobody knows: any may.
    Any,
    These(HashSet<Id<'static>>),
}

impl Pending for Requests {
    fn is_pending(&self, id: &Id<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::These(ids) => ids.contains(&id.clone().into_owned()),
        }
    }
}

/// How a hold ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// The lines are one message.
    Whole,
    /// Nothing came of it.
    RunOut,
}

impl Torn {
    /// For lines of which nobody knows when they came and what was waited for.
    pub(super) fn untimed(limits: &Limits) -> Self {
        Self::new(limits, Requests::Any)
    }

    /// For lines with their time, and the client's beside them.
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

    /// Takes a line of the server, which was judged on its own.
    pub(super) fn take(
        &mut self,
        line: &Line<'_>,
        heard: Heard<'_>,
        now: Duration,
        desk: &mut Desk<'_, '_>,
    ) -> Result<(), Stop> {
        let now = now + self.ahead;
        self.handle_timeout(now, desk)?;
        // A line that is a message is no beginning of one.
        if !self.joiner.is_holding() && !heard.is_refused() {
            return desk.tell(&heard);
        }
        let was_holding = self.joiner.is_holding();
        if self.joiner.handle_line(line, now, &self.pending) == Taken::Pass {
            // Opening brackets turned out to begin no message.
            if was_holding {
                self.settle(End::RunOut, desk)?;
            }
            return desk.tell(&heard);
        }
        self.held.push(line, heard);
        if !self.joiner.is_holding() {
            return self.settle(End::Whole, desk);
        }
        // Nothing comes of more than a frame.
        if self.held.is_over(&self.limits) {
            self.ahead += MAX_HOLD;
            return self.handle_timeout(now + MAX_HOLD, desk);
        }
        Ok(())
    }

    /// Ends the stream.
    pub(super) fn finish(&mut self, desk: &mut Desk<'_, '_>) -> Result<(), Stop> {
        let was_holding = self.joiner.is_holding();
        self.joiner.finish(&self.pending);
        if was_holding { self.settle(End::RunOut, desk) } else { Ok(()) }
    }

    /// Takes note of a message of the client.
    pub(super) fn note_request(&mut self, message: &Message<'_>) {
        if let (Requests::These(ids), Message::Request(request)) = (&mut self.pending, message)
            && ids.len() < MAX_PENDING
        {
            ids.insert(request.id.clone().into_owned());
        }
    }

    /// Takes note of a message of the server, unless it is held.
    pub(super) fn note_answer(&mut self, message: &Message<'_>) {
        let is_answer = matches!(message, Message::Response(_) | Message::Error(_));
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

    fn handle_timeout(&mut self, now: Duration, desk: &mut Desk<'_, '_>) -> Result<(), Stop> {
        let was_holding = self.joiner.is_holding();
        self.joiner.handle_timeout(now, &self.pending);
        if was_holding && !self.joiner.is_holding() {
            return self.settle(End::RunOut, desk);
        }
        while self.joiner.poll_event().is_some() {}
        Ok(())
    }

    /// Reports what came of the lines that were held.
    fn settle(&mut self, end: End, desk: &mut Desk<'_, '_>) -> Result<(), Stop> {
        let held = std::mem::take(&mut self.held);
        let is_evidence = end == End::Whole || matches!(self.pending, Requests::These(_));
        let mut joined = None;
        while let Some(event) = self.joiner.poll_event() {
            match event {
                JoinEvent::Found { finding, .. } if is_evidence => held.tell(&finding, desk)?,
                JoinEvent::Joined(message) => joined = Some(message),
                _ => {}
            }
        }
        if let Some(joined) = joined {
            self.forget(&joined.id);
            return held.tell_joined(&joined.text, desk);
        }
        // What the bytes of the lines are was said of all of them together.
        held.tell_each(desk, |finding| !is_evidence || !is_about_frame(finding))
    }
}
