//! Event streams (`text/event-stream`), with no I/O in them.
//!
//! [`SseDecoder`] reads a stream as the HTML standard says: lines end with LF, CR or CRLF, a byte
//! order mark may stand at the start of the stream, several `data` lines make one text, comments
//! and unknown fields are skipped, an `id` with a NUL (or of more than 4 KiB) is ignored, a `retry`
//! counts if it is a number, and an event without a `data` line is none but may still set the last id. The data is
//! handed on as bytes; the strict check judges them. [`encode_event`] writes what it reads.
//!
//! Invariants:
//! - At most `max_event_bytes` are buffered, whatever the peer sends, and no more than 256 KiB are
//!   kept once an event was handed out.
//! - The events do not depend on how the stream is cut into chunks.
//! - An overlong event is reported once, when it ends, with the ids found in its data. It still sets
//!   the last id: a client that resumes does not ask for it for ever.

mod encode;
mod overlong;

pub use encode::{EncodeError, KEEP_ALIVE, OutgoingEvent, encode_event};

use std::mem;

use memchr::memchr2;
use thiserror::Error;

use crate::buffer::extend_within;
use crate::limits::Limits;
use crate::recover::Recovered;
use overlong::OverlongData;

/// Splits a byte stream into events of bounded size.
#[derive(Debug)]
pub struct SseDecoder {
    limits: Limits,
    /// The current line so far, if it began in an earlier chunk.
    line: Vec<u8>,
    /// Whether the last line ended with CR, so that an LF belongs to it.
    after_cr: bool,
    /// Whether the first line is still to come, which a byte order mark may begin.
    is_start: bool,
    pending: Pending,
    /// Whether `pending.data` was handed out as an event, so that the next call drops it.
    is_handed_out: bool,
    last_event_id: String,
    retry_ms: Option<u64>,
}

/// The event being read.
#[derive(Debug, Default)]
struct Pending {
    name: String,
    data: Vec<u8>,
    has_data: bool,
    id: Option<String>,
    /// Bytes of its lines so far, comments and line ends left out.
    size: u64,
    /// What is searched instead of kept, once the event is too long.
    overlong: Option<Box<OverlongData>>,
}

/// One event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// What kind it is: `message` unless it says otherwise.
    pub name: &'a str,
    /// Its lines, joined by `\n`.
    pub data: &'a [u8],
    /// The last id that this or an earlier event set; empty if none did.
    pub last_event_id: &'a str,
}

/// An event that was skipped. Always the sender's doing.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("event of {length} bytes, longer than {limit}")]
#[non_exhaustive]
pub struct OverlongEvent {
    /// The bytes of its lines, without their ends.
    pub length: u64,
    /// The limit in force.
    pub limit: usize,
    /// The messages found in its data, with their ids; no more than
    /// [`max_batch_elements`](Limits::max_batch_elements).
    pub recovered: Vec<Recovered>,
}

/// Most bytes kept allocated between events.
const KEPT_BYTES: usize = 256 << 10;
/// Longest `id` or `retry` line that counts, and as much of a name as is kept. A longer id would not
/// fit into the header that a client resumes with.
const SHORT_LINE: usize = 4096;
const BOM: &[u8] = b"\xef\xbb\xbf";

