//! The prefilter: reads every byte once, and reports the lines and runs to parse, and odd bytes.
//!
//! It has no false negatives: the parts that it does not report cannot contain a finding.
//! - A message has a key that folds to `jsonrpc`. Either its seven letters are in the text (in any
//!   case, `s` also as `ſ`), which [`Marks::NAME`] reports, or one of them is written as a `\u` or
//!   `\x` escape, which [`Marks::CODE`] reports.
//! - Behind backslash escapes its letters are still in the text, or one is such an escape.
//! - Behind another encoding it needs a character reference, a `%` before a hexadecimal digit or
//!   `u`, or a run of [`MIN_RUN`] base64 letters.
//! - The word of a [`Pattern`](super::pattern::Pattern) ends with its letter and its byte.
//! - Control and invisible characters are odd bytes: below 0x20 except TAB, LF, FF and CR, or 0x7f,
//!   or above.
//!
//! Invariant: 64 bytes are read at once. A byte is read again only next to one of the above, and
//! once per line to find the ends of the line.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch};
use memchr::{memchr, memrchr};

use super::block::{BLOCK, Masks, letters, likely, run_length, runs_of_16};
use super::pattern::{Carry, is_trigger};

pub(super) use super::block::is_base64;

/// Number of consecutive base64 letters that make a run.
///
/// A shorter run inside prose is a word. A message has at least 36 bytes, which is 48 letters in
/// base64, so only text wrapped at less than this evades detection.
pub(super) const MIN_RUN: usize = 16;

/// The marks of a line.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Marks(u8);

impl Marks {
    /// The letters `jsonrpc`.
    pub(super) const NAME: Self = Self(1);
    /// A backslash escape that may stand for a letter or a slash.
    pub(super) const CODE: Self = Self(1 << 1);
    /// An HTML character reference.
    pub(super) const REFERENCE: Self = Self(1 << 2);
    /// A percent escape.
    pub(super) const PERCENT: Self = Self(1 << 3);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A part of the text to parse.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A line (between two LF) with marks.
    Line { range: Range<usize>, marks: Marks },
    /// At least [`MIN_RUN`] base64 letters.
    Run(Range<usize>),
    /// The byte after the word of a pattern.
    Trigger(usize),
}

/// The survey of one text.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    text: &'a [u8],
    /// Start of the next block.
    next: usize,
    /// Start of the block that the bits below belong to.
    base: usize,
    rare: u64,
    triggers: u64,
    carry: Carry,
    /// Number of bytes before `next` that do not break a run, at most [`MIN_RUN`].
    calm: u32,
    /// Starts of runs in this block.
    runs: u64,
    /// Start of a run that reaches into this block.
    run_before: Option<usize>,
    /// Runs before this position are skipped.
    runs_done: usize,
    /// The line with marks that has not been reported yet.
    line: Range<usize>,
    marks: Marks,
    /// Set bits show that there were odd bytes.
    odd: u64,
}

