//! Messages that a server sends right after another one, held back for a moment.
//!
//! A server that escapes nothing can be made to end its own message: content such as `a"}]}}`, a newline
//! and a message arrive as two sound lines. What follows gives it away. The rest of the real message
//! (`b"}]}}`) is no message, and ends with brackets that nothing on its line opened. So a message that
//! the server sends on its own right after another one waits until the server has been quiet for a
//! moment. If such a rest comes first, the guard drops what waits.
//!
//! Answers to pending requests do not wait. They release what came before them, so that the order stays
//! the same.
//!
//! Invariants: no more than [`MAX_HELD`] messages and `max_queue_bytes` wait; with more, all are
//! released.

use std::time::Duration;

use hardline_wire::limits::Limits;
use memchr::memrchr_iter;

use crate::frame::brackets;

/// Time after a message in which a message of the server's own is held back.
const AFTER_MESSAGE: Duration = Duration::from_millis(100);
/// Time after a message in which the rest of one is recognized.
const MAX_REST_WAIT: Duration = Duration::from_secs(30);
/// Quiet time after which messages are released although the server has begun a line that may be the
/// rest of another one.
const MAX_MID_REST: Duration = Duration::from_secs(25);
/// Most messages that are held back at once.
const MAX_HELD: usize = 256;
/// Bytes at the end of a line that are searched for the end of a message.
const MAX_REST_BYTES: usize = 1024;
/// Fewest closing brackets that make a line the rest of a message. Servers print objects over several
/// lines, so one bracket alone is an ordinary log line.
const MIN_CLOSING: usize = 2;
/// Quotes at the end of a line that are tried as the end of the content.
const MAX_QUOTES: usize = 32;
/// Brackets that the rest of a message closes at least: its own, and those of its result or its
/// parameters.
const MIN_CLOSED: i32 = 2;

/// The messages that are held back.
#[derive(Debug)]
pub(super) struct Holdback {
    /// Quiet time after which messages are released. Zero holds nothing back.
    quiet: Duration,
    max_bytes: usize,
    /// Time of the last message that content may have ended.
    last: Option<Duration>,
    /// Whether the server has sent a message on its own since.
    has_followed: bool,
    /// Whether the last message stood on several lines. Then so does the rest of it.
    is_on_lines: bool,
    /// Time of the last torn line.
    torn: Option<Duration>,
    /// Whether the server has begun a line that may be the rest of a message.
    is_mid_rest: bool,
    held: Vec<Vec<u8>>,
    bytes: usize,
    release_at: Duration,
}

impl Holdback {
    pub(super) fn new(quiet: Duration, limits: &Limits) -> Self {
        Self {
            quiet,
            max_bytes: limits.max_queue_bytes(),
            last: None,
            has_followed: false,
            is_on_lines: false,
            torn: None,
            is_mid_rest: false,
            held: Vec::new(),
            bytes: 0,
            release_at: Duration::ZERO,
        }
    }

    /// Takes note of a message that does not wait. `is_answer` says that it is an answer.
    pub(super) fn note_message(&mut self, is_answer: bool, now: Duration) {
        self.has_followed = self.last.is_some() && !is_answer;
        (self.last, self.is_on_lines) = (Some(now), false);
    }

    /// Takes note of a message that is dropped in any case.
    pub(super) fn note_other(&mut self, now: Duration) {
        self.last = Some(now);
    }

    /// Takes note of a torn line. For a moment answers wait as well: content may have written them.
    pub(super) fn note_torn(&mut self, now: Duration) {
        self.note_message(true, now);
        self.torn = Some(now);
    }

    /// Returns true if an answer to a pending request has to wait. It does while the server
    /// `is_suspect`, so that a second answer with the same id can show that content wrote one of them.
    pub(super) fn is_due_for_answers(&self, is_suspect: bool, now: Duration) -> bool {
        let is_after_torn = self.torn.is_some_and(|at| now <= at + AFTER_MESSAGE);
        !self.quiet.is_zero() && (is_suspect || is_after_torn)
    }

    /// Takes note of a message that was put together from several lines.
    pub(super) fn note_joined(&mut self, now: Duration) {
        self.note_message(true, now);
        self.is_on_lines = true;
    }

