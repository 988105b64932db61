//! Recognizes frames whose strings cannot contain a finding, in one pass over the raw bytes.
//!
//! Most frames are plain; then no string needs to be extracted, unescaped and scanned. The rules of
//! [`survey`](super::survey) apply here too, with these differences:
//! - Escapes change nothing if they are [harmless]: those of layout, of quotes, of ordinary characters.
//! - The name `jsonrpc` may occur once: every message has it.
//! - Base64 letters change nothing if they [can encode no message](may_hide).
//! - Backslashes count as base64 letters, so a run may seem longer than it is.
//!
//! Invariant: if a frame is plain, [`Scanner::scan`](super::Scanner::scan) finds nothing in any of
//! its strings, keys included.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, mask8x64, u8x64};
use hardline_wire::json::escaped_bytes;
use memchr::memchr;

use super::block::{BLOCK, is_calm, letters, runs_of_16};
use super::decode::base64::MIN_LETTERS;
use super::gap::{Gap, run_length};
use super::letters::may_hide;
use super::pattern::{ends_of_words, is_trigger};
use super::survey::{MIN_RUN, Marks, mark};
use super::{character, harmless};

/// A block, and bytes after it: some bytes tell something together with the next one.
const WINDOW: usize = BLOCK + 16;

/// Limit on the letters of wrapped lines that are put together. A longer text is no file of one key, and
/// is read like any other that may hide something.
const MAX_WRAPPED: usize = 1 << 20;

/// Returns true if no string of a value can contain a finding. `text` is the text of the value,
/// and has passed the strict check. `names` is the number of times that `jsonrpc` may occur: once
/// in a message.
#[inline]
pub(crate) fn is_plain(text: &[u8], names: u32) -> bool {
    dispatch!(Level::new(), simd => look_at_all(simd, text, names))
}

#[inline(always)]
fn look_at_all<S: Simd>(simd: S, text: &[u8], names: u32) -> bool {
    let mut look = Look {
        text,
        base: 0,
        is_escaped: false,
        after_backslash: 0,
        names,
        calm: 0,
        runs_done: 0,
        letters_done: 0,
    };
    while let Some(block) = text.get(look.base..).and_then(|rest| rest.first_chunk::<WINDOW>()) {
        if !look.at(simd, block) {
            return false;
        }
    }
    // Blanks match nothing, so they pad the last blocks.
    let tail = text.get(look.base..).unwrap_or_default();
    let mut last = [b' '; WINDOW + BLOCK];
    last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
    let (first, second) = (last.first_chunk(), last.last_chunk());
    first.is_some_and(|block| look.at(simd, block))
        && (tail.len() <= BLOCK || second.is_some_and(|block| look.at(simd, block)))
}

struct Look<'a> {
    text: &'a [u8],
    /// Start of the current block.
    base: usize,
    /// True if the last byte of the block before escapes the first one of the current block.
    is_escaped: bool,
    /// 1 if the byte before the current block is an escaped backslash.
    after_backslash: u64,
    /// Number of further names that may occur.
    names: u32,
    /// Number of bytes before `base` that do not break a run, at most [`MIN_RUN`].
    calm: u32,
    /// Runs before this position were already measured.
    runs_done: usize,
    /// Before this position, a run consists of nothing but base64 letters.
    letters_done: usize,
}

impl<'a> Look<'a> {
    /// Reads the next block. Returns true if it is plain.
    #[inline(always)]
    fn at<S: Simd>(&mut self, simd: S, window: &[u8; WINDOW]) -> bool {
        if self.letters_done > self.base + BLOCK {
            // Inside of a long run that encodes nothing. Its last letter may end the word of a pattern.
            self.calm = 16;
            self.base += BLOCK;
            return true;
        }
        let (calm, is_rare, is_odd) = first_look(simd, window);
        let may_run = runs_of_16(calm) != 0 || calm.trailing_ones() + self.calm >= 16;
        self.calm = calm.leading_ones().min(16);
        let is_rare = is_rare || self.is_escaped || self.after_backslash != 0;
        let is_plain = (!is_rare || self.check_rare_bytes(simd, window))
            && (!may_run || self.measure_runs(simd, window))
            && (!is_odd || self.check_odd_bytes(simd, window));
        self.base += BLOCK;
        is_plain
    }

