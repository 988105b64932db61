//! The messages found in a text, and their positions in the text that it was decoded from.

use std::ops::Range;

use memchr::memchr;

use super::message::MessageClass;
use super::text::{DecodedText, View};
use super::{Encoding, MAX_DECODE_DEPTH};

/// A message in a text.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) class: MessageClass,
    pub(super) is_relaxed: bool,
    /// Set if it is a line of its own after decoding.
    pub(super) is_line: bool,
    pub(super) path: Path,
    pub(super) breaks: Breaks,
}

/// Hidden characters that came out of an encoding.
#[derive(Clone, Debug)]
pub(super) struct Veiled {
    pub(super) range: Range<usize>,
    pub(super) path: Path,
}

/// The encodings that hide a message, outermost first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Path([Option<Encoding>; MAX_DECODE_DEPTH]);

/// Positions right after the opening braces of messages, at least one. Text inserted there breaks
/// the messages for every reader.
#[derive(Clone, Debug)]
pub(super) struct Breaks {
    first: usize,
    more: Vec<usize>,
}

impl Found {
    /// Creates the entry for a line that is a message, several messages in a row, or a batch.
    /// `braces` are their opening braces.
    pub(super) fn line(
        range: Range<usize>,
        class: MessageClass,
        is_relaxed: bool,
        mut braces: impl Iterator<Item = usize>,
    ) -> Self {
        let first = braces.next().unwrap_or(range.start) + 1;
        let breaks = Breaks { first, more: braces.map(|it| it + 1).collect() };
        Self { range, class, is_relaxed, is_line: true, path: Path::default(), breaks }
    }

    pub(super) fn inside_a_line(
        range: Range<usize>,
        class: MessageClass,
        is_relaxed: bool,
    ) -> Self {
        let breaks = Breaks { first: range.start + 1, more: Vec::new() };
        Self { range, class, is_relaxed, is_line: false, path: Path::default(), breaks }
    }

    /// Returns true if a message counts in `text`: the encodings that the text was decoded from
    /// must have hidden it.
    pub(super) fn counts_in(&self, text: View<'_>) -> bool {
        let Some(encoding) = text.encoding else { return true };
        let start = self.range.start;
        let inside = text.get(&self.range);
        if !self.is_line {
            // In base64, the text right before and after a message is decoded with it, so a planted
            // line need not come out as a line of its own.
            let may_count = encoding != Encoding::Base64 || memchr(b'\n', inside).is_none();
            return may_count && text.is_escape(start) && text.is_touched(&self.range);
        }
        // With plain quotes, the line is text with a written `\n`, as in `printf '{…}\n'`. As a
        // JSON string it would not be valid.
        let has_escaped_quote = || text.is_escape(start + memchr(b'"', inside).unwrap_or_default());
        encoding != Encoding::Backslash || text.is_escape(start) || has_escaped_quote()
    }

    /// Returns true if one of the sorted frames starts at the same position and is at least as
    /// severe.
    pub(super) fn is_among(&self, frames: &[Self]) -> bool {
        let start = self.range.start;
        let from = frames.partition_point(|it| it.range.start < start);
        let mut same = frames.iter().skip(from).take_while(|it| it.range.start == start);
        same.any(|it| it.class >= self.class)
    }
}

impl Path {
    pub(super) fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(super) fn encodings(self) -> impl Iterator<Item = Encoding> {
        self.0.into_iter().flatten()
    }

    /// Returns the encoding, if there is exactly one.
    pub(super) fn only(self) -> Option<Encoding> {
        let [first, second, ..] = self.0;
        first.filter(|_| second.is_none())
    }

    /// Returns the path with `encoding` around it.
    pub(super) fn inside(mut self, encoding: Encoding) -> Self {
        self.0.rotate_right(1);
        let [first, ..] = &mut self.0;
        *first = Some(encoding);
        self
    }
}

impl Breaks {
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        std::iter::once(&mut self.first).chain(&mut self.more)
    }
}

/// Moves the results for the decoded text `inner`, from the index `from` on, to positions in the
/// text that it was decoded from.
pub(super) fn place(
    found: &mut [Found],
    from: usize,
    encoding: Encoding,
    outer: View<'_>,
    inner: &DecodedText,
) {
    let Some(found) = found.get_mut(from..).filter(|it| !it.is_empty()) else { return };
    let mut positions = Vec::with_capacity(3 * found.len());
    for it in found.iter() {
        positions.push(it.range.start);
        positions.extend(it.breaks.iter().map(|at| at.saturating_sub(1)));
        positions.push(it.range.end.saturating_sub(1));
    }
    if !positions.is_sorted() {
        positions.sort_unstable();
        positions.dedup();
    }
    let mut places = Vec::with_capacity(positions.len());
    inner.locate(encoding, outer, &positions, &mut places);
    // Positions are nearly always requested in order.
    let mut next = 0;
    let mut at = |position: usize| {
        if positions.get(next) != Some(&position) {
            next = positions.binary_search(&position).unwrap_or_default();
        }
        next += 1;
        places.get(next - 1).cloned().unwrap_or_default()
    };
    for it in found {
        let start = at(it.range.start);
        it.breaks.iter_mut().for_each(|place| *place = at(place.saturating_sub(1)).end);
        let end = at(it.range.end.saturating_sub(1)).end;
        it.range = start.start..end.max(start.end);
        it.path = it.path.inside(encoding);
    }
}
