//! Messages that were found, and where they stand in the text that they came out of.

use std::ops::Range;

use memchr::memchr;

use super::message::Class;
use super::text::{Text, View};
use super::{Layer, MAX_DECODE_DEPTH};

/// A message somewhere in a text.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) class: Class,
    pub(super) is_relaxed: bool,
    /// Whether it is, decoded, a line of its own.
    pub(super) is_line: bool,
    pub(super) path: Path,
    pub(super) breaks: Breaks,
}

/// The encodings that hide something, outermost first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Path([Option<Layer>; MAX_DECODE_DEPTH]);

/// Places inside the openings of messages, one at least: text put in there breaks them, whoever
/// reads it.
#[derive(Clone, Debug)]
pub(super) struct Breaks {
    first: usize,
    more: Vec<usize>,
}

impl Found {
    /// A message, or several in a row, or a batch, that is a line. `braces` is where they open.
    pub(super) fn line(
        range: Range<usize>,
        class: Class,
        is_relaxed: bool,
        mut braces: impl Iterator<Item = usize>,
    ) -> Self {
        let first = braces.next().unwrap_or(range.start) + 1;
        let breaks = Breaks { first, more: braces.map(|it| it + 1).collect() };
        Self { range, class, is_relaxed, is_line: true, path: Path::default(), breaks }
    }

    pub(super) fn inside_a_line(range: Range<usize>, class: Class, is_relaxed: bool) -> Self {
        let breaks = Breaks { first: range.start + 1, more: Vec::new() };
        Self { range, class, is_relaxed, is_line: false, path: Path::default(), breaks }
    }

    /// Whether a message that was found in `text` itself counts there: whether the encodings that the
    /// text came out of hid it.
    pub(super) fn counts_in(&self, text: View<'_>) -> bool {
        let Some(layer) = text.layer else { return true };
        let start = self.range.start;
        let inside = text.get(&self.range);
        if !self.is_line {
            // Of base64, what stands right before or after the letters is decoded with them, so that
            // a line of its own need not come out as one.
            let may_count = layer != Layer::Base64 || memchr(b'\n', inside).is_none();
            return may_count && text.is_escape(start) && text.is_touched(&self.range);
        }
        // With plain quotes, the line is text in which `\n` was written, as in `printf '{…}\n'`:
        // as a string it would be none.
        let has_escaped_quote = || text.is_escape(start + memchr(b'"', inside).unwrap_or_default());
        layer != Layer::Backslash || text.is_escape(start) || has_escaped_quote()
    }

    /// Whether one of the frames, which are in order, starts there and is as bad.
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

    pub(super) fn layers(self) -> impl Iterator<Item = Layer> {
        self.0.into_iter().flatten()
    }

    /// The encoding, if it is only one.
    pub(super) fn only(self) -> Option<Layer> {
        let [first, second, ..] = self.0;
        first.filter(|_| second.is_none())
    }

    /// The same inside of `layer`.
    fn inside(mut self, layer: Layer) -> Self {
        self.0.rotate_right(1);
        let [first, ..] = &mut self.0;
        *first = Some(layer);
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

/// Moves what was found in the decoded text `inner`, from the index `from` on, to the text that it was
/// decoded from.
pub(super) fn place(found: &mut [Found], from: usize, layer: Layer, outer: View<'_>, inner: &Text) {
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
    inner.locate(layer, outer, &positions, &mut places);
    // What is asked for is nearly always next.
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
        it.path = it.path.inside(layer);
    }
}
