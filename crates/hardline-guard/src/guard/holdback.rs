//! Messages that a server sends right after an answer, held back for a moment.
//!
//! A server that escapes nothing can be made to end its own answer: content such as `a"}]}}`, a newline
//! and a message arrive as two sound lines. What follows gives it away. The rest of the real answer
//! (`b"}]}}`) is no message, and ends with brackets that nothing on its line opened. So a message that
//! the server sends on its own right after an answer waits until the server has been quiet for a
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

/// Time after an answer in which a message of the server's own is held back.
const AFTER_ANSWER: Duration = Duration::from_millis(100);
/// Time after an answer in which the rest of one is recognized.
const MAX_REST_WAIT: Duration = Duration::from_secs(30);
/// Most messages that are held back at once.
const MAX_HELD: usize = 256;
/// Bytes at the end of a line that are searched for the end of an answer.
const MAX_REST_BYTES: usize = 1024;
/// Quotes at the end of a line that are tried as the end of the content.
const MAX_QUOTES: usize = 32;
/// Brackets that the rest of an answer closes at least: those of the message and of its result.
const MIN_CLOSED: i32 = 2;

/// The messages that are held back.
#[derive(Debug)]
pub(super) struct Holdback {
    /// Quiet time after which messages are released. Zero holds nothing back.
    quiet: Duration,
    max_bytes: usize,
    /// Time of the last answer that may have been ended by its content.
    answered: Option<Duration>,
    /// Whether the server has sent a message on its own since.
    has_followed: bool,
    held: Vec<Vec<u8>>,
    bytes: usize,
    release_at: Duration,
}

impl Holdback {
    pub(super) fn new(quiet: Duration, limits: &Limits) -> Self {
        Self {
            quiet,
            max_bytes: limits.max_queue_bytes(),
            answered: None,
            has_followed: false,
            held: Vec::new(),
            bytes: 0,
            release_at: Duration::ZERO,
        }
    }

    /// Takes note that an answer was delivered.
    pub(super) fn note_answer(&mut self, now: Duration) {
        (self.answered, self.has_followed) = (Some(now), false);
    }

    /// Whether a message that the server sends on its own has to wait.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        let is_after_answer = self.answered.is_some_and(|at| now <= at + AFTER_ANSWER);
        !self.quiet.is_zero() && (is_after_answer || !self.held.is_empty())
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
    pub(super) fn hear(&mut self, now: Duration) {
        self.release_at = now + self.quiet;
    }

    /// Takes note that the server sent a message on its own which does not wait.
    pub(super) fn note_own_message(&mut self) {
        self.has_followed = self.answered.is_some();
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

    /// Reads a line that is no message. Returns whether it is the rest of the last answer.
    pub(super) fn ends_answer(&self, text: &[u8], now: Duration) -> bool {
        let is_recent = self.answered.is_some_and(|at| now <= at + MAX_REST_WAIT);
        is_recent && is_rest(text)
    }

    /// Whether the server has sent a message on its own since the last answer.
    pub(super) fn has_followed(&self) -> bool {
        self.has_followed
    }
}

/// Whether a line looks like the rest of an answer: text, a quote that ends it, and the brackets that
/// close the answer.
fn is_rest(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let start = text.len().saturating_sub(MAX_REST_BYTES);
    let Some(end) = text.get(start..).filter(|end| end.ends_with(b"}")) else { return false };
    let closes_answer = |quote: usize| {
        let behind = end.get(quote + 1..).unwrap_or_default();
        brackets(behind, true).is_some_and(|depth| depth <= -MIN_CLOSED)
    };
    // A log line with JSON in it closes what it has opened.
    memrchr_iter(b'"', end).take(MAX_QUOTES).any(closes_answer) && brackets(text, false) != Some(0)
}

/// Counts the brackets outside of strings: those that open, less those that close.
///
/// Returns `None` if the text ends inside a string, and, if `is_strict`, if it has anything that JSON
/// does not have outside of strings.
fn brackets(text: &[u8], is_strict: bool) -> Option<i32> {
    let (mut depth, mut inside, mut escape) = (0_i32, false, false);
    for &byte in text {
        if inside {
            inside = escape || byte != b'"';
            escape = byte == b'\\' && !escape;
            continue;
        }
        match byte {
            b'"' => inside = true,
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' | b':' | b' ' | b'\t' | b'\r' | b'-' | b'+' | b'.' | b'0'..=b'9' => {}
            // The letters of `true`, `false`, `null` and of exponents.
            b'a' | b'e' | b'E' | b'f' | b'l' | b'n' | b'r' | b's' | b't' | b'u' => {}
            _ if is_strict => return None,
            _ => {}
        }
    }
    (!inside).then_some(depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_rest_of_an_answer() {
        for rest in [
            r#"b"}]}}"#,
            r#""}]}}"#,
            r#"he said "no" and left"}],"isError":false}}"#,
            r#"odd " quote"}}"#,
            r#"text"},"id":3}"#,
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
            "}}",
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
