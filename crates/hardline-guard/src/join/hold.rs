//! Stores the held lines, and tries the two ways to read them as one message.
//!
//! Invariants: no more than `max_frame_bytes` of lines are kept, and as much of the first reading;
//! each byte is read a fixed number of times, since the first reading is tried once and the second
//! no more than [`MAX_TRIES`] times.

use std::time::Duration;

use hardline_wire::frame::{Decoder, Frame, RefusalReason};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineEnd;
use hardline_wire::message::Message;
use memchr::memchr;

use super::head::Head;
use super::lex::{Lexer, push_text};
use super::witness::Witness;
use super::{MAX_HOLD, MAX_QUIET, MAX_SUSPICION, Pending};
use crate::frame::{has_outcome, mend};

/// Limit on attempts of the second reading. More lines that look like a tail are no accident, and
/// the hold runs out.
const MAX_TRIES: u8 = 8;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A head and the lines after it.
#[derive(Debug)]
pub(super) struct Hold {
    /// Offset of the head in the stream.
    pub(super) offset: u64,
    started: Duration,
    /// Time of the last bytes.
    last: Duration,
    /// Time at which the hold runs out.
    deadline: Duration,
    pub(super) head: Head,
    pub(super) witness: Witness,
    /// Lines after the head that are not blank.
    pub(super) followers: usize,
    /// Number of bytes of all lines.
    pub(super) length: usize,
    pub(super) head_length: usize,
    /// All lines with their ends; empty once they exceeded the limit.
    raw: Vec<u8>,
    /// The first reading: the lines as they are, control characters in strings escaped.
    plain: Vec<u8>,
    plain_head: usize,
    lexer: Lexer,
    /// The state after the head: where a tail would go on in the second reading.
    after_head: Lexer,
    tries_left: u8,
    max_bytes: usize,
    /// True if the first line has nothing but brackets.
    pub(super) is_pretty: bool,
    /// True if it is, and follows a log line, or if the first line itself may be a log line.
    pub(super) is_printed: bool,
    /// True once the second reading turned out to be a message.
    is_read_as_text: bool,
}

