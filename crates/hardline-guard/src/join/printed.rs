//! Follows a value that a server prints over several lines: JSON for people, or a literal of its language.
//!
//! Its lines are noise, and pass as such. Line by line they look like parts of a message, though: one may
//! begin an object that it does not end, and another may close brackets that it did not open. Once the
//! value is whole, it shows what it is.
//!
//! Invariants: at most [`MAX_BYTES`] are kept; each byte is read a fixed number of times.

use std::time::Duration;

use hardline_wire::limits::Limits;
use memchr::memmem;

use super::head::begins_bare;
use super::lex::Lexer;
use super::{MAX_HOLD, MAX_SUSPICION};

/// Limit on the bytes of a value. Longer ones are not followed to their end.
const MAX_BYTES: usize = 1 << 20;

/// A value that has begun and not ended.
#[derive(Debug)]
pub(super) struct Printed {
    text: Vec<u8>,
    lexer: Lexer,
    started: Duration,
    last: Duration,
    /// True if it begins with a line of opening brackets, as a pretty-printed answer does.
    is_bare: bool,
    /// True if one of its lines alone would make the server suspect.
    pub(super) is_suspect: bool,
    /// True if it has a word of an answer.
    may_answer: bool,
}

/// Relation of a line to a printed value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// The value goes on.
    Open,
    /// The line ends it.
    Whole,
    /// The line does not belong to it.
    Broken,
}

impl Printed {
    /// Begins with a line, if it begins a value and does not end it. Words may stand before a bracket at
    /// the end of the line.
    pub(super) fn begin(line: &[u8], now: Duration, limits: &Limits) -> Option<Self> {
        let line = line.trim_ascii();
        let start = if matches!(line.first(), Some(b'{' | b'[')) {
            0
        } else {
            let is_open = |byte: &&u8| matches!(byte, b'{' | b'[' | b' ');
            line.len() - line.iter().rev().take_while(is_open).count()
        };
        let value = line.get(start..).unwrap_or_default();
        if value.trim_ascii().is_empty() {
            return None;
        }
        let mut printed = Self {
            text: Vec::new(),
            lexer: Lexer::loose(limits.max_depth()),
            started: now,
            last: now,
            is_bare: start == 0 && begins_bare(value),
            is_suspect: false,
            may_answer: false,
        };
        (printed.add(value, now) == Step::Open).then_some(printed)
    }

    /// Adds a line.
    pub(super) fn add(&mut self, line: &[u8], now: Duration) -> Step {
        if self.text.len() + line.len() >= MAX_BYTES || self.until() <= now {
            return Step::Broken;
        }
        let mut lexer = self.lexer;
        lexer.read(line);
        // No program breaks a line inside of a string that it prints.
        if lexer.is_in_string() || lexer.is_broken() {
            return Step::Broken;
        }
        lexer.read(b"\n");
        self.lexer = lexer;
        let has = |word: &[u8]| memmem::find(line, word).is_some();
        self.may_answer |= has(b"jsonrpc") || has(b"result") || has(b"error");
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.last = now;
        if self.lexer.is_complete() { Step::Whole } else { Step::Open }
    }

    /// Returns the time of the last line.
    pub(super) fn last(&self) -> Duration {
        self.last
    }

    /// Returns the time at which the rest counts as lost. A server that goes on printing other lines must not
    /// put it off for ever.
    fn until(&self) -> Duration {
        (self.last + MAX_HOLD).min(self.started + MAX_SUSPICION)
    }

    /// Returns the time at which the rest counts as lost, if it matters that the value has no end.
    pub(super) fn deadline(&self) -> Option<Duration> {
        (self.is_suspect || self.may_answer || self.is_bare).then(|| self.until())
    }

    /// Returns the lines so far.
    pub(super) fn into_text(self) -> Vec<u8> {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: Option<Step>) {
        let limits = Limits::default();
        let (first, others) = lines.split_first().unwrap();
        let printed = Printed::begin(first.as_bytes(), Duration::ZERO, &limits);
        let last = printed.map(|mut printed| {
            others.iter().fold(Step::Open, |step, line| {
                assert_eq!(step, Step::Open, "{lines:?}");
                printed.add(line.as_bytes(), Duration::ZERO)
            })
        });
        assert_eq!(last, expected, "{lines:?}");
    }

    #[test]
    fn follows_values_to_their_end() {
        check(&["{", "  \"a\": {", "    \"b\": \"}\"", "  },", "}"], Some(Step::Whole));
        check(&["{", "  id: 3,", "  text: 'it\\'s }'", "}"], Some(Step::Whole));
        check(&["sending {", "  a: [ 1, 2", "  ]", "}"], Some(Step::Whole));
        check(&["{\"a\":1,", "\"b\":[2]"], Some(Step::Open));
        check(&["[", "", "]"], Some(Step::Whole));
    }

    #[test]
    fn gives_up_on_lines_that_do_not_belong_to_it() {
        check(&["{", "\"a\": \"b"], Some(Step::Broken));
        check(&["{", "]"], Some(Step::Broken));
        check(&["{", "}}"], Some(Step::Broken));
        check(&["{\"a\":{", "\"b\"}]}}"], Some(Step::Broken));
        for line in ["", "log line", "{}", "[INFO] hello", "{\"a\":\"b", "a } b"] {
            check(&[line], None);
        }
        let long = format!("\"{}\"", "a".repeat(MAX_BYTES));
        check(&["{", &long], Some(Step::Broken));
    }
}
