//! Splits a text of any length into overlapping windows, so that each finding is whole in one of
//! them.
//!
//! A window *owns* a part of the text: whole lines, and the findings that start there. It also
//! shows some text on both sides, because a finding can depend on its surroundings. So each finding
//! is reported once, wherever the windows end. Findings within one line are the same as in a scan
//! of the whole text. Findings over several lines are the same if they are not longer than the text
//! shown around a window.
//!
//! Invariants:
//! - The owned parts follow each other without a gap, from the first byte to the last.
//! - They begin and end with lines. A line that is longer than the limit is cut, and counted.
//! - At most the longest line that is not cut, or a window, is stored, plus the text around it.
//! - Windows are UTF-8. Invalid bytes became question marks, so that offsets stay valid.

use std::ops::Range;

use hardline_wire::limits::DEFAULT_FRAME_BYTES;
use memchr::memrchr;

/// Sizes of windows, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Smallest owned part, except at the end of the text.
    pub(super) owned: usize,
    /// Longest line that is not cut.
    pub(super) line: usize,
    /// Text shown on each side.
    pub(super) around: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        // A line as long as the largest frame may be a message. The text around a window is longer
        // than anything that people write over several lines.
        Self { owned: 4 << 20, line: DEFAULT_FRAME_BYTES, around: 256 << 10 }
    }
}

/// Splits a text into windows.
#[derive(Debug)]
pub(super) struct Windows {
    sizes: Sizes,
    bytes: Vec<u8>,
    /// Number of `bytes` that are known to be UTF-8.
    sound: usize,
    /// Offset in `bytes` of the next owned part.
    from: usize,
    /// Bytes before this offset are no longer needed.
    done: usize,
    has_ended: bool,
    is_first: bool,
    /// True if `from` is inside a line that was cut.
    is_inside: bool,
    /// Number of lines that were cut.
    pub(super) cut_lines: u64,
    /// Number of bytes that were not UTF-8.
    pub(super) replaced: u64,
}

/// A part of a text, with the text around it.
#[derive(Debug)]
pub(super) struct Window<'a> {
    pub(super) text: &'a str,
    /// Range that this window owns.
    pub(super) owned: Range<usize>,
    /// True if the window is the whole text.
    pub(super) is_whole: bool,
}