    fn rest(&self, at: usize) -> &'a [u8] {
        self.text.get(at..).unwrap_or_default()
    }

    #[inline(never)]
    fn check_rare_bytes<S: Simd>(&mut self, simd: S, window: &[u8; WINDOW]) -> bool {
        simd.vectorize(
            #[inline(always)]
            || {
                let (bytes, next) = Self::load(simd, window);
                self.check_escapes(bytes)
                    && self.all(starts(simd, bytes, next).to_bitmask(), Self::check_start)
            },
        )
    }

    /// Returns the bytes of a block, and the byte after each.
    #[inline(always)]
    fn load<S: Simd>(simd: S, window: &[u8; WINDOW]) -> (u8x64<S>, u8x64<S>) {
        let from = |at: usize| {
            let bytes = window.get(at..).and_then(|it| it.first_chunk::<BLOCK>());
            u8x64::simd_from(simd, bytes.copied().unwrap_or([b' '; BLOCK]))
        };
        (from(0), from(1))
    }

    /// Returns true if nothing relevant begins with the byte at this position.
    fn check_start(&mut self, at: usize) -> bool {
        match self.text.get(at) {
            Some(b'&') => harmless::is_reference(self.rest(at + 1)),
            Some(b'%') => harmless::is_percent(self.text, at),
            Some(b'j' | b'J') => self.take_name(at),
            // The last letter of the word of a pattern.
            _ => !is_trigger(self.text, at + 1),
        }
    }

    /// Returns true if `test` holds at all positions of a mask.
    #[inline(always)]
    fn all(&mut self, mut mask: u64, test: impl Fn(&mut Self, usize) -> bool) -> bool {
        while mask != 0 {
            let at = self.base + mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if !test(self, at) {
                return false;
            }
        }
        true
    }

    /// Returns true if no name begins at this position, or one that may occur.
    fn take_name(&mut self, at: usize) -> bool {
        if mark(self.rest(at)) != Some(Marks::NAME) {
            return true;
        }
        let is_allowed = self.names > 0;
        self.names = self.names.saturating_sub(1);
        is_allowed
    }

    /// Returns true if all escapes in this block are harmless, and those inside of the text as well.
    #[inline(always)]
    fn check_escapes<S: Simd>(&mut self, bytes: u8x64<S>) -> bool {
        let is = |byte: u8| bytes.simd_eq(byte);
        let backslashes = is(b'\\').to_bitmask();
        let (escaped, is_next_escaped) = escaped_bytes(backslashes, self.is_escaped);
        self.is_escaped = is_next_escaped;
        let inner = escaped & backslashes;
        // Behind a backslash of the text itself, an escape of source code may begin.
        let behind = inner << 1 | self.after_backslash;
        self.after_backslash = inner >> 63;
        let layout = is(b'n') | is(b't') | is(b'r') | is(b'f');
        let simple = (layout | is(b'"') | is(b'/') | is(b'\\')).to_bitmask();
        let codes = || ((bytes | 0x20).simd_eq(b'u') | is(b'x')).to_bitmask();
        self.all(escaped & !simple, |look, at| {
            // Besides the simple ones and `u`, JSON has `b` alone, which is a control character.
            matches!(look.rest(at), rest @ [b'u', ..] if harmless::is_unicode(rest))
        }) && (behind == 0
            || self.all(behind & codes(), |look, at| harmless::is_inner(look.rest(at))))
    }

    /// Returns true if the base64 runs that are in this block or reach into it encode no message.
    #[inline(never)]
    fn measure_runs<S: Simd>(&mut self, simd: S, window: &[u8; WINDOW]) -> bool {
        simd.vectorize(
            #[inline(always)]
            || self.measure_runs_with(simd, window),
        )
    }

    #[inline(always)]
    fn measure_runs_with<S: Simd>(&mut self, simd: S, window: &[u8; WINDOW]) -> bool {
        let Some(block) = window.first_chunk::<BLOCK>() else { return false };
        // A long run was measured to its end.
        if self.runs_done >= self.base + BLOCK {
            return true;
        }
        let letters = run_letters(simd, block);
        let runs = runs_of_16(letters);
        let mut starts = runs & !(runs << 1);
        if letters & 1 != 0 {
            // The run may have started in an earlier block. More than a block of it makes no difference.
            let before = self.text.get(..self.base).and_then(|it| it.last_chunk());
            let lead = before.map_or(0, |it| run_letters(simd, it).leading_ones() as usize);
            let lead = lead.min(MIN_LETTERS);
            if lead > 0 {
                starts &= !1;
                if lead + letters.trailing_ones() as usize >= MIN_RUN
                    && !self.measure_run(simd, self.base - lead)
                {
                    return false;
                }
            }
        }
        self.all(
            starts,
            #[inline(always)]
            |look, at| look.measure_run(simd, at),
        )
    }

    /// Measures the run at `start`, with the lines that it may be wrapped over. Returns true if it
    /// encodes no message.
    #[inline(always)]
    fn measure_run<S: Simd>(&mut self, simd: S, start: usize) -> bool {
        if start < self.runs_done {
            return true;
        }
        let (mut at, mut wrapped) = (start, Vec::new());
        loop {
            let rest = self.rest(at);
            let (run, behind) =
                rest.split_at_checked(run_length(simd, rest)).unwrap_or((rest, &[]));
            let gap = Gap::of(behind);
            at += run.len();
            // A short line, or other text, ends a wrapped run.
            let goes_on = run.len() >= MIN_RUN && gap.has_break;
            if (goes_on || !wrapped.is_empty()) && wrapped.len() < MAX_WRAPPED {
                wrapped.extend(run.iter().filter(|it| **it != b'\\'));
            }
            if !goes_on {
                if self.check_run(simd, run, &wrapped, at) {
                    return false;
                }
                // The next run has no start of its own in a block, because an escape is made of letters.
                if gap.length == 0 || behind.first() != Some(&b'\\') {
                    break;
                }
                wrapped.clear();
            }
            at += gap.length;
        }
        self.runs_done = at;
        true
    }

    /// Returns true if a run that ends at `end` may encode a message, alone or with the lines before it.
    #[inline(always)]
    fn check_run<S: Simd>(&mut self, simd: S, run: &[u8], wrapped: &[u8], end: usize) -> bool {
        if !wrapped.is_empty() {
            let is_cut = wrapped.len() >= MAX_WRAPPED;
            return is_cut || wrapped.len() >= MIN_LETTERS && may_hide(simd, wrapped);
        }
        if run.len() < MIN_LETTERS {
            return false;
        }
        // An escaped slash is a letter, and most runs have none.
        if memchr(b'\\', run).is_some() {
            let letters: Vec<u8> = run.iter().copied().filter(|it| *it != b'\\').collect();
            return may_hide(simd, &letters);
        }
        self.letters_done = end;
        may_hide(simd, run)
    }

    #[inline(never)]
    fn check_odd_bytes<S: Simd>(&mut self, simd: S, window: &[u8; WINDOW]) -> bool {
        let Some(block) = window.first_chunk::<BLOCK>() else { return false };
        let mask = simd.vectorize(
            #[inline(always)]
            || character::candidates(simd, block),
        );
        self.all(mask, |look, at| !character::may_matter(look.rest(at)))
    }
}

