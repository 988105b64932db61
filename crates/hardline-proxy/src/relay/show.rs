//! Reports each line with its verdict to the observer.

use hardline_guard::{Carries, Delivery, Direction, Inspection};
use hardline_wire::frame::Frame;
use hardline_wire::line::{Content, Line};

use super::{Relay, Sink};
use crate::notice::{CheckedLine, Notice};
use crate::verdict::Verdict;

impl Relay {
    /// Reports an inspected line.
    pub(super) fn show(
        &mut self,
        direction: Direction,
        line: &Line<'_>,
        inspection: &Inspection<'_>,
        sink: &mut impl Sink,
    ) {
        if !sink.wants_lines() || line.is_blank() {
            return;
        }
        let deliveries = &inspection.deliveries;
        let passed = deliveries.iter().find(|it| it.direction == direction && !it.is_reply());
        let verdict = match passed {
            Some(delivery) if delivery.is_unchanged() => Verdict::Passed,
            Some(_) => Verdict::Sanitized,
            None if deliveries.iter().any(Delivery::is_reply) => Verdict::Answered,
            None => Verdict::Blocked,
        };
        // The guard has decoded most lines already; only the others are decoded again.
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
        let asked = inspection.asked.as_ref();
        sink.notify(&Notice::Line(CheckedLine { direction, raw, length, message, verdict, asked }));
    }

    /// Reports a line that the guard did not inspect.
    pub(super) fn show_as(
        &mut self,
        direction: Direction,
        line: &Line<'_>,
        verdict: Verdict,
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
        sink.notify(&Notice::Line(CheckedLine {
            direction,
            raw,
            length,
            message,
            verdict,
            asked: None,
        }));
    }
}

/// Returns the stored bytes of a line and its full length.
fn raw<'a>(line: &Line<'a>) -> (&'a [u8], u64) {
    match line.content {
        Content::Whole(text) => (text, u64::try_from(text.len()).unwrap_or(u64::MAX)),
        Content::Overlong(overlong) => (overlong.prefix, overlong.length),
    }
}
