//! Lines, told to whoever keeps books on them.

use std::borrow::Cow;

use hardline_guard::{Carries, Delivery, Direction, Inspection};
use hardline_wire::frame::Frame;
use hardline_wire::line::{Content, Line};

use super::{Relay, Sink};
use crate::audit::Fate;
use crate::note::{Note, Seen};

impl Relay {
    /// Tells of a line and what became of it.
    pub(super) fn show(
        &mut self,
        direction: Direction,
        line: &Line<'_>,
        verdict: &Inspection<'_>,
        sink: &mut impl Sink,
    ) {
        if !sink.wants_lines() || line.is_blank() {
            return;
        }
        let is_own =
            |it: &Delivery<'_>| matches!(it.carries, Carries::Reply(_) | Carries::Complaint);
        let mut deliveries = verdict.deliveries.iter();
        let passed = deliveries.clone().find(|it| it.direction == direction && !is_own(it));
        let fate = match passed {
            Some(Delivery { frame, .. }) if matches!(frame.get(), Cow::Borrowed(_)) => Fate::Passed,
            Some(_) => Fate::Sanitized,
            None if deliveries.any(is_own) => Fate::Answered,
            None => Fate::Blocked,
        };
        let decoded;
        let message = match passed.map(|it| &it.carries) {
            Some(Carries::Message(message)) => Some(message),
            Some(Carries::Batch(_)) => None,
            _ => {
                decoded = line.whole().and_then(|text| self.decoder.decode(text).ok());
                match &decoded {
                    Some(Frame::Message(message, _)) => Some(message),
                    _ => None,
                }
            }
        };
        let (raw, length) = raw(line);
        let asked = verdict.answered.as_ref();
        sink.note(&Note::Line(Seen { direction, raw, length, message, fate, asked }));
    }

    /// Tells of a line that was not judged.
    pub(super) fn show_as(
        &mut self,
        direction: Direction,
        line: &Line<'_>,
        fate: Fate,
        sink: &mut impl Sink,
    ) {
        if !sink.wants_lines() || line.is_blank() {
            return;
        }
        let decoded = line.whole().and_then(|text| self.decoder.decode(text).ok());
        let message = match &decoded {
            Some(Frame::Message(message, _)) => Some(message),
            _ => None,
        };
        let (raw, length) = raw(line);
        sink.note(&Note::Line(Seen { direction, raw, length, message, fate, asked: None }));
    }
}

/// What there is of a line, and how long it is.
fn raw<'a>(line: &Line<'a>) -> (&'a [u8], u64) {
    match line.content {
        Content::Whole(text) => (text, u64::try_from(text.len()).unwrap_or(u64::MAX)),
        Content::Overlong(overlong) => (overlong.prefix, overlong.length),
    }
}