    /// Whether a message that the server sends on its own has to wait.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        let is_after_message = self.last.is_some_and(|at| now <= at + AFTER_MESSAGE);
        !self.quiet.is_zero() && (is_after_message || !self.held.is_empty())
    }

    /// Whether messages wait.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Holds a message back. Returns whether there was room.
    pub(super) fn push(&mut self, frame: &[u8], now: Duration) -> bool {
        let bytes = self.bytes + frame.len();
        if self.held.len() == MAX_HELD || bytes > self.max_bytes {
            return false;
        }
        self.bytes = bytes;
        self.has_followed = true;
        self.held.push(frame.to_vec());
        self.hear(now);
        true
    }

    /// Takes note that bytes of the server came.
    fn hear(&mut self, now: Duration) {
        let quiet = if self.is_mid_rest { MAX_MID_REST } else { self.quiet };
        self.release_at = now + quiet;
    }

    /// Takes note of a line that has begun and not ended.
    pub(super) fn hear_bytes(&mut self, unfinished: &[u8], now: Duration) {
        // The line is read only while something depends on it: it may be long.
        self.is_mid_rest = self.is_holding() && may_become_rest(unfinished);
        self.hear(now);
    }

    /// Returns true if messages wait and the server has begun a line that may be the rest of another.
    pub(super) fn is_mid_rest(&self) -> bool {
        self.is_mid_rest && self.is_holding()
    }

    /// Returns the time at which messages are released, if some wait.
    pub(super) fn release_at(&self) -> Option<Duration> {
        self.is_holding().then_some(self.release_at)
    }

    /// Takes all messages that wait.
    pub(super) fn take(&mut self) -> Vec<Vec<u8>> {
        self.bytes = 0;
        std::mem::take(&mut self.held)
    }

    /// Reads a line that is no message. Returns whether it is the rest of the last message.
    pub(super) fn ends_message(&self, text: &[u8], now: Duration) -> bool {
        let is_recent = self.last.is_some_and(|at| now <= at + MAX_REST_WAIT);
        let least = if self.is_on_lines { 1 } else { MIN_CLOSING };
        is_recent && (is_rest(text) || is_closing(text, least))
    }

    /// Whether the server has sent a message on its own since the last one that content may have ended.
    pub(super) fn has_followed(&self) -> bool {
        self.has_followed
    }
}

/// Returns true if a line only closes strings, objects and arrays, with `least` bytes or more. One quote
/// is enough: no log line consists of it.
fn is_closing(text: &[u8], least: usize) -> bool {
    let text = text.trim_ascii();
    let is_closing = |byte: &u8| matches!(byte, b'"' | b'}' | b']' | b',' | b' ');
    let has_enough = text.len() >= least || text.contains(&b'"');
    has_enough && !text.is_empty() && text.iter().all(is_closing)
}

/// Returns true if a line that has not ended may become the rest of a message.
fn may_become_rest(unfinished: &[u8]) -> bool {
    let first = unfinished.trim_ascii_start().first();
    // No message and no log line begins like that.
    let begins_inside = matches!(first, Some(b'"' | b'}' | b']' | b',' | b':'));
    let start = unfinished.len().saturating_sub(MAX_REST_BYTES);
    let end = unfinished.get(start..).unwrap_or_default();
    let count = |bytes: [u8; 2]| end.iter().filter(|byte| bytes.contains(byte)).count();
    begins_inside || end.contains(&b'"') && count([b'}', b']']) > count([b'{', b'['])
}

/// Whether a line looks like the rest of a message: text, a quote that ends it, and the brackets that
/// close the message.
fn is_rest(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let start = text.len().saturating_sub(MAX_REST_BYTES);
    let Some(end) = text.get(start..) else { return false };
    if !matches!(end.last(), Some(b'}' | b']')) {
        return false;
    }
    let closes_message = |quote: usize| {
        let behind = end.get(quote + 1..).unwrap_or_default();
        brackets(behind, true).is_some_and(|depth| depth <= -MIN_CLOSED)
    };
    // A log line with JSON in it closes what it has opened.
    memrchr_iter(b'"', end).take(MAX_QUOTES).any(closes_message) && brackets(text, false) != Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_rest_of_a_message() {
        for rest in [
            r#"b"}]}}"#,
            r#""}]}}"#,
            r#"he said "no" and left"}],"isError":false}}"#,
            r#"odd " quote"}}"#,
            r#"text"},"id":3}"#,
            r#"{"a":""}]}}]"#,
            r#"x"}],"structuredContent":{"a":[1,2.5e3]},"_meta":null}}"#,
        ] {
            assert!(is_rest(rest.as_bytes()), "{rest}");
        }
    }

    #[test]
    fn log_lines_are_no_rest() {
        for line in [
            "",
            "done",
            "}",
            r#"{"level":"info","data":{"a":"b"}}"#,
            r#"INFO got {"a":{"b":"c"}} in 3 ms"#,
            r#"INFO got {"a":{"b":"c"}}"#,
            r#"  "name": "value" }"#,
            r#"if (x == "a") { y("b"); }"#,
        ] {
            assert!(!is_rest(line.as_bytes()), "{line}");
        }
    }
}
