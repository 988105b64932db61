//! Event streams (`text/event-stream`), without I/O.
//!
//! [`SseDecoder`] reads a stream as the HTML standard defines: lines end with LF, CR or CRLF, a
//! byte order mark may start the stream, several `data` lines form one text, comments and unknown
//! fields are skipped, an `id` with a NUL (or of more than 4 KiB) is ignored, a `retry` counts if
//! it is a number. An event without a `data` line is not returned, but may still set the last id.
//! The data is returned as bytes for the strict check. [`encode_event`] writes events.
//!
//! Invariants:
//! - At most `max_event_bytes` are buffered, and at most 256 KiB stay allocated once an event was
//!   returned.
//! - The events do not depend on how the stream is split into chunks.
//! - An overlong event is reported once, when it ends, with the ids found in its data. It still
//!   sets the last id, so that a client that resumes does not ask for it again and again.

mod encode;
mod overlong;

pub use encode::{EncodeError, KEEP_ALIVE, OutgoingEvent, encode_event};

use std::mem;

use memchr::memchr2;
use thiserror::Error;

use crate::limits::Limits;
use crate::line::extend_within;
use crate::recover::Recovered;
use overlong::OverlongData;

/// Splits a byte stream into events of bounded size.
#[derive(Debug)]
pub struct SseDecoder {
    limits: Limits,
    /// The current line so far, if it began in an earlier chunk.
    line: Vec<u8>,
    /// True if the last line ended with CR, so that an LF belongs to it.
    after_cr: bool,
    /// True before the first line, which may start with a byte order mark.
    is_start: bool,
    pending: Pending,
    /// True if `pending.data` was returned as an event, so that the next call must clear it.
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
    /// Bytes of its lines so far, without comments and line ends.
    size: u64,
    /// Searches the data instead of storing it, once the event is too long.
    overlong: Option<Box<OverlongData>>,
}

/// One event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SseEvent<'a> {
    /// Type of the event: `message` if it states none.
    pub name: &'a str,
    /// The `data` lines, joined by `\n`.
    pub data: &'a [u8],
    /// The last id that this or an earlier event set; empty if none did.
    pub last_event_id: &'a str,
}

/// An event that was skipped because of its length. The sender is always the cause.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("event of {length} bytes, longer than {limit}")]
#[non_exhaustive]
pub struct OverlongEvent {
    /// Bytes of its lines, without their ends.
    pub length: u64,
    /// The limit in force.
    pub limit: usize,
    /// The messages found in its data, with their ids; at most
    /// [`max_batch_elements`](Limits::max_batch_elements).
    pub recovered: Vec<Recovered>,
}

/// Capacity limit of the buffers between events.
const KEPT_BYTES: usize = 256 << 10;
/// Length limit of an `id` or `retry` line, and of the stored part of a name. A longer id would not
/// fit into the header that a client resumes with.
const SHORT_LINE: usize = 4096;
const BOM: &[u8] = b"\xef\xbb\xbf";

impl SseDecoder {
    /// Creates a decoder with the `max_event_bytes` of `limits`.
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

    /// Creates a decoder for a stream that continues after the event with this id.
    pub fn resuming(limits: &Limits, last_event_id: &str) -> Self {
        Self { last_event_id: last_event_id.to_owned(), ..Self::new(limits) }
    }

    /// Takes one event off the front of `input`.
    ///
    /// Returns `None` when `input` is used up; an unfinished event is stored for the next call.
    ///
    /// # Errors
    ///
    /// [`OverlongEvent`], once for each such event. The next call resumes after it.
    pub fn next_event(&mut self, input: &mut &[u8]) -> Result<Option<SseEvent<'_>>, OverlongEvent> {
        self.drop_handed_out();
        while let Some(&first) = input.first() {
            // A CRLF may be split between two chunks.
            if mem::take(&mut self.after_cr) && first == b'\n' {
                *input = input.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr2(b'\n', b'\r', input);
            let (head, rest) =
                input.split_at_checked(end.unwrap_or(input.len())).unwrap_or_default();
            self.after_cr = rest.first() == Some(&b'\r');
            *input = rest.get(1..).unwrap_or_default();
            // Before the line is stored, so that the limit bounds the buffer too.
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
        Ok(Some(SseEvent { name, data, last_event_id: &self.last_event_id }))
    }

    /// Returns the last id that an event set; empty if none did. A client resumes from it.
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// Returns the reconnection delay that the server requested.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Returns true if the stream would lose an event if it ended now.
    pub fn is_inside_event(&self) -> bool {
        let Pending { has_data, id, name, overlong, .. } = &self.pending;
        let begun = *has_data || id.is_some() || !name.is_empty() || overlong.is_some();
        (begun && !self.is_handed_out) || !self.line.is_empty()
    }

    /// Counts bytes of a line, and searches them if the event is too long to be stored.
    fn count(&mut self, bytes: &[u8]) {
        let Pending { data, name, size, overlong, .. } = &mut self.pending;
        *size += bytes.len() as u64;
        if overlong.is_none() && (self.limits.max_event_bytes() as u64) < *size {
            *overlong = Some(Box::new(OverlongData::new(&self.limits, data, &self.line)));
            // From here on only the id counts, so free the rest.
            (*data, *name) = (Vec::new(), String::new());
        }
        if let Some(overlong) = overlong {
            overlong.read(bytes);
        }
    }

    /// Stores more bytes of an unfinished line.
    fn keep(&mut self, head: &[u8]) {
        // Of an overlong event, only an id matters, so a line is stored up to that length.
        let is_overlong = self.pending.overlong.is_some();
        let most = if is_overlong { SHORT_LINE + 1 } else { self.limits.max_event_bytes() };
        // The event may have become overlong since the line began.
        self.line.truncate(most);
        self.line.shrink_to(most.max(KEPT_BYTES));
        let room = most - self.line.len();
        extend_within(&mut self.line, head.get(..room).unwrap_or(head), most);
    }

    /// Reads a line that ends with `tail`. Returns true if it ends the event.
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
            // The usual event has one line of data. Moving it avoids a second copy in memory.
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

    /// Parses one complete line, as the HTML standard defines it. Returns true if it is blank.
    fn read_line(&mut self, line: &[u8]) -> bool {
        let is_start = mem::take(&mut self.is_start);
        let is_short = line.len() <= SHORT_LINE;
        let text = line.strip_prefix(BOM).filter(|_| is_start).unwrap_or(line);
        let colon = memchr::memchr(b':', text).unwrap_or(text.len());
        let (field, value) = text.split_at_checked(colon).unwrap_or_default();
        let value = value.get(1..).unwrap_or_default();
        // The standard removes one space after the colon.
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            // No field name: a comment or a blank line.
            b"" => self.pending.forget_comment(line.len()),
            b"data" => self.pending.push_data(value, self.limits.max_event_bytes()),
            b"event" => self.pending.set_name(value),
            b"id" if is_short && !value.contains(&0) => {
                self.pending.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if is_short => {
                // `parse` alone would accept a plus sign.
                let digits = str::from_utf8(value).ok().filter(|it| is_digits(it));
                self.retry_ms = digits.and_then(|it| it.parse().ok()).or(self.retry_ms);
            }
            _ => {}
        }
        text.is_empty()
    }

    /// Ends the event. Returns true if there is one to return or report.
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
    /// Stops counting a comment, so that keep-alives never add up to an overlong event.
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
