//! The texts of all levels: the original, and those decoded from it.
//!
//! All parts that one encoding hides in a text are decoded into one text of the next level,
//! separated by line ends. So ten thousand short strings cost no more than a long one.

use std::ops::Range;

use memchr::memchr;

use super::Encoding;
use super::decode::{self, Encodings, Out, base64, tag};

/// Length of `{"jsonrpc":"2.0","error":{}}`; no shorter message counts.
pub(super) const MIN_MESSAGE: usize = 28;

/// Length of the longest line end, in bytes.
pub(super) const MAX_END: usize = 3;

/// Least number of consecutive hidden characters behind an encoding that count.
const MIN_ROW: usize = 8;

/// A text with its metadata.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) bytes: &'a [u8],
    /// A tag for each byte; empty for the original text.
    pub(super) tags: &'a [u8],
    pub(super) units: &'a [Unit],
    /// Number of encodings that it was decoded from, and the last of them.
    pub(super) depth: usize,
    pub(super) encoding: Option<Encoding>,
}

/// A part that was decoded as a text of its own: a line, a string, a region of base64.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) range: Range<usize>,
    /// Range in the text that it was decoded from.
    source: Range<usize>,
    /// Number of base64 letters skipped before it.
    phase: usize,
    /// The encodings to look for in it.
    pub(super) encodings: Encodings,
    /// Set if a message inside a line counts, because its brace was decoded.
    pub(super) has_braces: bool,
    /// Set if it is text, so that it may contain further encodings.
    pub(super) is_text: bool,
}

impl Unit {
    /// Creates the unit of the original text.
    pub(super) fn given(length: usize) -> Self {
        let (encodings, range, source) = (Encodings::ALL, 0..length, 0..length);
        Self { range, source, phase: 0, encodings, has_braces: true, is_text: true }
    }
}

impl<'a> View<'a> {
    pub(super) fn get(&self, range: &Range<usize>) -> &'a [u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Returns true if each encoding contributed to `range`, or to its delimiters.
    ///
    /// If one did not, the same text exists at a level without that encoding, and was read there.
    pub(super) fn is_touched(&self, range: &Range<usize>) -> bool {
        let wanted = tag::levels(self.depth);
        let around = range.start.saturating_sub(MAX_END)..self.tags.len().min(range.end + MAX_END);
        wanted == 0 || tag::union(self.tags.get(around).unwrap_or_default()) & wanted == wanted
    }

    /// Returns the next position that came out of the last encoding, from `from` on or in a line
    /// end before it.
    pub(super) fn next_touched(&self, from: usize) -> Option<usize> {
        let Some(level) = self.depth.checked_sub(1) else { return Some(from) };
        tag::find(1 << level, self.tags, from.saturating_sub(MAX_END))
    }

    /// Returns the next opening brace of the unit, from `from` on, with which a message that counts
    /// may start: in a decoded text, one that was written as an escape.
    pub(super) fn next_brace(&self, unit: &Unit, mut from: usize) -> Option<usize> {
        let bytes = self.bytes.get(..unit.range.end)?;
        loop {
            let brace = from + memchr(b'{', bytes.get(from..)?)?;
            if self.depth == 0 || self.is_escape(brace) {
                return Some(brace);
            }
            from = tag::find(tag::ESCAPE, self.tags, brace)?;
        }
    }

    /// Returns true if the byte was written as an escape.
    pub(super) fn is_escape(&self, at: usize) -> bool {
        self.tags.get(at).is_some_and(|it| it & tag::ESCAPE != 0)
    }
}

/// A decoded text.
#[derive(Debug, Default)]
pub(super) struct DecodedText {
    bytes: Vec<u8>,
    tags: Vec<u8>,
    units: Vec<Unit>,
    /// The values of base64 letters, before they are combined into bytes.
    values: Vec<u8>,
}

/// Limit on memory that is reused; larger buffers are freed.
const MAX_SPARE: usize = 256 * 1024;

impl DecodedText {
    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    pub(super) fn is_small(&self) -> bool {
        self.bytes.capacity() <= MAX_SPARE
    }

