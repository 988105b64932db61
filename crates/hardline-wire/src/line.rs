//! Newline framing for the stdio transport, without I/O.
//!
//! [`LineFramer`] splits the chunks of a stream into lines, one frame each. It strips `\r\n` or
//! `\n` and a byte order mark, and reports which of them were there. Blank lines and the exact line
//! end are passed on, because the joiner needs them to restore a frame that a raw newline tore
//! apart. The caller reads the pipe, skips blank lines and checks the content.
//!
//! Invariants:
//! - At most `max_frame_bytes` and a few bytes are buffered. Once a line was returned, at most 2
//!   MiB stay allocated for the next, and at most 256 KiB after some lines that needed less. The
//!   ids of an overlong line come on top, as many and as long as `limits` allows.
//! - The lines do not depend on how the stream is split into chunks.
//! - Each byte is read once, and copied only if its line began in an earlier chunk.
//! - An overlong line is reported once, when it ends; its ids are recovered while it passes.

use std::ops::Range;

use memchr::memchr;

use crate::limits::Limits;
use crate::recover::{Collector, Ending, Recovered};

/// Splits a byte stream into lines of bounded length.
#[derive(Debug)]
pub struct LineFramer {
    limits: Limits,
    /// The current line so far, with its byte order mark: empty, or begun in an earlier chunk.
    partial: Vec<u8>,
    /// Range of `partial` without the white space around it.
    text: Range<usize>,
    /// True if `partial` was returned as a line, so that the next call must clear it.
    is_handed_out: bool,
    /// Number of lines in a row that needed no large `partial`.
    idle_lines: u8,
    /// Offset of the current line in the stream.
    line_start: u64,
    /// The current line, once it is over the limit.
    overlong: Option<Box<OverlongLine>>,
    /// Messages recovered from the overlong line that was returned last.
    recovered: Vec<Recovered>,
}

/// A line that is too long to be stored.
#[derive(Debug)]
struct OverlongLine {
    /// Facts about the line so far; its byte order mark is in the stored prefix.
    raw: Raw,
    collector: Collector,
}

/// One line of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Line<'a> {
    /// Offset of the content, in bytes from the start of the stream: after a byte order mark.
    pub offset: u64,
    /// True if a byte order mark came before the content.
    pub has_bom: bool,
    /// The line end.
    pub end: LineEnd,
    /// The content between both.
    pub content: Content<'a>,
}

/// End of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "these are all the ends that the framer knows")]
pub enum LineEnd {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
    /// The end of the stream.
    Eof,
}

/// Content of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a line fits or it does not")]
pub enum Content<'a> {
    /// The whole content.
    Whole(&'a [u8]),
    /// The line was too long to be stored.
    Overlong(Overlong<'a>),
}

/// A line longer than [`max_frame_bytes`](Limits::max_frame_bytes).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Overlong<'a> {
    /// The first [`OVERLONG_PREFIX`] bytes, or all of them if the limit is smaller.
    pub prefix: &'a [u8],
    /// Length of the line, without its end and its byte order mark.
    pub length: u64,
    /// The messages found on the whole line, with their ids; at most
    /// [`max_batch_elements`](Limits::max_batch_elements).
    pub recovered: &'a [Recovered],
    is_blank: bool,
}

/// Number of bytes stored of an overlong line, to show how it began.
pub const OVERLONG_PREFIX: usize = 4096;

const BOM: &[u8] = b"\xef\xbb\xbf";
/// Bytes around a line of the greatest length: a byte order mark and a `\r`.
const MARGIN: usize = BOM.len() + 1;
/// Capacity limit of the buffer between lines.
const KEPT_BYTES: usize = 256 << 10;
/// Capacity limit as long as one line in [`MAX_IDLE_LINES`] needs more than [`KEPT_BYTES`]: a peer
/// that sends large lines sends more of them, and fresh memory costs as much as reading a line.
const KEPT_LARGE_BYTES: usize = 2 << 20;
const MAX_IDLE_LINES: u8 = 8;