/// Returns the bytes of a block that runs consist of: base64 letters, and backslashes before escaped ones.
#[inline(always)]
fn run_letters<S: Simd>(simd: S, block: &[u8; BLOCK]) -> u64 {
    letters(simd, block) | u8x64::simd_from(simd, *block).simd_eq(b'\\').to_bitmask()
}

/// Returns the bytes of a block that can be in a run, and whether there are rare bytes and odd
/// bytes.
#[inline(always)]
fn first_look<S: Simd>(simd: S, window: &[u8; WINDOW]) -> (u64, bool, bool) {
    let (bytes, next) = Look::load(simd, window);
    let is_rare = (starts(simd, bytes, next) | bytes.simd_eq(b'\\')).any_true();
    // In a checked frame, bytes below a space occur only between values.
    let is_odd = bytes.simd_ge(0x7f).any_true();
    (is_calm(bytes).to_bitmask(), is_rare, is_odd)
}

/// Returns the bytes with which the name, a reference or a percent escape may begin, and the last letters of the
/// words of patterns. `next` has the byte after each.
#[inline(always)]
fn starts<S: Simd>(simd: S, bytes: u8x64<S>, next: u8x64<S>) -> mask8x64<S> {
    let is_name = (bytes | 0x20).simd_eq(b'j') & ((next | 0x20).simd_eq(b's') | next.simd_eq(0xc5));
    is_name | bytes.simd_eq(b'&') | bytes.simd_eq(b'%') | ends_of_words(simd, bytes, next)
}

#[cfg(test)]
mod tests;
