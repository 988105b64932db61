//! Finds the messages in a text, both plain and encoded.
//!
//! The prefilter surveys a text. Its marked lines are parsed as they are, and decoded with each
//! encoding that they have marks of. The result is a text again, one level deeper. So the same code
//! reads all levels, and nested encodings need no code of their own.
//!
//! Invariants:
//! - There are at most `max_depth` levels, and each level is read at most once per encoding. So the
//!   work is linear in the text, with a factor that depends on the depth alone.
//! - Text that an encoding leaves unchanged is not read again at the next level.
//! - Every result is given as a range of the original text.

use std::ops::Range;

use memchr::memchr;

use super::Encoding;
use super::decode::base64;
use super::found::{Found, Path, Veiled, place};
use super::line::Lines;
use super::survey::{Marks, Part, Survey};
use super::text::{DecodedText, MIN_MESSAGE, Unit, View};

/// Result for one text.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) found: Vec<Found>,
    /// Hidden characters behind an encoding: the first row of each decoded text.
    pub(super) veiled: Vec<Veiled>,
    /// Positions right after the word of a pattern.
    pub(super) triggers: Vec<usize>,
    /// Set if there are bytes that control or hidden characters are made of.
    pub(super) has_odd_bytes: bool,
}

/// Reads all levels, and reuses its memory between texts.
#[derive(Debug)]
pub(super) struct Opener {
    max_depth: usize,
    lines: Lines,
    /// Texts and jobs that no level uses at the moment.
    texts: Vec<DecodedText>,
    jobs: Vec<Jobs>,
}

/// The messages of one text, and the parts of it to decode.
#[derive(Debug, Default)]
struct Jobs {
    /// The messages that are lines, in order.
    frames: Vec<Found>,
    /// For each encoding, the parts in which it may hide a message.
    parts: [Vec<Range<usize>>; ENCODINGS.len()],
}

/// In the order of decoding.
const ENCODINGS: [Encoding; 5] =
    [Encoding::Base64, Encoding::Json, Encoding::Backslash, Encoding::Reference, Encoding::Percent];

/// The searches that a unit as a whole needs.
#[derive(Clone, Copy, Debug, Default)]
struct Wants {
    objects: bool,
    document: bool,
}

impl Opener {
    pub(super) fn new(max_depth: usize) -> Self {
        Self { max_depth, lines: Lines::default(), texts: Vec::new(), jobs: Vec::new() }
    }

    /// Reads the original text.
    pub(super) fn open(&mut self, text: &[u8]) -> Opened {
        let units = [Unit::given(text.len())];
        let view = View { bytes: text, tags: &[], units: &units, depth: 0, encoding: None };
        let mut opened = Opened::default();
        self.read(view, &mut opened);
        // One huge text must not keep its memory for the whole session.
        self.texts.retain(DecodedText::is_small);
        opened
    }

    /// Reads a text of any level. Results are given as positions in that text.
    fn read(&mut self, text: View<'_>, opened: &mut Opened) {
        let mut jobs = self.jobs.pop().unwrap_or_default();
        let mut survey = Survey::new(text.bytes);
        let mut wants = Wants::default();
        // The survey reports a run before the line that contains it.
        let (mut units, mut units_of_runs) = (text.units, text.units);
        while let Some(event) = survey.next() {
            match event {
                Part::Line { range, marks } => {
                    while let Some((unit, rest)) = units.split_first()
                        && unit.range.end < range.start
                    {
                        self.unit(text, unit, std::mem::take(&mut wants), &mut jobs, opened);
                        units = rest;
                    }
                    if let Some(unit) = units.first().filter(|_| text.is_touched(&range)) {
                        self.line(text, unit, range, marks, &mut wants, &mut jobs);
                    }
                }
                Part::Run(run) if text.depth < self.max_depth => {
                    while let Some((unit, rest)) = units_of_runs.split_first()
                        && unit.range.end < run.start
                    {
                        units_of_runs = rest;
                    }
                    // A region may continue on the next lines, so its later runs are skipped.
                    let region = base64::region(text.bytes, text.tags, run);
                    survey.skip_runs(region.range.end);
                    let is_text = units_of_runs.first().is_some_and(|it| it.is_text);
                    if is_text && region.is_long() && text.is_touched(&region.range) {
                        jobs.add(Encoding::Base64, region.range);
                    }
                }
                Part::Trigger(at) if text.depth == 0 => opened.triggers.push(at),
                Part::Run(_) | Part::Trigger(_) => {}
            }
        }
        if let Some(unit) = units.first() {
            self.unit(text, unit, wants, &mut jobs, opened);
        }
        if text.depth == 0 {
            opened.has_odd_bytes = survey.has_odd_bytes();
        }
        self.decode(text, &mut jobs, opened);
        opened.found.extend(jobs.frames.drain(..).filter(|it| it.counts_in(text)));
        self.jobs.push(jobs);
    }

