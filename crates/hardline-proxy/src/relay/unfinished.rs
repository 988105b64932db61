//! A line that the server has begun and does not end.
//!
//! A server that forgets the newline behind an answer, and waits for the next request, would leave the
//! client waiting for ever. After a while without bytes its line counts as ended.

use std::time::Duration;

use super::Relay;

/// Quiet time after which a line that is a whole message counts as ended.
const MAX_QUIET_WHOLE: Duration = Duration::from_secs(2);
/// Quiet time after which any other line counts as ended.
const MAX_QUIET: Duration = Duration::from_secs(20);

/// An unfinished line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unfinished {
    since: Duration,
    /// Whether it ends with a closing bracket, and is still to be tried as a whole message.
    may_be_whole: bool,
}

impl Unfinished {
    /// Takes note of an unfinished line, unless it is empty.
    pub(super) fn new(line: &[u8], now: Duration) -> Option<Self> {
        let last = line.iter().rev().find(|byte| !byte.is_ascii_whitespace())?;
        Some(Self { since: now, may_be_whole: matches!(last, b'}' | b']') })
    }

    /// Returns the time at which the line counts as ended, or is tried, if no bytes come before.
    pub(super) fn deadline(self) -> Duration {
        self.since + if self.may_be_whole { MAX_QUIET_WHOLE } else { MAX_QUIET }
    }
}

impl Relay {
    /// Decides whether the server's unfinished line counts as ended now.
    ///
    /// `line` is the line as far as it has come. A whole message is one after two seconds without
    /// bytes, anything else after twenty.
    pub fn ends_line(&mut self, line: &[u8], now: Duration) -> bool {
        let Some(unfinished) = &mut self.unfinished else { return false };
        // The line is read once: it may be long, and reading it for each chunk would cost too much.
        let is_whole = unfinished.may_be_whole && self.decoder.decode(line).is_ok();
        unfinished.may_be_whole = false;
        let is_ended = is_whole || unfinished.deadline() <= now;
        if is_ended {
            self.unfinished = None;
        }
        if is_ended && !is_whole {
            self.guard.lose_answer(now);
        }
        is_ended
    }
}
