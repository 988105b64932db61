//! Holds back messages that a server sends right after another one, for a moment.
//!
//! A server that escapes nothing can be made to end its own message: content such as `a"}]}}`, a newline
//! and a message arrive as two sound lines. What follows gives it away. The rest of the real message
//! (`b"}]}}`) is no message, and ends with brackets that nothing on its line opened. So a message that
//! the server sends on its own right after another one waits until the server has been quiet for a
//! moment. If such a rest comes first, the guard drops what waits.
//!
//! Answers to pending requests do not wait. They release the notifications that came before them, so
//! that the order stays the same. Requests go on waiting.
//!
//! Invariants: no more than [`MAX_HELD`] messages and `max_queue_bytes` wait; with more, all are
//! released.

use std::time::Duration;

use hardline_wire::json::{Checker, ends_in_string};
use hardline_wire::limits::Limits;
use memchr::{memchr2_iter, memrchr_iter};

use crate::frame::brackets;

/// Time after a message in which a message of the server's own is held back.
const AFTER_MESSAGE: Duration = Duration::from_millis(100);
/// Time after a message in which the rest of one is recognized.
const MAX_REST_WAIT: Duration = Duration::from_secs(30);
/// Quiet time after which messages are released although the server has begun a line that may be the
/// rest of another one.
const MAX_MID_REST: Duration = Duration::from_secs(25);
/// Time for which a request waits for the end of any other line that the server has begun. The end
/// may show that the line is the rest of a message.
const MAX_MID_LINE: Duration = Duration::from_secs(1);
/// Limit on the messages that are held back at once.
const MAX_HELD: usize = 4096;
/// Bytes at the end of a line that are searched for the end of a message.
const MAX_REST_BYTES: usize = 1024;
/// Minimum of closing brackets that make a line the rest of a message. Servers print objects over several
/// lines, so one bracket alone is an ordinary log line.
const MIN_CLOSING: usize = 2;
/// Limit on the quotes at the end of a line that are tried as the end of the content.
const MAX_QUOTES: usize = 32;
/// Limit on the brackets of a line that are tried as the start of a JSON value.
const MAX_STARTS: usize = 8;
/// Limit on the bytes at the end of a message that are compared with the end of a later line.
const MAX_CLOSING: usize = 16;
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
    /// Set if the server has sent a message on its own since.
    has_followed: bool,
    /// Set if the last message stood on several lines. Then so does the rest of it.
    is_on_lines: bool,
    /// The bytes that close the last message.
    closing: Closing,
    /// Time of the last torn line.
    torn: Option<Duration>,
    /// Set if the server has begun a line that may be the rest of a message.
    is_mid_rest: bool,
    /// True if a request waits and the server has begun any line.
    is_mid_line: bool,
    /// Time since which a request waits.
    request_since: Option<Duration>,
    held: Vec<Vec<u8>>,
    /// True if one of them was written over several lines for people to read.
    has_pretty: bool,
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
            closing: Closing::default(),
            torn: None,
            is_mid_rest: false,
            is_mid_line: false,
            request_since: None,
            held: Vec::new(),
            has_pretty: false,
            bytes: 0,
            release_at: Duration::ZERO,
        }
    }

    /// Records a message that does not wait.
    pub(super) fn note_message(&mut self, is_answer: bool, text: &[u8], now: Duration) {
        self.has_followed = self.is_holding() || self.last.is_some() && !is_answer;
        (self.last, self.is_on_lines) = (Some(now), false);
        self.closing = Closing::of(text);
    }

    /// Records a message that is dropped in any case.
    pub(super) fn note_other(&mut self, now: Duration) {
        self.last = Some(now);
    }

    /// Records a torn line. For a moment answers wait as well: content may have written them.
    pub(super) fn note_torn(&mut self, now: Duration) {
        self.note_message(true, b"", now);
        self.torn = Some(now);
    }

    /// Returns true if an answer to a pending request has to wait. It does while the server
    /// `is_suspect`, so that a second answer with the same id can show that content wrote one of them.
    pub(super) fn is_due_for_answers(&self, is_suspect: bool, now: Duration) -> bool {
        let is_after_torn = self.torn.is_some_and(|at| now <= at + AFTER_MESSAGE);
        !self.quiet.is_zero() && (is_suspect || is_after_torn)
    }

    /// Records a joined message.
    pub(super) fn note_joined(&mut self, now: Duration) {
        self.note_message(true, b"", now);
        self.is_on_lines = true;
    }

    /// Returns true if a message that the server sends on its own has to wait.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        let is_after_message = self.last.is_some_and(|at| now <= at + AFTER_MESSAGE);
        !self.quiet.is_zero() && (is_after_message || !self.held.is_empty())
    }

    /// Returns true if a server's request has to wait. It does at any time: content may have turned a
    /// notification into a request, and the rest of the notification shows it.
    pub(super) fn is_due_for_requests(&self) -> bool {
        !self.quiet.is_zero()
    }

    /// Returns true if a message of the server may be the rest of the last one, with a start that content
    /// has written: it ends with the same brackets.
    pub(super) fn may_end_message(&self, text: &[u8], now: Duration) -> bool {
        self.is_due(now) && self.closing.ends(text)
    }

    /// Returns true if messages wait.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Holds a message back. Returns false if there is no room.
    pub(super) fn push(&mut self, frame: &[u8], now: Duration) -> bool {
        let bytes = self.bytes + frame.len();
        if self.held.len() == MAX_HELD || bytes > self.max_bytes {
            return false;
        }
        if self.held.is_empty() {
            self.request_since = None;
        }
        self.bytes = bytes;
        self.has_followed = true;
        // Content may have ended this message as well, so the rest of it counts.
        self.last = Some(now);
        self.held.push(frame.to_vec());
        self.hear(now);
        true
    }

    /// Holds an answer back that a server has written over several lines. Returns false without room,
    /// or if nothing is held back.
    pub(super) fn push_pretty(&mut self, frame: &[u8], now: Duration) -> bool {
        let is_held = !self.quiet.is_zero() && self.push(frame, now);
        self.has_pretty |= is_held;
        is_held
    }

    /// Returns true if such an answer waits. A log line right after it shows that both are printed text.
    pub(super) fn has_pretty(&self) -> bool {
        self.has_pretty
    }

    /// Restarts the quiet time, because bytes of the server arrived.
    fn hear(&mut self, now: Duration) {
        let quiet = if self.is_mid_rest { MAX_MID_REST } else { self.quiet };
        self.release_at = now + quiet;
    }

    /// Records an incomplete line.
    pub(super) fn hear_bytes(&mut self, unfinished: &[u8], now: Duration) {
        // The line may be long, so it is read only while messages wait.
        self.is_mid_rest = self.is_holding() && may_become_rest(unfinished);
        self.is_mid_line = self.request_since.is_some() && !unfinished.trim_ascii().is_empty();
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

    /// Records that a request was held back. It also waits for the end of a line that has begun.
    pub(super) fn note_request(&mut self, now: Duration) {
        self.request_since.get_or_insert(now);
    }

    /// Returns true if requests have to wait for the end of a line that the server has begun.
    pub(super) fn waits_for_line(&self, now: Duration) -> bool {
        let is_early = self.request_since.is_some_and(|since| now < since + MAX_MID_LINE);
        self.is_mid_line && is_early
    }

    /// Waits for the end of the line that the server has begun.
    pub(super) fn wait_for_line(&mut self) {
        if let Some(since) = self.request_since {
            self.release_at = since + MAX_MID_LINE;
        }
    }

    /// Lets a request that was just taken wait on.
    pub(super) fn put_back(&mut self, frame: Vec<u8>) {
        self.bytes += frame.len();
        self.held.push(frame);
    }

    /// Takes all messages that wait.
    pub(super) fn take(&mut self) -> Vec<Vec<u8>> {
        self.bytes = 0;
        self.has_pretty = false;
        std::mem::take(&mut self.held)
    }

    /// Holds messages back that were taken and have to wait on. `has_pretty` is what
    /// [`has_pretty`](Self::has_pretty) returned before.
    pub(super) fn restore(&mut self, held: Vec<Vec<u8>>, has_pretty: bool, now: Duration) {
        self.bytes = held.iter().map(Vec::len).sum();
        self.has_pretty = has_pretty && !held.is_empty();
        self.held = held;
        self.hear(now);
    }

    /// Reads a line that is no message. Returns true if it is the rest of the last message.
    ///
    /// While messages wait, a line that ends with the same brackets as the last message counts as well:
    /// content may have written the start of a log line for the rest to end.
    pub(super) fn ends_message(&self, text: &[u8], limits: &Limits, now: Duration) -> bool {
        let is_recent = self.last.is_some_and(|at| now <= at + MAX_REST_WAIT);
        let least = if self.is_on_lines { 1 } else { MIN_CLOSING };
        let is_likely = || self.is_holding() && (self.closing.ends(text) || ends_string(text));
        is_recent && (is_rest(text, limits) || is_closing(text, least) || is_likely())
    }

    /// Returns true if the server has sent a message on its own since the last one that content may
    /// have ended.
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

/// Returns true if a line looks like the rest of a message: text, a quote that ends it, and the brackets
/// that close the message.
fn is_rest(text: &[u8], limits: &Limits) -> bool {
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
    let has_end = memrchr_iter(b'"', end).take(MAX_QUOTES).any(closes_message);
    has_end && !ends_with_json(text, limits)
}

/// Returns true if a line makes sense only from the middle of a string on: read from its start it
/// ends inside of a string, and behind one of its quotes it closes a bracket that it has not opened.
/// It may be the rest of an object of one level, such as a log line.
fn ends_string(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let start = text.len().saturating_sub(MAX_REST_BYTES);
    let end = text.get(start..).unwrap_or_default();
    let closes = |quote: usize| {
        brackets(end.get(quote + 1..).unwrap_or_default(), true).is_some_and(|depth| depth < 0)
    };
    let is_closed = matches!(end.last(), Some(b'}' | b']'));
    is_closed && ends_in_string(text) && memrchr_iter(b'"', end).take(MAX_QUOTES).any(closes)
}

/// Returns true if a line ends with a whole JSON value, as a log line does.
fn ends_with_json(text: &[u8], limits: &Limits) -> bool {
    if brackets(text, false) != Some(0) {
        return false;
    }
    let mut checker = Checker::new(limits);
    let starts = memchr2_iter(b'{', b'[', text).take(MAX_STARTS);
    starts.into_iter().any(|at| text.get(at..).is_some_and(|it| checker.check(it).is_ok()))
}

/// The quotes and brackets at the end of a message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Closing {
    bytes: [u8; MAX_CLOSING],
    length: usize,
}

impl Closing {
    fn of(text: &[u8]) -> Self {
        let mut closing = Self::default();
        let is_closing = |byte: &&u8| matches!(byte, b'"' | b'}' | b']');
        let run = text.trim_ascii_end().iter().rev().take_while(is_closing);
        for (slot, byte) in closing.bytes.iter_mut().zip(run) {
            *slot = *byte;
            closing.length += 1;
        }
        closing
    }

    /// Returns true if a text ends with these bytes, and if few other texts do.
    fn ends(self, text: &[u8]) -> bool {
        let other = Self::of(text);
        let same = self.bytes.iter().zip(&other.bytes).take_while(|(one, two)| one == two);
        self.length > MIN_CLOSING && same.count() >= self.length
    }
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
            r#"INFO {{[{""}]}}"#,
        ] {
            assert!(is_rest(rest.as_bytes(), &Limits::default()), "{rest}");
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
            r#"WARN {"a":{"b":"c"}} is not {"d":{"e":"f"}}"#,
            r#"  "name": "value" }"#,
            r#"if (x == "a") { y("b"); }"#,
        ] {
            assert!(!is_rest(line.as_bytes(), &Limits::default()), "{line}");
        }
    }
}