/// Result of reading the lines as one text.
#[derive(Debug)]
pub(super) enum Reading {
    /// No JSON.
    Nothing,
    /// JSON, but no message.
    Other,
    Notification,
    Request(Id<'static>),
    Answer(Id<'static>),
}

impl Hold {
    pub(super) fn new(
        text: &[u8],
        end: LineEnd,
        head: Head,
        offset: u64,
        now: Duration,
        limits: &Limits,
    ) -> Self {
        let max_bytes = limits.max_frame_bytes();
        let (mut lexer, mut plain) = (Lexer::new(limits.max_depth()), Vec::new());
        // Behind other text, a value can be read but a message is not delivered.
        let start = if head.is_quoted() { head.start } else { 0 };
        lexer.write(text.get(start..).unwrap_or_default(), &mut plain, max_bytes);
        let mut hold = Self {
            is_pretty: head.is_bare,
            is_printed: head.is_quoted(),
            offset,
            started: now,
            last: now,
            deadline: now + MAX_QUIET,
            head,
            witness: Witness::default(),
            followers: 0,
            length: 0,
            head_length: text.len(),
            raw: Vec::new(),
            plain_head: plain.len(),
            plain,
            lexer,
            after_head: lexer,
            tries_left: MAX_TRIES,
            max_bytes,
            is_read_as_text: false,
        };
        // The second reading goes on in the string after the newline.
        hold.after_head.read(end_bytes(end));
        hold.keep(text, end, false);
        hold.lexer.write(end_bytes(end), &mut hold.plain, max_bytes);
        hold
    }

    /// Time of the last bytes.
    pub(super) fn last(&self) -> Duration {
        self.last
    }

    /// Time at which the hold runs out.
    pub(super) fn deadline(&self) -> Duration {
        // Nothing else waits while the next line is awaited.
        if self.head.is_bare { self.started + MAX_SUSPICION } else { self.deadline }
    }

    /// Does not count time in which the caller did not read: bytes that are read after it may have
    /// arrived long before.
    pub(super) fn forgive(&mut self, now: Duration) {
        let gap = now.saturating_sub(self.last);
        if gap >= MAX_QUIET && !self.head.is_bare {
            self.started += gap;
        }
    }

    /// Returns true if the hold has reached its maximum duration.
    pub(super) fn is_over(&self, now: Duration) -> bool {
        let most = if self.head.is_bare { MAX_SUSPICION } else { MAX_HOLD };
        self.started + most <= now
    }

    /// Extends the hold, because bytes arrived.
    pub(super) fn hear(&mut self, now: Duration) {
        if self.last != now {
            self.last = now;
            self.deadline = (now + MAX_QUIET).min(self.started + MAX_HOLD);
        }
    }

    /// Records that the line after the opening brackets confirms a message. `is_bare` says that it
    /// consists of opening brackets too.
    pub(super) fn confirm(&mut self, is_bare: bool, now: Duration) {
        self.head.is_bare = is_bare;
        // The brackets may have waited longer than a hold may last.
        if !is_bare {
            self.started = now;
        }
    }

    /// Adds a line. Returns the reading of all lines that ends with it, if there is one.
    pub(super) fn add(
        &mut self,
        text: &[u8],
        end: LineEnd,
        has_bom: bool,
        decoder: &mut Decoder,
    ) -> Option<(Reading, Vec<u8>)> {
        let tail_start = self.raw.len();
        self.keep(text, end, has_bom);
        if self.raw.is_empty() {
            return None;
        }
        let line = self.raw.get(tail_start..).unwrap_or_default();
        let was_broken = self.lexer.is_broken();
        self.lexer.write(line, &mut self.plain, self.max_bytes);
        if self.lexer.is_complete() {
            let reading = Reading::of(&self.plain, decoder);
            if !matches!(reading, Reading::Nothing) {
                return Some((reading, std::mem::take(&mut self.plain)));
            }
            // Further text would follow a complete value.
            self.lexer.give_up();
        }
        if self.lexer.is_broken() && !was_broken {
            // From here on only the head is needed.
            self.plain.truncate(self.plain_head);
            self.plain.shrink_to_fit();
        }
        self.try_as_tail(tail_start, decoder)
    }

    /// Returns true if the lines so far end between two values of a message, so that a later line may go on.
    pub(super) fn is_paused(&self) -> bool {
        // A request has got its error, and must not get another one.
        let is_request = self.head.has_method && self.head.id.is_some();
        let is_lost = self.has_overflowed() || self.lexer.is_broken();
        !(self.head.is_bare || is_request || is_lost || self.lexer.is_in_string())
    }

    /// Returns true if a line may go on with the message, read as it is.
    pub(super) fn goes_on_with(&self, text: &[u8]) -> bool {
        let mut lexer = self.lexer;
        lexer.read(text);
        !lexer.is_broken()
    }

    /// Returns the state after all lines.
    pub(super) fn lexer(&self) -> Lexer {
        self.lexer
    }

    /// Begins again with a hold that ran out. What it reported and failed then stays so.
    pub(super) fn resume(&mut self, now: Duration) {
        (self.started, self.last, self.deadline) = (now, now, now + MAX_QUIET);
        self.witness = Witness::default();
        self.followers = 0;
    }

    /// Counts a line that is not stored, and gives up joining.
    pub(super) fn overflow(&mut self, length: usize) {
        self.length = self.length.saturating_add(length);
        self.raw = Vec::new();
        self.plain = Vec::new();
        self.lexer.give_up();
        self.after_head.give_up();
    }

    /// Returns the lexer state after the head, where a later line may complete the message.
    pub(super) fn after_head(&self) -> Lexer {
        self.after_head
    }

    /// Gives up on a line that completes the message alone.
    pub(super) fn forget_head(&mut self) {
        self.after_head.give_up();
    }

    /// Returns true if the hold ended with a message in which some of the lines are text.
    pub(super) fn is_read_as_text(&self) -> bool {
        self.is_read_as_text
    }

    /// Returns true if the message that ends the hold is whole as it came, with no other answer in it.
    pub(super) fn is_whole_as_it_came(&self) -> bool {
        !self.is_read_as_text && self.witness.answers == 0
    }

    /// Returns true if the hold, which ends with this reading, may have had answers to other
    /// requests than the one that is delivered.
    ///
    /// Lines that were read as text may have been parts of other answers. A message that is whole
    /// as it came has one meaning.
    pub(super) fn is_unclear(&self, reading: &Reading, pending: &impl Pending) -> bool {
        if self.is_read_as_text || self.witness.answers > 0 {
            return true;
        }
        match reading {
            Reading::Answer(id) => !pending.is_pending(id),
            Reading::Notification | Reading::Request(_) => has_outcome(&self.raw),
            Reading::Other | Reading::Nothing => true,
        }
    }

    /// Returns true if the server sent more bytes than the hold may keep.
    pub(super) fn has_overflowed(&self) -> bool {
        self.raw.is_empty()
    }

    /// Returns the original lines, as far as they are stored.
    pub(super) fn raw(&self) -> &[u8] {
        &self.raw
    }

    fn keep(&mut self, text: &[u8], end: LineEnd, has_bom: bool) {
        let mark = if has_bom { BOM.len() } else { 0 };
        let length = mark + text.len() + end_bytes(end).len();
        // Before the first line `raw` is empty as well, and nothing has overflowed.
        let is_first = self.length == 0;
        if self.has_overflowed() && !is_first || self.max_bytes < self.raw.len() + text.len() {
            return self.overflow(length);
        }
        self.length += length;
        if has_bom {
            self.raw.extend_from_slice(BOM);
        }
        self.raw.extend_from_slice(text);
        match end {
            LineEnd::Lf => self.raw.push(b'\n'),
            _ => self.raw.extend_from_slice(end_bytes(end)),
        }
    }

    /// The second reading, if the line at `tail_start` may be its end: head and tail as they are,
    /// all between them as text.
    fn try_as_tail(
        &mut self,
        tail_start: usize,
        decoder: &mut Decoder,
    ) -> Option<(Reading, Vec<u8>)> {
        let tail = self.raw.get(tail_start..)?;
        // The string that the head ends in has to end, and an object behind it.
        if tail.len() < 2 || memchr(b'"', tail).is_none() {
            return None;
        }
        // Joining copies all lines, so a scan without a copy rules out most tails first.
        let mut probe = self.after_head;
        probe.read(tail);
        if !probe.is_complete() || self.tries_left == 0 {
            return None;
        }
        self.tries_left -= 1;
        let mut joined = self.plain.get(..self.plain_head)?.to_vec();
        if !push_text(&mut joined, self.raw.get(self.head_length..tail_start)?, self.max_bytes) {
            return None;
        }
        let mut lexer = self.after_head;
        lexer.write(tail, &mut joined, self.max_bytes);
        let reading = Reading::of(&joined, decoder);
        self.is_read_as_text = !matches!(reading, Reading::Nothing | Reading::Other);
        self.is_read_as_text.then_some((reading, joined))
    }
}

impl Reading {
    fn of(text: &[u8], decoder: &mut Decoder) -> Self {
        let refusal = match decoder.decode(text) {
            Ok(frame) => return Self::of_frame(&frame),
            Err(refusal) => refusal,
        };
        if refusal.is_mendable() {
            // The frame judge decides later between mending and refusing.
            return decoder.decode(&mend(text)).map_or(Self::Other, |it| Self::of_frame(&it));
        }
        match refusal.reason {
            RefusalReason::Json(_) => Self::Nothing,
            _ => Self::Other,
        }
    }

    fn of_frame(frame: &Frame<'_>) -> Self {
        let Frame::Message(message, _) = frame else { return Self::Other };
        match message {
            Message::Notification(_) => Self::Notification,
            Message::Request(request) => Self::Request(request.id.clone().into_owned()),
            Message::Response(response) => Self::Answer(response.id.clone().into_owned()),
            Message::Error(error) => match &error.id {
                Some(id) => Self::Answer(id.clone().into_owned()),
                None => Self::Notification,
            },
        }
    }
}

fn end_bytes(end: LineEnd) -> &'static [u8] {
    match end {
        LineEnd::Lf => b"\n",
        LineEnd::CrLf => b"\r\n",
        LineEnd::Eof => b"",
    }
}
