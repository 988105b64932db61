//! Messages in a text, plain and behind encodings.
//!
//! A text is surveyed; its marked lines are read as they are and decoded with each encoding that
//! they have marks of; what comes out is a text again, one level deeper. So the same reading serves
//! all levels, and an encoding inside another costs no code of its own.
//!
//! Invariants:
//! - No deeper than `max_depth` levels; each level is walked at most once for each encoding, so that
//!   the work is linear in the text with a factor that the depth alone decides.
//! - Every place that is found is given as a range of the text that was asked about.

use std::ops::Range;

use memchr::memchr;

use super::Layer;
use super::decode::{self, Layers, Place, base64};
use super::line::{Frame, Line};
use super::message::Class;
use super::survey::{Event, Marks, Survey};
use super::value::Reader;

/// A message somewhere in a text.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) class: Class,
    pub(super) is_relaxed: bool,
    /// Whether it is, decoded, a line of its own.
    pub(super) is_line: bool,
    /// The encodings that hide it, outermost first.
    pub(super) layers: Vec<Layer>,
    /// Places inside its opening: text put in there breaks it, whoever reads it.
    pub(super) breaks: Vec<usize>,
}

/// What is in a text.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) found: Vec<Found>,
    /// Colons that may end the name of a header.
    pub(super) headers: Vec<usize>,
    /// Whether there are bytes that control or hidden characters are made of.
    pub(super) has_odd_bytes: bool,
}

/// How a text came about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// The encodings that it came out of.
    depth: usize,
    /// The encodings to look for in it.
    layers: Layers,
    /// Whether a message inside a line counts: one that came out with its brace.
    has_braces: bool,
}

impl Level {
    /// A text as it was given.
    pub(super) const GIVEN: Self = Self { depth: 0, layers: Layers::ALL, has_braces: true };
}

/// The reader of all levels, with its memory kept between texts.
#[derive(Debug)]
pub(super) struct Opener {
    max_depth: usize,
    reader: Reader,
    /// Buffers that no level uses now.
    spare: Vec<Vec<u8>>,
}

/// The length of `{"jsonrpc":"2.0","error":{}}`; nothing shorter is a message that counts.
const MIN_MESSAGE: usize = 28;

/// Spare buffers over this size are given back.
const MAX_SPARE: usize = 64 * 1024;

impl Opener {
    pub(super) fn new(max_depth: usize) -> Self {
        Self { max_depth, reader: Reader::default(), spare: Vec::new() }
    }

    /// Reads `text`.
    pub(super) fn open(&mut self, text: &[u8], level: Level) -> Opened {
        let mut opened = Opened::default();
        let mut survey = Survey::new(text);
        let (mut wants_objects, mut wants_document) = (false, false);
        while let Some(event) = survey.next() {
            match event {
                Event::Line { range, marks } => {
                    let line = text.get(range.clone()).unwrap_or_default();
                    let may_be_part = line.len() < text.len() && may_hide_strings(line, marks);
                    let is_json = self.line(text, range, marks, level, &mut opened.found);
                    wants_objects |=
                        marks.has(Marks::NAME) || level.depth > 0 && marks.has(Marks::CODE);
                    wants_document |= may_be_part && !is_json;
                }
                Event::Run(run) if level.depth < self.max_depth => {
                    let region = base64::region(text, run);
                    survey.skip_runs(region.range.end);
                    if region.is_long() {
                        self.base64(text, &region, level, &mut opened.found);
                    }
                }
                Event::Header(at) if level.depth == 0 => opened.headers.push(at),
                Event::Run(_) | Event::Header(_) => {}
            }
        }
        opened.has_odd_bytes = survey.has_odd_bytes();
        let may_decode = level.depth < self.max_depth && level.layers.has(Layer::Json);
        if wants_document && may_decode && self.reader.sequence(text).is_some() {
            let strings = self.reader.strings().to_vec();
            self.strings(text, &strings, level, &mut opened.found);
        }
        if wants_objects && level.has_braces {
            self.objects(text, &mut opened.found);
        }
        opened
    }

