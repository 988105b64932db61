//! Ends a line that the server has begun and does not end.
//!
//! A server that forgets the newline after an answer and waits for the next request would leave the
//! client waiting forever. So would a server that adds a byte now and then, such as a spinner. The
//! relay ends such a line after a bounded time.

use std::time::Duration;

use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::line::Line;
use hardline_wire::message::Message;

use super::Relay;

/// Time after which a line that is a whole message counts as ended, if only white space follows.
const MAX_QUIET_WHOLE: Duration = Duration::from_secs(2);
/// Time after which any other line counts as ended, unless it grows by [`MIN_GROWTH`].
const MAX_QUIET: Duration = Duration::from_secs(20);
/// Bytes by which a line must grow within [`MAX_QUIET`]. A server that writes an answer piece by piece
/// is faster, a spinner is slower.
const MIN_GROWTH: usize = 256;

/// Text that stands for the part of a line that the guard has read already.
const BEFORE: &[u8] = b"[rest of a line] ";

/// An unfinished line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unfinished {
    /// Length of the line without trailing white space.
    length: usize,
    /// Time at which the line got that long.
    since: Duration,
    /// Length of the line when it last had grown enough, and the time.
    grown: (usize, Duration),
    /// Set while the line ends with a closing bracket and the relay has not tried it as a message.
    may_be_whole: bool,
}

impl Unfinished {
    /// Creates the state for a line that has just begun. Returns `None` for a blank one.
    pub(super) fn new(line: &[u8], now: Duration) -> Option<Self> {
        let length = line.trim_ascii_end().len();
        let may_be_whole = matches!(line.trim_ascii_end().last()?, b'}' | b']');
        Some(Self { length, since: now, grown: (length, now), may_be_whole })
    }

    /// Returns the state after more bytes of the same line.
    pub(super) fn grow(self, line: &[u8], now: Duration) -> Option<Self> {
        let next = Self::new(line, now)?;
        // The framer keeps only the beginning of an overlong line, so its length says nothing.
        if next.length < self.length {
            return Some(next);
        }
        // White space is no progress, so blanks must not extend the wait.
        if next.length == self.length {
            return Some(self);
        }
        let has_grown = next.length - self.grown.0 >= MIN_GROWTH;
        Some(Self { grown: if has_grown { next.grown } else { self.grown }, ..next })
    }

    /// Returns the time at which the relay ends the line, or tries it as a message.
    pub(super) fn deadline(self) -> Duration {
        let quiet = if self.may_be_whole { MAX_QUIET_WHOLE } else { MAX_QUIET };
        (self.since + quiet).min(self.grown.1 + MAX_QUIET)
    }
}

impl Relay {
    /// Decides if the server's unfinished line counts as ended now, and marks it as ended if so.
    ///
    /// `line` is the line so far. A whole answer ends after two quiet seconds, any other line after
    /// twenty. Other whole messages wait for their newline: no caller waits for them, and more
    /// text may show that they are part of a log line. So does an answer after a torn message, which
    /// content may have written; the guard fails its request in the end.
    pub fn try_end_line(&mut self, line: &[u8], now: Duration) -> bool {
        let Some(unfinished) = &mut self.unfinished else { return false };
        let is_over = unfinished.grown.1 + MAX_QUIET <= now || unfinished.since + MAX_QUIET <= now;
        // The line may be long, and reading it for each chunk would cost too much.
        if !unfinished.may_be_whole && !is_over {
            return false;
        }
        // Only new bytes can change the result, so the line is not tried again without them.
        unfinished.may_be_whole = false;
        match Whole::read(line, &mut self.decoder) {
            Whole::Answer if self.guard.try_end_answer(line, now) => {}
            Whole::Answer | Whole::Other => {
                self.unfinished = None;
                return false;
            }
            Whole::Nothing if is_over => {
                self.guard.lose_answer(now);
                // The rest may come later, and must not be read as a message of its own.
                self.cut = Cut::Start;
            }
            Whole::Nothing => return false,
        }
        self.unfinished = None;
        true
    }
}

/// A line that the relay has ended, and of which more may come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Cut {
    /// The next line is a whole line of the server.
    #[default]
    None,
    /// The next line is the part that the relay has ended.
    Start,
    /// The next line is the rest of the ended line.
    Rest,
}

impl Cut {
    /// Handles the next line. If it is the rest of another line, returns its text behind a
    /// replacement for the part before it, so that the guard does not read it as a message.
    pub(super) fn take_rest(&mut self, line: &Line<'_>) -> Option<Vec<u8>> {
        let before = std::mem::take(self);
        match before {
            Self::None => None,
            Self::Start => {
                *self = Self::Rest;
                None
            }
            Self::Rest if line.is_blank() => None,
            Self::Rest => Some([BEFORE, line.whole()?].concat()),
        }
    }
}

/// The contents of a line that has not ended.
enum Whole {
    /// An answer, or a batch with one.
    Answer,
    /// Another message, or a batch of them.
    Other,
    /// No message, or a part of one.
    Nothing,
}

impl Whole {
    fn read(line: &[u8], decoder: &mut Decoder) -> Self {
        let is_answer =
            |message: &Message<'_>| matches!(message, Message::Response(_) | Message::Error(_));
        let has_answer = match decoder.decode(line) {
            Err(_) => return Self::Nothing,
            Ok(Frame::Message(message, _)) => is_answer(&message),
            Ok(Frame::Batch(batch)) => {
                let mut has_answer = false;
                for element in batch.elements() {
                    // A broken element may be an answer.
                    let Ok((message, _)) = decoder.decode_element(element) else {
                        return Self::Nothing;
                    };
                    has_answer |= is_answer(&message);
                }
                has_answer
            }
        };
        if has_answer { Self::Answer } else { Self::Other }
    }
}