impl LineFramer {
    /// Creates a framer with the `max_frame_bytes` of `limits`.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            partial: Vec::new(),
            text: 0..0,
            is_handed_out: false,
            idle_lines: 0,
            line_start: 0,
            overlong: None,
            recovered: Vec::new(),
        }
    }

    /// Takes one line off the front of `input`.
    ///
    /// Returns `None` when `input` is used up; an unfinished line is stored for the next call.
    pub fn next_line<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Option<Line<'s>> {
        self.drop_handed_out();
        let newline = memchr(b'\n', input);
        let (head, rest) = input.split_at_checked(newline.unwrap_or(input.len()))?;
        *input = rest.get(1..).unwrap_or_default();

        let has_ended = newline.is_some();
        // The whole line is in this chunk, so return it without a copy.
        if has_ended && self.partial.is_empty() && self.overlong.is_none() {
            self.is_handed_out = true;
            let shape = self.measure(Raw::of(head), Newline::Read);
            return Some(shape.line(head, &mut self.recovered, &self.limits));
        }
        self.keep(head);
        has_ended.then(|| self.kept_line(Newline::Read))
    }

    /// Ends the stream. Returns the last line if it had no newline.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        self.drop_handed_out();
        let is_empty = self.partial.is_empty() && self.overlong.is_none();
        (!is_empty).then(|| self.kept_line(Newline::EndOfStream))
    }

    /// Returns the bytes of the current, unfinished line, as far as they are stored, without the white
    /// space around them. Empty if there are none.
    ///
    /// Takes the same time for a line of any length, so a caller may ask after each read.
    pub fn unfinished(&self) -> &[u8] {
        let text = self.partial.get(self.text.clone()).filter(|_| !self.is_handed_out);
        text.unwrap_or_default()
    }

    /// Ends the current line at the current position, as if its newline had arrived. Later bytes
    /// belong to the next line.
    ///
    /// For a sender that waits for an answer to a line without a newline.
    pub fn cut(&mut self) -> Option<Line<'_>> {
        self.drop_handed_out();
        let is_empty = self.partial.is_empty() && self.overlong.is_none();
        (!is_empty).then(|| self.kept_line(Newline::Missing))
    }

    /// Stores more bytes of an unfinished line.
    fn keep(&mut self, head: &[u8]) {
        let before = self.partial.len();
        self.store(head);
        // An overlong line is shortened to its prefix.
        let mut from = before.min(self.partial.len());
        if self.text.end > from {
            (self.text, from) = (0..0, 0);
        }
        self.extend_text(from);
    }

    /// Extends the text of the unfinished line by the bytes from `from` on.
    fn extend_text(&mut self, from: usize) {
        let new = self.partial.get(from..).unwrap_or_default();
        let is_text = |byte: &u8| !byte.is_ascii_whitespace();
        let Some(last) = new.iter().rposition(is_text) else { return };
        if self.text.is_empty() {
            self.text.start = from + new.iter().position(is_text).unwrap_or(last);
        }
        self.text.end = from + last + 1;
    }

    fn store(&mut self, head: &[u8]) {
        let Self { limits, partial, overlong, .. } = self;
        // The mark and the `\r` are in the buffer but do not count as content.
        let most = limits.max_frame_bytes() + MARGIN;
        let needed = partial.len() + head.len();
        if overlong.is_none() && needed <= most {
            extend_within(partial, head, most);
            return;
        }
        let prefix = OVERLONG_PREFIX + BOM.len();
        let mut rest = head;
        let overlong = overlong.get_or_insert_with(|| {
            // The line is longer than that, so there are enough bytes to recognize a byte order
            // mark.
            let missing = BOM.len().saturating_sub(partial.len());
            let (begin, end) = head.split_at_checked(missing).unwrap_or((head, &[]));
            partial.extend_from_slice(begin);
            rest = end;
            let mut overlong = Box::new(OverlongLine::new(limits));
            overlong.begin(partial);
            // The collector has read the rest, so only the shown prefix is needed.
            partial.truncate(prefix);
            partial.shrink_to(KEPT_BYTES);
            overlong
        });
        let room = prefix.saturating_sub(partial.len());
        partial.extend_from_slice(rest.get(..room).unwrap_or(rest));
        overlong.read(rest);
    }

    /// Returns the stored line.
    fn kept_line(&mut self, newline: Newline) -> Line<'_> {
        self.is_handed_out = true;
        let Some(overlong) = self.overlong.take() else {
            let shape = self.measure(Raw::of(&self.partial), newline);
            return shape.line(&self.partial, &mut self.recovered, &self.limits);
        };
        let shape = self.measure(overlong.raw, newline);
        self.recovered = overlong.collector.finish(shape.end.ending());
        shape.overlong(&self.partial, &self.recovered)
    }

    /// Computes the extent of a line's content, and advances to the next line of the stream.
    fn measure(&mut self, raw: Raw, newline: Newline) -> Shape {
        let end = match (newline, raw.ends_in_cr) {
            // At the end of the stream, a `\r` is content.
            (Newline::EndOfStream, _) => LineEnd::Eof,
            (Newline::Read | Newline::Missing, true) => LineEnd::CrLf,
            (Newline::Read | Newline::Missing, false) => LineEnd::Lf,
        };
        let mark = if raw.has_bom { BOM.len() as u64 } else { 0 };
        let offset = self.line_start + mark;
        let length = raw.length - mark - u64::from(end == LineEnd::CrLf);
        // A newline that was only assumed is not part of the stream.
        self.line_start += raw.length + u64::from(newline == Newline::Read);
        Shape { offset, has_bom: raw.has_bom, end, length, has_content: raw.has_content }
    }

    fn drop_handed_out(&mut self) {
        if self.is_handed_out {
            self.is_handed_out = false;
            // Dropped, not cleared: overlong lines are rare, and their ids may take much memory.
            self.recovered = Vec::new();
            let is_idle = self.partial.len() <= KEPT_BYTES;
            self.idle_lines = if is_idle { self.idle_lines.saturating_add(1) } else { 0 };
            self.partial.clear();
            self.text = 0..0;
            // Large lines come in series, so keep the memory for a while.
            let is_large = self.idle_lines < MAX_IDLE_LINES;
            self.partial.shrink_to(if is_large { KEPT_LARGE_BYTES } else { KEPT_BYTES });
        }
    }
}