    /// Reads a marked line.
    fn line(
        &mut self,
        text: View<'_>,
        unit: &Unit,
        range: Range<usize>,
        marks: Marks,
        wants: &mut Wants,
        jobs: &mut Jobs,
    ) {
        let line = text.get(&range);
        let is_named = marks.has(Marks::NAME) || marks.has(Marks::CODE);
        let may_hide_strings = is_named && may_hide_strings(line, marks);
        let is_json = is_named && self.lines.read(text, range.clone());
        wants.objects |= marks.has(Marks::NAME) || text.depth > 0 && marks.has(Marks::CODE);
        // A line that is no JSON may be part of a value over several lines.
        wants.document |= line.len() < unit.range.len() && may_hide_strings && !is_json;
        // Decoding never makes a text longer, so a shorter line cannot hide a message.
        if text.depth < self.max_depth && unit.is_text && line.len() >= MIN_MESSAGE {
            if may_hide_strings && unit.encodings.has(Encoding::Json) {
                let strings = self.lines.strings().iter();
                strings.for_each(|it| jobs.add(Encoding::Json, it.clone()));
            }
            let encodings = [
                (Encoding::Backslash, !is_json && may_hide_strings),
                (Encoding::Reference, marks.has(Marks::REFERENCE)),
                (Encoding::Percent, marks.has(Marks::PERCENT)),
            ];
            for (encoding, is_marked) in encodings {
                if is_marked && unit.encodings.has(encoding) {
                    jobs.add(encoding, range.clone());
                }
            }
        }
        if is_named {
            jobs.frames.append(self.lines.frames());
        }
    }

    /// Reads a unit as a whole, after its lines: values that span several lines, and messages that
    /// are not a line of their own.
    fn unit(
        &mut self,
        text: View<'_>,
        unit: &Unit,
        wants: Wants,
        jobs: &mut Jobs,
        opened: &mut Opened,
    ) {
        let start = unit.range.start;
        let bytes = text.bytes.get(..unit.range.end).unwrap_or_default();
        let may_open = text.depth < self.max_depth && unit.is_text;
        let reader = self.lines.reader();
        if wants.document
            && may_open
            && unit.encodings.has(Encoding::Json)
            && reader.document(bytes, start)
        {
            reader.strings().iter().for_each(|it| jobs.add(Encoding::Json, it.clone()));
        }
        if !wants.objects || !unit.has_braces {
            return;
        }
        let from = jobs.frames.partition_point(|it| it.range.start < start);
        let mut frames = jobs.frames.iter().skip(from).peekable();
        let mut covered = 0;
        for object in reader.objects(bytes, start, |from| text.next_brace(unit, from)) {
            let range = object.range.clone();
            while let Some(frame) = frames.next_if(|it| it.range.start <= range.start) {
                covered = covered.max(frame.range.end);
            }
            // Objects inside of a frame belong to that frame.
            if range.start >= covered {
                let found = Found::inside_a_line(range, object.class, object.is_relaxed);
                opened.found.extend(Some(found).filter(|it| it.counts_in(text)));
            }
        }
    }

    /// Decodes all encodings of a text.
    fn decode(&mut self, text: View<'_>, jobs: &mut Jobs, opened: &mut Opened) {
        let Jobs { frames, parts } = jobs;
        for (encoding, parts) in ENCODINGS.into_iter().zip(parts) {
            if parts.is_empty() {
                continue;
            }
            if encoding == Encoding::Json {
                // A string of a line may also be a string of the document.
                parts.sort_by_key(|it| (it.start, it.end));
                parts.dedup();
            }
            let mut inner = self.texts.pop().unwrap_or_default();
            inner.decode(encoding, text, parts);
            parts.clear();
            if !inner.is_empty() {
                let from = opened.found.len();
                let first = opened.veiled.len();
                if let Some(range) = inner.veiled() {
                    opened.veiled.push(Veiled { range, path: Path::default() });
                }
                self.read(inner.view(text.depth + 1, encoding), opened);
                place(&mut opened.found, from, encoding, text, &inner);
                for it in opened.veiled.iter_mut().skip(first) {
                    it.range = inner.source(encoding, text, &it.range).unwrap_or_default();
                    it.path = it.path.inside(encoding);
                }
                if !matches!(encoding, Encoding::Base64 | Encoding::Json) {
                    // A frame that an encoding leaves unchanged was already found.
                    opened.found.extract_if(from.., |it| it.is_among(frames)).for_each(drop);
                }
            }
            self.texts.push(inner);
        }
    }
}

impl Jobs {
    fn add(&mut self, encoding: Encoding, part: Range<usize>) {
        let index = ENCODINGS.iter().position(|it| *it == encoding);
        if let Some(parts) = index.and_then(|it| self.parts.get_mut(it)) {
            parts.push(part);
        }
    }
}

/// Returns true if a string on the line may contain a message.
fn may_hide_strings(line: &[u8], marks: Marks) -> bool {
    let is_encoded = || marks.has(Marks::REFERENCE) || memchr(b'\\', line).is_some();
    marks.has(Marks::CODE) || marks.has(Marks::NAME) && is_encoded()
}
