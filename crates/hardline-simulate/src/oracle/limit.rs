//! The documented limits: planted messages that cannot be told from a server's own.
//!
//! Each limit is a predicate on what the server wrote and when. A planted message that none of them
//! excuses is a failure.

use std::time::Duration;

use super::transcript::{Told, Transcript};
use crate::reader::parse;

/// Time for which the relay holds back what a server says on its own after an answer.
pub const HOLD_BACK: Duration = Duration::from_millis(2);
/// Longest pause that the relay bridges while it reassembles a torn frame.
const JOIN_PAUSE: Duration = Duration::from_millis(250);
/// Longest time for which the relay reassembles a torn frame, pauses or not.
const JOIN_TIME: Duration = Duration::from_secs(5);
/// Time after a torn frame for which the relay suspects what a server says on its own.
const SUSPICION: Duration = Duration::from_secs(30);

/// A documented limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Limit {
    /// The message stands on a line of its own, nothing before it is torn, and no rest of an answer
    /// follows within the hold-back: these are the bytes of an honest server that speaks twice.
    ClosedAnswer,
    /// The same, and the message answers a pending request: such answers are not held back.
    ClosedPendingAnswer,
    /// The message answers a pending request, and a long pause separates it from the torn head.
    LatePendingAnswer,
    /// More time than the relay stays suspicious separates the message from the torn head.
    LongPause,
}

/// Returns the limit that excuses the delivery of the planted message with this mark.
pub(super) fn excuse(transcript: &Transcript, mark: &str, is_answer: bool) -> Option<Limit> {
    let (lines, planted) = transcript.lines_with(mark);
    let (before, rest) = lines.split_at_checked(planted?)?;
    let (planted, after) = rest.split_first()?;
    // An answer that reached the client was pending, or another oracle objects.
    if !is_whole_message(planted.text) {
        return None;
    }
    let is_same = |it: &&Told<'_>| it.output == planted.output && !it.text.trim_ascii().is_empty();
    let Some(head) = before.iter().rev().filter(is_same).find(|it| is_torn(it.text)) else {
        let closed = before.iter().rev().find(is_same);
        let tail = after.iter().filter(is_same).find(|it| !is_whole_message(it.text));
        return excuse_closed(transcript, closed, planted, tail, is_answer);
    };
    let gap = transcript.longest_gap(head.at, planted.at);
    let time = planted.at.saturating_sub(head.at);
    if time > SUSPICION {
        return Some(Limit::LongPause);
    }
    (is_answer && (gap > JOIN_PAUSE || time > JOIN_TIME)).then_some(Limit::LatePendingAnswer)
}

/// Judges a message that follows an answer which the document closed itself.
fn excuse_closed(
    transcript: &Transcript,
    closed: Option<&Told<'_>>,
    planted: &Told<'_>,
    tail: Option<&Told<'_>>,
    is_answer: bool,
) -> Option<Limit> {
    let (Some(closed), Some(tail)) = (closed, tail) else { return Some(Limit::ClosedAnswer) };
    if is_answer {
        return Some(Limit::ClosedPendingAnswer);
    }
    let is_apart = transcript.longest_gap(closed.at, planted.at) > HOLD_BACK
        || transcript.longest_gap(planted.at, tail.at) > HOLD_BACK;
    is_apart.then_some(Limit::ClosedAnswer)
}

/// Returns true if a line is one message, or a batch.
fn is_whole_message(line: &[u8]) -> bool {
    let Some((value, quirks)) = parse(line) else { return false };
    quirks.is_empty() && (value.is_message() || matches!(value, crate::reader::Json::Array(_)))
}

/// Returns true if a line begins an object or an array, behind noise or not, and does not end it.
fn is_torn(line: &[u8]) -> bool {
    let start = line.iter().position(|it| b"{[".contains(it));
    start.is_some() && !is_whole_message(line)
}