impl<'a> Survey<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            next: 0,
            base: 0,
            rare: 0,
            triggers: 0,
            carry: Carry::default(),
            calm: 0,
            runs: 0,
            run_before: None,
            runs_done: 0,
            line: 0..0,
            marks: Marks::default(),
            odd: 0,
        }
    }

    /// Returns true if there were odd bytes so far.
    pub(super) fn has_odd_bytes(&self) -> bool {
        self.odd != 0
    }

    /// Skips runs before `end`.
    pub(super) fn skip_runs(&mut self, end: usize) {
        self.runs_done = self.runs_done.max(end);
    }

    /// Returns the next part to parse.
    pub(super) fn next(&mut self) -> Option<Part> {
        loop {
            if let Some(run) = self.next_run() {
                return Some(Part::Run(run));
            }
            if self.triggers != 0 {
                let at = self.base + self.triggers.trailing_zeros() as usize;
                self.triggers &= self.triggers - 1;
                return Some(Part::Trigger(at));
            }
            while self.rare != 0 {
                let at = self.base + self.rare.trailing_zeros() as usize;
                self.rare &= self.rare - 1;
                let mark = mark(self.text.get(at..).unwrap_or_default()).unwrap_or_default();
                if let Some(event) = self.take_mark(at, mark) {
                    return Some(event);
                }
            }
            if !self.advance() {
                return self.flush();
            }
        }
    }

    /// Reads blocks up to one with a match.
    fn advance(&mut self) -> bool {
        dispatch!(Level::new(), simd => self.advance_with(simd))
    }

    #[inline(always)]
    fn advance_with<S: Simd>(&mut self, simd: S) -> bool {
        let (blocks, tail) = self.text.get(self.next..).unwrap_or_default().as_chunks::<BLOCK>();
        for block in blocks {
            if self.look(simd, block) {
                return true;
            }
        }
        if tail.is_empty() {
            return false;
        }
        // Blanks match nothing, so they pad the last block.
        let mut last = [b' '; BLOCK];
        for (to, from) in last.iter_mut().zip(tail) {
            *to = *from;
        }
        self.look(simd, &last);
        true
    }

    #[inline(always)]
    fn look<S: Simd>(&mut self, simd: S, block: &[u8; BLOCK]) -> bool {
        let masks = Masks::of(simd, block);
        self.odd |= masks.odd;
        self.base = self.next;
        self.next += BLOCK;
        self.rare = masks.rare;
        self.triggers = masks.pairs.candidates(&mut self.carry);
        // Most rare bytes turn out to be harmless; they are dropped here at once.
        let has_mark = self.rare | self.triggers != 0 && self.drop_nothings(simd, block);
        let has_run = self.find_calm_run(masks.breaks) && self.find_runs(simd, block);
        has_run || has_mark
    }

    /// Keeps the candidates of this block that are marks. Returns true if any is left.
    #[inline(always)]
    fn drop_nothings<S: Simd>(&mut self, simd: S, block: &[u8; BLOCK]) -> bool {
        let text = self.text;
        // For one or two bytes, the vector check costs more than it saves.
        if self.rare.count_ones() > 2 {
            self.rare = self.news(simd, block);
        }
        self.rare = self.only(self.rare, |at| text.get(at..).is_some_and(|it| mark(it).is_some()));
        self.triggers = self.only(self.triggers, |at| is_trigger(text, at));
        self.rare | self.triggers != 0
    }

    /// Returns the possible marks that the current line does not have yet.
    #[inline(always)]
    fn news<S: Simd>(&self, simd: S, block: &[u8; BLOCK]) -> u64 {
        let likely = likely(simd, block);
        // The line that the marks belong to may end in this block.
        let inside = self.line.end.saturating_sub(self.base);
        let known = if inside < BLOCK { !(u64::MAX << inside) } else { u64::MAX };
        let mut news = 0;
        for (mask, mark) in [
            (likely.name, Marks::NAME),
            (likely.code, Marks::CODE),
            (likely.reference, Marks::REFERENCE),
            (likely.percent, Marks::PERCENT),
        ] {
            news |= if self.marks.has(mark) { mask & !known } else { mask };
        }
        news
    }

    /// Returns the bits of `mask` whose positions pass `test`.
    #[inline]
    fn only(&self, mask: u64, test: impl Fn(usize) -> bool) -> u64 {
        let (mut rest, mut kept) = (mask, mask);
        while rest != 0 {
            let bit = rest & rest.wrapping_neg();
            let at = self.base + rest.trailing_zeros() as usize;
            if !test(at) {
                kept ^= bit;
            }
            rest ^= bit;
        }
        kept
    }

    /// Returns true if this block contains, or ends, [`MIN_RUN`] bytes without a break.
    #[inline]
    fn find_calm_run(&mut self, breaks: u64) -> bool {
        let calm = !breaks;
        // A run may start in the previous block.
        let leads = calm.trailing_ones() + self.calm;
        self.calm = calm.leading_ones().min(16);
        runs_of_16(calm) != 0 || leads >= 16
    }

    /// Finds the runs that are in this block or reach into it.
    #[inline(always)]
    fn find_runs<S: Simd>(&mut self, simd: S, block: &[u8; BLOCK]) -> bool {
        let letters = letters(simd, block);
        let runs = runs_of_16(letters);
        // Keeps the first position of each run only.
        self.runs = runs & !(runs << 1);
        let before = self.text.get(..self.base).unwrap_or_default();
        let leads = before.iter().rev().take(MIN_RUN).take_while(|it| is_base64(**it)).count();
        if leads > 0 {
            // Letters at the start of this block continue an earlier run.
            self.runs &= !1;
            let is_run = leads + letters.trailing_ones() as usize >= MIN_RUN;
            self.run_before = is_run.then(|| self.base - leads);
        }
        self.runs != 0 || self.run_before.is_some()
    }

    /// Returns the next run.
    fn next_run(&mut self) -> Option<Range<usize>> {
        loop {
            let start = match self.run_before.take() {
                Some(start) => start,
                None if self.runs == 0 => return None,
                None => {
                    let start = self.base + self.runs.trailing_zeros() as usize;
                    self.runs &= self.runs - 1;
                    start
                }
            };
            // A region that was followed over lines includes its later runs.
            if start >= self.runs_done {
                let rest = self.text.get(start..).unwrap_or_default();
                let end = start + run_length(rest);
                self.skip_runs(end);
                return Some(start..end);
            }
        }
    }

    /// Adds a mark to its line. Returns the previous line if the mark starts a new one.
    fn take_mark(&mut self, at: usize, mark: Marks) -> Option<Part> {
        if at < self.line.end {
            self.marks.add(mark);
            return None;
        }
        let done = self.flush();
        let before = self.text.get(self.line.end..at).unwrap_or_default();
        let start = memrchr(b'\n', before).map_or(self.line.end, |it| self.line.end + it + 1);
        let after = self.text.get(at..).unwrap_or_default();
        let end = memchr(b'\n', after).map_or(self.text.len(), |it| at + it);
        self.line = start..end;
        self.marks = mark;
        done
    }

    fn flush(&mut self) -> Option<Part> {
        let marks = std::mem::take(&mut self.marks);
        (marks != Marks::default()).then(|| Part::Line { range: self.line.clone(), marks })
    }
}