impl SseDecoder {
    /// Creates a decoder that obeys `max_event_bytes` of `limits`.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            line: Vec::new(),
            after_cr: false,
            is_start: true,
            pending: Pending::default(),
            is_handed_out: false,
            last_event_id: String::new(),
            retry_ms: None,
        }
    }

    /// Creates a decoder for a stream that goes on after the event with this id.
    pub fn resuming(limits: &Limits, last_event_id: &str) -> Self {
        Self { last_event_id: last_event_id.to_owned(), ..Self::new(limits) }
    }

    /// Takes one event off the front of `input`.
    ///
    /// Returns `None` when `input` is used up; an unfinished event is kept for the next call.
    ///
    /// # Errors
    ///
    /// [`OverlongEvent`], once for each. The next call resumes after it.
    pub fn next_event(&mut self, input: &mut &[u8]) -> Result<Option<Event<'_>>, OverlongEvent> {
        self.drop_handed_out();
        while let Some(&first) = input.first() {
            if mem::take(&mut self.after_cr) && first == b'\n' {
                *input = input.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr2(b'\n', b'\r', input);
            let (head, rest) =
                input.split_at_checked(end.unwrap_or(input.len())).unwrap_or_default();
            self.after_cr = rest.first() == Some(&b'\r');
            *input = rest.get(1..).unwrap_or_default();
            self.count(head);
            if end.is_none() {
                self.keep(head);
            } else if self.end_line(head) && self.end_event() {
                break;
            }
        }
        if !self.is_handed_out {
            return Ok(None);
        }
        let Pending { name, data, size, overlong, .. } = &mut self.pending;
        if let Some(overlong) = overlong.take() {
            let limit = self.limits.max_event_bytes();
            return Err(OverlongEvent { length: *size, limit, recovered: overlong.finish() });
        }
        let name = if name.is_empty() { "message" } else { name };
        Ok(Some(Event { name, data, last_event_id: &self.last_event_id }))
    }

    /// The last id that an event set; empty if none did. It is what a client resumes from.
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// How long the server asked its clients to wait before they reconnect, if it did.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Whether the stream, if it ended now, would end inside an event, which is then lost.
    pub fn is_inside_event(&self) -> bool {
        let Pending { has_data, id, name, overlong, .. } = &self.pending;
        let begun = *has_data || id.is_some() || !name.is_empty() || overlong.is_some();
        (begun && !self.is_handed_out) || !self.line.is_empty()
    }

    /// Counts bytes of a line, and searches them if the event is too long to be kept.
    fn count(&mut self, bytes: &[u8]) {
        let Pending { data, name, size, overlong, .. } = &mut self.pending;
        *size += bytes.len() as u64;
        if overlong.is_none() && (self.limits.max_event_bytes() as u64) < *size {
            *overlong = Some(Box::new(OverlongData::new(&self.limits, data, &self.line)));
            (*data, *name) = (Vec::new(), String::new());
        }
        if let Some(overlong) = overlong {
            overlong.read(bytes);
        }
    }

    /// Adds to a line that has not ended.
    fn keep(&mut self, head: &[u8]) {
        // A line of an overlong event is kept as far as it may be an id.
        let is_overlong = self.pending.overlong.is_some();
        let most = if is_overlong { SHORT_LINE + 1 } else { self.limits.max_event_bytes() };
        self.line.truncate(most);
        self.line.shrink_to(most.max(KEPT_BYTES));
        let room = most - self.line.len();
        extend_within(&mut self.line, head.get(..room).unwrap_or(head), most);
    }

    /// Reads a line that ends with `tail`. Returns whether it ends the event.
    fn end_line(&mut self, tail: &[u8]) -> bool {
        if let Some(overlong) = &mut self.pending.overlong {
            overlong.end_line();
        }
        if self.line.is_empty() {
            return self.read_line(tail);
        }
        self.keep(tail);
        let mut line = mem::take(&mut self.line);
        let Pending { data, has_data, overlong, .. } = &mut self.pending;
        if !*has_data && overlong.is_none() && !self.is_start && line.starts_with(b"data: ") {
            // The usual event has one line of data: it is moved, so that it is never there twice.
            line.drain(..b"data: ".len());
            *has_data = true;
            mem::swap(data, &mut line);
            self.line = line;
            self.line.clear();
            return false;
        }
        let is_blank = self.read_line(&line);
        self.line = line;
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        is_blank
    }

    fn read_line(&mut self, line: &[u8]) -> bool {
        let is_start = mem::take(&mut self.is_start);
        let is_short = line.len() <= SHORT_LINE;
        let text = line.strip_prefix(BOM).filter(|_| is_start).unwrap_or(line);
        let colon = memchr::memchr(b':', text).unwrap_or(text.len());
        let (field, value) = text.split_at_checked(colon).unwrap_or_default();
        let value = value.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" => self.pending.forget_comment(line.len()),
            b"data" => self.pending.push_data(value, self.limits.max_event_bytes()),
            b"event" => self.pending.set_name(value),
            b"id" if is_short && !value.contains(&0) => {
                self.pending.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if is_short => {
                let digits = str::from_utf8(value).ok().filter(|it| is_digits(it));
                self.retry_ms = digits.and_then(|it| it.parse().ok()).or(self.retry_ms);
            }
            _ => {}
        }
        text.is_empty()
    }

    /// Ends the event. Returns whether there is one to be handed out or reported.
    fn end_event(&mut self) -> bool {
        if let Some(id) = self.pending.id.take() {
            self.last_event_id = id;
        }
        self.is_handed_out = self.pending.has_data || self.pending.overlong.is_some();
        if !self.is_handed_out {
            self.pending.reset();
        }
        self.is_handed_out
    }

    fn drop_handed_out(&mut self) {
        if self.is_handed_out {
            self.is_handed_out = false;
            self.pending.reset();
        }
    }
}

impl Pending {
    /// Counts a comment no longer, so that keep-alives never add up to an overlong event.
    fn forget_comment(&mut self, bytes: usize) {
        if self.overlong.is_none() {
            self.size -= bytes as u64;
        }
    }

    fn push_data(&mut self, value: &[u8], max_bytes: usize) {
        if self.overlong.is_none() {
            if self.has_data {
                extend_within(&mut self.data, b"\n", max_bytes);
            }
            extend_within(&mut self.data, value, max_bytes);
        }
        self.has_data = true;
    }

    fn set_name(&mut self, value: &[u8]) {
        if self.overlong.is_none() {
            let kept = value.get(..SHORT_LINE).unwrap_or(value);
            self.name = String::from_utf8_lossy(kept).into_owned();
        }
    }

    fn reset(&mut self) {
        let mut data = mem::take(&mut self.data);
        data.clear();
        data.shrink_to(KEPT_BYTES);
        *self = Self { data, ..Self::default() };
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