    pub(super) fn view(&self, depth: usize, encoding: Encoding) -> View<'_> {
        let Self { bytes, tags, units, .. } = self;
        View { bytes, tags, units, depth, encoding: Some(encoding) }
    }

    /// Decodes the parts of `from` at `sources` with `encoding`.
    pub(super) fn decode(&mut self, encoding: Encoding, from: View<'_>, sources: &[Range<usize>]) {
        self.bytes.clear();
        self.tags.clear();
        self.units.clear();
        for source in sources {
            if encoding == Encoding::Base64 {
                self.add_base64(from, source);
            } else {
                self.add(encoding, from, source);
            }
        }
    }
    fn add(&mut self, encoding: Encoding, from: View<'_>, source: &Range<usize>) {
        let start = self.bytes.len();
        let out = Out { bytes: &mut self.bytes, tags: &mut self.tags };
        let decoded =
            decode::decode(encoding, (from.bytes, from.tags), source.clone(), from.depth, out);
        // A JSON string without escapes is still a string.
        let is_encoding = decoded.has_escapes || encoding == Encoding::Json;
        // Too short for a message, or nothing was decoded.
        if !is_encoding || self.bytes.len() < start + MIN_MESSAGE {
            self.bytes.truncate(start);
            self.tags.truncate(start);
            return;
        }
        self.end(Unit {
            range: start..self.bytes.len(),
            source: source.clone(),
            phase: 0,
            encodings: Encodings::inside(encoding).union(decoded.made),
            has_braces: decoded.has_brace,
            is_text: true,
        });
    }

    /// Decodes a region of base64 from each of its first four letters.
    fn add_base64(&mut self, from: View<'_>, source: &Range<usize>) {
        let mut values = std::mem::take(&mut self.values);
        base64::values(from.get(source), &mut values);
        for phase in 0..4 {
            let start = self.bytes.len();
            base64::decode(values.get(phase..).unwrap_or_default(), &mut self.bytes);
            // Base64 encodes every byte, so all of them count as escaped.
            self.tags.resize(self.bytes.len(), tag::levels(from.depth + 1) | tag::ESCAPE);
            // Letters decoded from the wrong offset, or an image, are no text. A message in there
            // is still found, but further encodings are not searched.
            let is_text = is_text(self.bytes.get(start..).unwrap_or_default());
            self.end(Unit {
                range: start..self.bytes.len(),
                source: source.clone(),
                phase,
                encodings: Encodings::ALL,
                has_braces: true,
                is_text,
            });
        }
        self.values = values;
    }

    fn end(&mut self, unit: Unit) {
        self.bytes.push(b'\n');
        self.tags.push(tag::BOUNDARY);
        self.units.push(unit);
    }

    /// Finds the first row of hidden characters that was written in escapes.
    ///
    /// Escapes are how source code lists such characters, so only a row longer than any flag
    /// counts: tag characters, and the selectors of ideographs.
    pub(super) fn veiled(&self) -> Option<Range<usize>> {
        let mut from = 0;
        loop {
            let start = from + memchr(0xf3, self.bytes.get(from..)?)?;
            let (chars, _) = self.bytes.get(start..)?.as_chunks::<4>();
            let is_hidden = |it: &&[u8; 4]| matches!(it, [0xf3, 0xa0, 0x80..=0x87, _]);
            let end = start + 4 * chars.iter().take_while(is_hidden).count();
            let is_escape = self.tags.get(start).is_some_and(|it| it & tag::ESCAPE != 0);
            if is_escape && end - start >= 4 * MIN_ROW {
                return Some(start..end);
            }
            from = end.max(start + 1);
        }
    }

    /// Returns the range in the text that was decoded from which `range` came.
    pub(super) fn source(
        &self,
        encoding: Encoding,
        from: View<'_>,
        range: &Range<usize>,
    ) -> Option<Range<usize>> {
        let mut places = Vec::new();
        self.locate(encoding, from, &[range.start, range.end.saturating_sub(1)], &mut places);
        Some(places.first()?.start..places.last()?.end)
    }

    /// Finds the positions of the bytes at the sorted `positions` in the text that was decoded.
    pub(super) fn locate(
        &self,
        encoding: Encoding,
        from: View<'_>,
        mut positions: &[usize],
        places: &mut Vec<Range<usize>>,
    ) {
        places.clear();
        let mut units = self.units.iter();
        while let Some(first) = positions.first() {
            let Some(unit) = units.find(|it| *first < it.range.end) else { return };
            let count = positions.iter().take_while(|it| **it < unit.range.end).count();
            let (inside, rest) = positions.split_at_checked(count).unwrap_or((positions, &[]));
            positions = rest;
            let inside = inside.iter().map(|it| it.saturating_sub(unit.range.start));
            let source = unit.source.clone();
            match encoding {
                Encoding::Base64 => base64::locate(from.bytes, source, unit.phase, inside, places),
                _ => decode::locate(encoding, from.bytes, source, inside, places),
            }
        }
    }
}

/// Returns true if the bytes are text, except for a few at the ends.
fn is_text(bytes: &[u8]) -> bool {
    let is_odd = |it: &u8| u8::from(!it.is_ascii() | (*it < 0x20) & !it.is_ascii_whitespace());
    // The sum of 128 ones fits into a byte, so the compiler can vectorize it.
    let count = |part: &[u8]| usize::from(part.iter().map(is_odd).sum::<u8>());
    bytes.chunks(128).map(count).sum::<usize>() <= bytes.len() / 8
        || std::str::from_utf8(bytes).is_ok()
}