impl Windows {
    pub(super) fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            bytes: Vec::new(),
            sound: 0,
            from: 0,
            done: 0,
            has_ended: false,
            is_first: true,
            is_inside: false,
            cut_lines: 0,
            replaced: 0,
        }
    }

    /// Appends to the text.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
        self.make_sound();
    }

    /// Ends the text.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        self.make_sound();
    }

    /// Returns the next window, if there is enough text for it.
    pub(super) fn next(&mut self) -> Option<Window<'_>> {
        self.forget();
        let to = self.find_end()?;
        let owned = self.from..to;
        let is_whole = std::mem::take(&mut self.is_first) && self.has_ended;
        self.from = to;
        // Kept until the next call, because the window borrows the bytes.
        self.done = self.start_around(to);
        let text = str::from_utf8(self.bytes.get(..self.sound)?).unwrap_or_default();
        Some(Window { text, owned, is_whole })
    }

    /// Returns the end of the next owned part.
    fn find_end(&mut self) -> Option<usize> {
        if self.has_ended {
            return (self.from < self.sound).then_some(self.sound);
        }
        // Enough text must follow the owned part to be shown after it.
        let last = self.sound.checked_sub(self.sizes.around)?;
        let own = self.bytes.get(self.from..last).filter(|own| self.sizes.owned <= own.len())?;
        if let Some(newline) = memrchr(b'\n', own) {
            self.is_inside = false;
            return Some(self.from + newline + 1);
        }
        if own.len() < self.sizes.line && !self.is_inside {
            return None;
        }
        // A long line is counted once, however often it is cut.
        self.cut_lines += u64::from(!self.is_inside);
        self.is_inside = true;
        Some(self.boundary(last))
    }

    /// Returns the start of the text around `from`: a line start, if one is near.
    fn start_around(&self, from: usize) -> usize {
        let near = from.saturating_sub(self.sizes.around);
        let far = near.saturating_sub(self.sizes.around);
        // Shows at least as much as a window has around it, from the start of a line if one is near.
        match self.bytes.get(far..near).and_then(|it| memrchr(b'\n', it)) {
            Some(newline) => far + newline + 1,
            None if far == 0 => 0,
            None => self.boundary(near),
        }
    }

    /// Returns the start of the character at `at`.
    fn boundary(&self, at: usize) -> usize {
        let before = self.bytes.get(..=at).unwrap_or_default().iter().rev();
        // A byte that continues a character is part of the text before the cut.
        let inside = before.take_while(|byte| *byte & 0xc0 == 0x80).count();
        at.saturating_sub(inside)
    }

    fn forget(&mut self) {
        self.bytes.drain(..self.done);
        self.sound -= self.done;
        self.from -= self.done;
        self.done = 0;
        // Release the memory of a very long line.
        let most = self.sizes.owned + 4 * self.sizes.around;
        if self.bytes.len() < most {
            self.bytes.shrink_to(most);
        }
    }

    /// Replaces bytes that are not UTF-8 by question marks.
    fn make_sound(&mut self) {
        loop {
            let rest = self.bytes.get_mut(self.sound..).unwrap_or_default();
            let Err(error) = str::from_utf8(rest) else {
                self.sound = self.bytes.len();
                return;
            };
            let start = error.valid_up_to();
            self.sound += start;
            let length = match error.error_len() {
                Some(length) => length,
                None if self.has_ended => rest.len() - start,
                // The rest of the character may follow.
                None => return,
            };
            // One byte for one, so that offsets in the file stay valid.
            rest.get_mut(start..start + length).unwrap_or_default().fill(b'?');
            self.replaced += length as u64;
            self.sound += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { owned: 8, line: 24, around: 4 };

    /// Splits a text that arrives in chunks of every size. Compares the owned parts and the cut
    /// lines.
    #[track_caller]
    fn check(text: &[u8], expected: &str, cut_lines: u64) {
        for size in 1..=text.len().max(1) {
            let mut windows = Windows::new(SIZES);
            let mut all = String::new();
            let mut most = 0;
            let mut take = |windows: &mut Windows, all: &mut String| {
                while let Some(window) = windows.next() {
                    let Range { start, end } = window.owned;
                    let (around, rest) = window.text.split_at(start);
                    assert!(all.ends_with(around), "what is around is the text");
                    assert!(start < end || text.is_empty());
                    all.push_str(rest.split_at(end - start).0);
                }
                most = most.max(windows.bytes.len());
            };
            for chunk in text.chunks(size) {
                windows.push(chunk);
                take(&mut windows, &mut all);
            }
            windows.end();
            take(&mut windows, &mut all);
            assert_eq!(all, expected, "in chunks of {size}");
            assert_eq!(windows.cut_lines, cut_lines, "in chunks of {size}");
            assert!(most <= SIZES.line + 4 * SIZES.around + size, "{most} bytes");
        }
    }

    #[test]
    fn owns_each_byte_once() {
        check(b"", "", 0);
        check(b"short", "short", 0);
        check(
            b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
            "one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
            0,
        );
        let accents = "é\n".repeat(40);
        check(accents.as_bytes(), &accents, 0);
    }

    #[test]
    fn keeps_a_line_whole_that_may_be_kept_and_cuts_a_longer_one() {
        let text = format!("a\n{}\nb\n{}\nc\n", "x".repeat(20), "é".repeat(40));
        check(text.as_bytes(), &text, 1);
        for before in ["", "y", "yy"] {
            let text = format!("{before}{}", "日".repeat(100));
            check(text.as_bytes(), &text, 1);
        }
    }

    #[test]
    fn what_is_no_text_becomes_question_marks() {
        check(
            b"a\xffb\n\xe2\x80\n\xf0\x9f\x98\x80 and some more text \xc3",
            "a?b\n??\n\u{1f600} and some more text ?",
            0,
        );
        let mut windows = Windows::new(SIZES);
        windows.push(b"\xe2\x80");
        windows.push(b"\xa8\xff");
        windows.end();
        assert_eq!(windows.next().unwrap().text, "\u{2028}?");
        assert_eq!(windows.replaced, 1);
    }

    #[test]
    fn says_whether_a_window_is_the_whole_text() {
        let mut windows = Windows::new(SIZES);
        windows.push(b"one\ntwo\n");
        windows.end();
        assert!(windows.next().unwrap().is_whole);
        let mut windows = Windows::new(SIZES);
        windows.push(b"one\ntwo\nthree\nfour\nfive\n");
        assert!(!windows.next().unwrap().is_whole);
        windows.end();
        assert!(!windows.next().unwrap().is_whole);
    }
}