impl<'a> Line<'a> {
    /// Creates a line from a text in memory, without a byte order mark. `text` is its content.
    pub fn of_text(text: &'a [u8]) -> Self {
        Self { offset: 0, has_bom: false, end: LineEnd::Lf, content: Content::Whole(text) }
    }

    /// Returns true if the line has only whitespace, and so no message.
    pub fn is_blank(&self) -> bool {
        match self.content {
            Content::Whole(bytes) => is_blank(bytes),
            Content::Overlong(overlong) => overlong.is_blank,
        }
    }

    /// Returns the content, if it was stored completely.
    pub fn whole(&self) -> Option<&'a [u8]> {
        match self.content {
            Content::Whole(bytes) => Some(bytes),
            Content::Overlong(_) => None,
        }
    }

    /// Returns whether the line was written to its end, as far as the stream shows.
    pub fn ending(&self) -> Ending {
        self.end.ending()
    }
}

impl LineEnd {
    fn ending(self) -> Ending {
        match self {
            Self::Lf | Self::CrLf => Ending::Whole,
            Self::Eof => Ending::Cut,
        }
    }
}

/// Reason why a line has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Newline {
    /// Its newline was read.
    Read,
    /// Its newline is assumed.
    Missing,
    /// The stream has ended.
    EndOfStream,
}