/// Returns the mark that starts with this rare byte.
#[inline]
pub(super) fn mark(rest: &[u8]) -> Option<Marks> {
    match rest {
        [b'\\', b'u' | b'U' | b'x' | b'/', ..] => Some(Marks::CODE),
        [b'&', rest @ ..] if is_reference(rest) => Some(Marks::REFERENCE),
        [b'%', b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b'u', ..] => Some(Marks::PERCENT),
        [b'j' | b'J', rest @ ..] if is_name(rest) => Some(Marks::NAME),
        _ => None,
    }
}

/// Returns the positions in a block of `text` of the name, or of an escape that may be part of it.
#[inline]
pub(super) fn names(text: &[u8], base: usize, block: &[u8; BLOCK]) -> u64 {
    const LAST: u64 = 1 << 63;
    let likely = dispatch!(Level::new(), simd => likely(simd, block));
    let mut names = likely.code & !LAST;
    // The vector check covers the first three letters of the name only.
    let mut unsure = likely.name | likely.code & LAST;
    while unsure != 0 {
        let at = base + unsure.trailing_zeros() as usize;
        if text.get(at..).is_some_and(|rest| mark(rest).is_some()) {
            names |= unsure & unsure.wrapping_neg();
        }
        unsure &= unsure - 1;
    }
    names
}

/// Returns true if the text after an `&` may be the rest of a character reference.
fn is_reference(rest: &[u8]) -> bool {
    match rest {
        [b'#', ..] | [b'q', b'u', ..] | [b'a', b'm', ..] | [b'l' | b'g', b't', ..] => true,
        _ => {
            let name = rest.iter().take(9).position(|it| !it.is_ascii_alphabetic());
            name.is_some_and(|it| it > 0 && rest.get(it) == Some(&b';'))
        }
    }
}

/// Returns true if the text continues `jsonrpc` after its first letter.
fn is_name(rest: &[u8]) -> bool {
    let ([b's' | b'S', rest @ ..] | [0xc5, 0xbf, rest @ ..]) = rest else { return false };
    rest.get(..5).is_some_and(|it| it.eq_ignore_ascii_case(b"onrpc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the survey with a plain check of every position.
    #[test]
    fn names_what_a_look_at_every_byte_names() {
        let mut parts =
            vec!["jsonrpc", "JſonRPC", "\\u", "&q", "%2", "\n", "h:", "abcdefgh", " ", "é", "-"];
        let words = super::super::pattern::tests::parts();
        parts.extend(words.iter().map(String::as_str));
        let mut state = 7_u64;
        for _ in 0..3000 {
            let mut text = String::new();
            for _ in 0..40 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text.push_str(parts[usize::try_from(state >> 33).unwrap() % parts.len()]);
            }
            let bytes = text.as_bytes();
            let mut survey = Survey::new(bytes);
            let (mut lines, mut runs, mut triggers) = (vec![], vec![], vec![]);
            while let Some(event) = survey.next() {
                match event {
                    Part::Line { range, marks } => lines.push((range, marks)),
                    Part::Run(range) => runs.push(range),
                    Part::Trigger(at) => triggers.push(at),
                }
            }
            let mut start = 0;
            let mut expected = vec![];
            for line in text.split_inclusive('\n') {
                let mut marks = Marks::default();
                for at in 0..line.len() {
                    marks.add(mark(&line.as_bytes()[at..]).unwrap_or_default());
                }
                if marks != Marks::default() {
                    expected.push((start..start + line.trim_end_matches('\n').len(), marks));
                }
                start += line.len();
            }
            assert_eq!(lines, expected, "{text:?}");
            let is_word_end = |at: &usize| is_trigger(bytes, *at);
            assert_eq!(triggers, (0..bytes.len()).filter(is_word_end).collect::<Vec<_>>());
            let starts = (0..bytes.len()).filter(|&at| {
                is_base64(bytes[at])
                    && (at == 0 || !is_base64(bytes[at - 1]))
                    && bytes[at..].iter().take_while(|it| is_base64(**it)).count() >= MIN_RUN
            });
            assert_eq!(
                runs.iter().map(|it| it.start).collect::<Vec<_>>(),
                starts.collect::<Vec<_>>()
            );
            assert_eq!(survey.has_odd_bytes(), !text.is_ascii());
        }
    }
}