    /// Reads a marked line and says whether it is JSON.
    fn line(
        &mut self,
        text: &[u8],
        range: Range<usize>,
        marks: Marks,
        level: Level,
        found: &mut Vec<Found>,
    ) -> bool {
        let mut read = Line::default();
        if marks.has(Marks::NAME) || marks.has(Marks::CODE) {
            read = Line::read(&mut self.reader, text, range.clone());
        }
        let Line { frames, strings, is_json } = read;
        // An encoding makes nothing longer.
        if level.depth < self.max_depth && range.len() >= MIN_MESSAGE {
            let line = text.get(range.clone()).unwrap_or_default();
            let may_hide_strings = level.layers.has(Layer::Json) && may_hide_strings(line, marks);
            if may_hide_strings {
                self.strings(text, &strings, level, found);
            }
            let layers = [
                (Layer::Backslash, !is_json && may_hide_strings),
                (Layer::Reference, marks.has(Marks::REFERENCE)),
                (Layer::Percent, marks.has(Marks::PERCENT)),
            ];
            for (layer, is_marked) in layers {
                if !is_marked || !level.layers.has(layer) {
                    continue;
                }
                let from = found.len();
                self.decoded(layer, line, level, found);
                shift(found, from, range.start);
                // A frame that an encoding leaves as it is was found before.
                let mut hidden = found.split_off(from);
                hidden.retain(|it| !is_among(&frames, it));
                found.append(&mut hidden);
            }
        }
        found.extend(frames.into_iter().map(Found::of_frame));
        is_json
    }

    /// Reads `text` decoded with `layer`.
    fn decoded(&mut self, layer: Layer, text: &[u8], level: Level, found: &mut Vec<Found>) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        let decoded = decode::decode(layer, text, &mut buffer);
        // A string without escapes is one all the same.
        let is_layer = decoded.has_escapes || layer == Layer::Json;
        if is_layer && buffer.len() >= MIN_MESSAGE {
            let level = Level {
                depth: level.depth + 1,
                layers: Layers::inside(layer).union(decoded.made),
                has_braces: decoded.has_brace,
            };
            let inner = self.open(&buffer, level).found;
            if !inner.is_empty() {
                let places = |positions: &[usize]| decode::locate(layer, text, positions);
                place(inner, layer, &buffer, places, found);
            }
        }
        self.give_back(buffer);
    }

    /// Reads strings, given by their insides.
    fn strings(
        &mut self,
        text: &[u8],
        strings: &[Range<usize>],
        level: Level,
        found: &mut Vec<Found>,
    ) {
        for string in strings.iter().filter(|it| it.len() >= MIN_MESSAGE) {
            let from = found.len();
            let inside = text.get(string.clone()).unwrap_or_default();
            self.decoded(Layer::Json, inside, level, found);
            shift(found, from, string.start);
        }
    }

    /// Reads a region of base64 from each of its first four letters.
    fn base64(
        &mut self,
        text: &[u8],
        region: &base64::Region,
        level: Level,
        found: &mut Vec<Found>,
    ) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        let values = region.values(text);
        for phase in 0..4 {
            base64::decode(values.get(phase..).unwrap_or_default(), &mut buffer);
            // Letters read from the wrong one, or a picture, are bytes and no text; a message in
            // there is found all the same, another encoding is not looked for.
            let depth = if is_text(&buffer) { level.depth + 1 } else { self.max_depth };
            let level = Level { depth, layers: Layers::ALL, has_braces: true };
            let inner = self.open(&buffer, level).found;
            // What stands right before or after the letters is decoded with them, so that a line
            // of its own need not come out as one.
            let is_one_line = |it: &Found| {
                let inside = buffer.get(it.range.clone()).unwrap_or_default();
                !it.layers.is_empty() || memchr(b'\n', inside).is_none()
            };
            let inner: Vec<Found> = inner.into_iter().filter(is_one_line).collect();
            if !inner.is_empty() {
                let places = |positions: &[usize]| {
                    let ranges = region.locate(text, phase, positions).into_iter();
                    let places = ranges.map(|it| Place {
                        start: it.start,
                        end: it.end.min(region.range.end),
                        is_escape: true,
                    });
                    places.collect()
                };
                place(inner, Layer::Base64, &buffer, places, found);
            }
        }
        self.give_back(buffer);
    }

    /// Finds the messages that are no line of their own.
    fn objects(&mut self, text: &[u8], found: &mut Vec<Found>) {
        let mut plain: Vec<Range<usize>> = Vec::new();
        plain.extend(found.iter().filter(|it| it.layers.is_empty()).map(|it| it.range.clone()));
        plain.sort_unstable_by_key(|it| it.start);
        let mut plain = plain.into_iter().peekable();
        let mut covered = 0;
        for object in self.reader.objects(text) {
            let start = object.range.start;
            while let Some(range) = plain.next_if(|it| it.start <= start) {
                covered = covered.max(range.end);
            }
            if start >= covered {
                found.push(Found {
                    range: object.range.clone(),
                    class: object.class,
                    is_relaxed: object.is_relaxed,
                    is_line: false,
                    layers: Vec::new(),
                    breaks: vec![start + 1],
                });
            }
        }
    }

    fn give_back(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= MAX_SPARE {
            self.spare.push(buffer);
        }
    }
}