/// A line before its content is separated from its surroundings. The newline is not counted.
#[derive(Clone, Copy, Debug, Default)]
struct Raw {
    length: u64,
    has_bom: bool,
    ends_in_cr: bool,
    /// True if a byte other than whitespace was seen; tracked for overlong lines only.
    has_content: bool,
}

impl Raw {
    fn of(bytes: &[u8]) -> Self {
        let (has_bom, ends_in_cr) = (bytes.starts_with(BOM), bytes.ends_with(b"\r"));
        Self { length: bytes.len() as u64, has_bom, ends_in_cr, has_content: true }
    }
}

/// A line without its content.
#[derive(Clone, Copy, Debug)]
struct Shape {
    offset: u64,
    has_bom: bool,
    end: LineEnd,
    length: u64,
    has_content: bool,
}

impl Shape {
    /// Creates a line from `raw`, which has all its bytes.
    fn line<'a>(
        self,
        raw: &'a [u8],
        recovered: &'a mut Vec<Recovered>,
        limits: &Limits,
    ) -> Line<'a> {
        let bytes = if self.has_bom { raw.get(BOM.len()..).unwrap_or_default() } else { raw };
        let bytes =
            bytes.strip_suffix(b"\r").filter(|_| self.end == LineEnd::CrLf).unwrap_or(bytes);
        // Still possible here: a line within one chunk, or one that only the margin let in.
        if limits.max_frame_bytes() < bytes.len() {
            let mut overlong = OverlongLine::new(limits);
            overlong.begin(raw);
            let has_content = overlong.raw.has_content;
            *recovered = overlong.collector.finish(self.end.ending());
            return Self { has_content, ..self }.overlong(raw, recovered);
        }
        let Self { offset, has_bom, end, .. } = self;
        Line { offset, has_bom, end, content: Content::Whole(bytes) }
    }

    /// Creates an overlong line of which `raw` is the beginning.
    fn overlong<'a>(self, raw: &'a [u8], recovered: &'a [Recovered]) -> Line<'a> {
        let Self { offset, has_bom, end, length, has_content } = self;
        let bytes = if has_bom { raw.get(BOM.len()..).unwrap_or_default() } else { raw };
        // `raw` may include the `\r` of the line end, which `length` does not count.
        let most = usize::try_from(length).unwrap_or(OVERLONG_PREFIX).min(OVERLONG_PREFIX);
        let prefix = bytes.get(..most).unwrap_or(bytes);
        let is_blank = !has_content;
        let content = Content::Overlong(Overlong { prefix, length, recovered, is_blank });
        Line { offset, has_bom, end, content }
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    // JSON whitespace only: a NUL or a form feed is content.
    bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

impl OverlongLine {
    fn new(limits: &Limits) -> Self {
        Self { raw: Raw::default(), collector: Collector::new(limits) }
    }

    /// Reads the beginning, which is long enough to contain a whole byte order mark.
    fn begin(&mut self, bytes: &[u8]) {
        let Some(unmarked) = bytes.strip_prefix(BOM) else {
            return self.read(bytes);
        };
        self.raw.has_bom = true;
        self.raw.length = BOM.len() as u64;
        self.read(unmarked);
    }

    fn read(&mut self, bytes: &[u8]) {
        self.raw.length += bytes.len() as u64;
        self.raw.has_content |= !is_blank(bytes);
        // The `\r` of the line end may come in an earlier chunk than the newline.
        if let Some(last) = bytes.last() {
            self.raw.ends_in_cr = *last == b'\r';
        }
        self.collector.read(bytes);
    }
}

/// Appends `bytes` to `buffer`, which never holds more than `most`. Capacity grows by doubling, but
/// not beyond `most`.
pub(crate) fn extend_within(buffer: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let needed = buffer.len() + bytes.len();
    if buffer.capacity() < needed {
        // `Vec` alone would double past the limit.
        let doubled = (buffer.capacity() * 2).min(most).max(needed);
        buffer.reserve_exact(doubled - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests;