impl Found {
    fn of_frame(frame: Frame) -> Self {
        Self {
            range: frame.range,
            class: frame.class,
            is_relaxed: frame.is_relaxed,
            is_line: true,
            layers: Vec::new(),
            breaks: frame.braces.into_iter().map(|it| it + 1).collect(),
        }
    }
}

/// Whether a string of the line may hold a message.
fn may_hide_strings(line: &[u8], marks: Marks) -> bool {
    let is_encoded = || marks.has(Marks::REFERENCE) || memchr(b'\\', line).is_some();
    marks.has(Marks::CODE) || marks.has(Marks::NAME) && is_encoded()
}

/// Whether the bytes are text, but for a few at the ends.
fn is_text(bytes: &[u8]) -> bool {
    let is_odd = |it: &&u8| !it.is_ascii() || **it < 0x20 && !it.is_ascii_whitespace();
    bytes.iter().filter(is_odd).count() <= bytes.len() / 8 || std::str::from_utf8(bytes).is_ok()
}

/// Whether one of the frames, which are in order, starts there and is as bad.
fn is_among(frames: &[Frame], found: &Found) -> bool {
    let from = frames.partition_point(|it| it.range.start < found.range.start);
    let mut same = frames.iter().skip(from).take_while(|it| it.range.start == found.range.start);
    same.any(|it| it.class >= found.class)
}

fn shift(found: &mut [Found], from: usize, by: usize) {
    for it in found.iter_mut().skip(from) {
        it.range = it.range.start + by..it.range.end + by;
        it.breaks.iter_mut().for_each(|at| *at += by);
    }
}

/// Moves what was found in the `decoded` text to the text that it was decoded from, and keeps what
/// the encoding hides.
fn place(
    inner: Vec<Found>,
    layer: Layer,
    decoded: &[u8],
    locate: impl FnOnce(&[usize]) -> Vec<Place>,
    found: &mut Vec<Found>,
) {
    // The start, the end, the first quote and the breaks of each.
    let mut positions = Vec::new();
    for it in &inner {
        let inside = decoded.get(it.range.clone()).unwrap_or_default();
        let quote = memchr(b'"', inside).unwrap_or_default();
        positions.extend([it.range.start, it.range.end.saturating_sub(1), it.range.start + quote]);
        positions.extend(it.breaks.iter().map(|at| at.saturating_sub(1)));
    }
    let mut sorted = positions.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let places = locate(&sorted);
    let at = |position: usize| {
        let index = sorted.binary_search(&position).unwrap_or_default();
        places.get(index).copied().unwrap_or_default()
    };
    let mut positions = positions.into_iter();
    let mut next = || at(positions.next().unwrap_or_default());
    for mut it in inner {
        let (start, end, quote) = (next(), next(), next());
        it.breaks.iter_mut().for_each(|at| *at = next().end);
        // With plain quotes, the line is text in which `\n` was written, as in `printf '{…}\n'`:
        // as a string it would be none.
        let is_string = layer != Layer::Backslash || start.is_escape || quote.is_escape;
        if !it.layers.is_empty() || start.is_escape || it.is_line && is_string {
            it.range = start.start..end.end.max(start.end);
            it.layers.insert(0, layer);
            found.push(it);
        }
    }
}
