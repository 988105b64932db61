//! Recognizes frames whose strings cannot contain a finding, in one pass over the raw bytes.
//!
//! Most frames are plain; then no string needs to be extracted, unescaped and scanned. The rules of
//! [`survey`](super::survey) apply here too, with these differences:
//! - Escapes that stand for layout or a quote change nothing. After any other escape, and after an
//!   escaped backslash that starts an escape of its own, the frame is no longer plain.
//! - The name `jsonrpc` may occur once: every message has it.
//! - The letter of an escape counts as a base64 letter, so a run may seem longer than it is.
//!
//! Invariant: if a frame is plain, [`Scanner::scan`](super::Scanner::scan) finds nothing in any of
//! its strings, keys included.

use wide::{i8x16, u8x16};

use super::block::{BLOCK, letters, runs_of_16};
use super::character;
use super::decode::base64::MIN_LETTERS;
use super::pattern::{Carry, Pairs, bytes_of_patterns, is_trigger};
use super::survey::{MIN_RUN, Marks, is_base64, mark};

/// Returns true if no string of a value can contain a finding. `frame` is the text of the value,
/// and has passed the strict check. `names` is the number of times that `jsonrpc` may occur: once
/// in a message.
#[inline]
pub(crate) fn is_plain(frame: &[u8], names: u32) -> bool {
    let mut look = Look { frame, base: 0, done: 0, names, calm: 0, runs_done: 0 };
    let (blocks, tail) = frame.as_chunks::<BLOCK>();
    if !blocks.iter().all(|block| look.at(block)) {
        return false;
    }
    // Blanks match nothing, so they pad the last block.
    let mut last = [b' '; BLOCK];
    if let Some(start) = last.get_mut(..tail.len()) {
        start.copy_from_slice(tail);
    }
    look.at(&last)
}

struct Look<'a> {
    frame: &'a [u8],
    /// Start of the current block.
    base: usize,
    /// Rare bytes before this position belong to an escape that was already read.
    done: usize,
    /// Number of further names that may occur.
    names: u32,
    /// Number of bytes before `base` that do not break a run, at most [`MIN_RUN`].
    calm: u32,
    /// Runs before this position were already measured.
    runs_done: usize,
}

impl Look<'_> {
    /// Reads the next block. Returns true if it is plain.
    #[inline(always)]
    fn at(&mut self, block: &[u8; BLOCK]) -> bool {
        let (calm, is_rare, is_odd) = first_look(block);
        let may_run = runs_of_16(calm) != 0 || calm.trailing_ones() + self.calm >= 16;
        self.calm = calm.leading_ones().min(16);
        let is_plain = (!is_rare || self.check_rare_bytes(block))
            && (!may_run || self.measure_runs(block))
            && (!is_odd || self.are_odd_bytes_plain(block));
        self.base += BLOCK;
        is_plain
    }

    fn rest(&self, at: usize) -> &[u8] {
        self.frame.get(at..).unwrap_or_default()
    }

    #[inline(never)]
    fn check_rare_bytes(&mut self, block: &[u8; BLOCK]) -> bool {
        let Rare { backslashes, pairs, mut others } = Rare::of(block);
        // Blocks without rare bytes were skipped, so the previous one may have ended with any letter.
        let mut carry = Carry::ANY;
        let triggers = pairs.candidates(&mut carry);
        let is_plain = (backslashes == 0 || self.check_escapes(backslashes, block))
            && (triggers == 0 || !self.has_trigger(triggers));
        if !is_plain {
            return false;
        }
        while others != 0 {
            let at = self.base + others.trailing_zeros() as usize;
            others &= others - 1;
            match mark(self.rest(at)) {
                None => {}
                Some(Marks::NAME) if self.names > 0 => self.names -= 1,
                Some(_) => return false,
            }
        }
        true
    }

    /// Returns true if all escapes that start in this block stand for layout, a quote, or a
    /// backslash that starts no escape.
    fn check_escapes(&mut self, mut backslashes: u64, block: &[u8; BLOCK]) -> bool {
        // Most blocks have no escaped backslash; then all escapes are checked at once.
        // Position of the letter after each backslash.
        let inside = backslashes << 1;
        if self.done <= self.base && backslashes >> 63 == 0 && inside & !followers(block) == 0 {
            return true;
        }
        while backslashes != 0 {
            let at = self.base + backslashes.trailing_zeros() as usize;
            backslashes &= backslashes - 1;
            if at < self.done {
                continue;
            }
            match self.rest(at) {
                [_, b'n' | b't' | b'r' | b'f' | b'"', ..] => {}
                [_, b'\\', b'u' | b'U' | b'x' | b'/', ..] => return false,
                [_, b'\\', ..] => self.done = at + 2,
                _ => return false,
            }
        }
        true
    }

    /// Returns true if the word of a pattern ends at one of these positions.
    fn has_trigger(&self, mut candidates: u64) -> bool {
        while candidates != 0 {
            let at = self.base + candidates.trailing_zeros() as usize;
            candidates &= candidates - 1;
            if is_trigger(self.frame, at) {
                return true;
            }
        }
        false
    }

    /// Returns true if the base64 runs that are in this block or reach into it are too short for a
    /// message.
    #[inline(never)]
    fn measure_runs(&mut self, block: &[u8; BLOCK]) -> bool {
        let letters = letters(block);
        let runs = runs_of_16(letters);
        let mut starts = runs & !(runs << 1);
        let before = self.frame.get(..self.base).unwrap_or_default();
        let leads = before.iter().rev().take(MIN_LETTERS).take_while(|it| is_base64(**it)).count();
        // The run started in an earlier block; its start is in the bytes before.
        if leads > 0 {
            starts &= !1;
            if leads + letters.trailing_ones() as usize >= MIN_RUN
                && !self.measure_run(self.base - leads)
            {
                return false;
            }
        }
        while starts != 0 {
            let at = self.base + starts.trailing_zeros() as usize;
            starts &= starts - 1;
            if !self.measure_run(at) {
                return false;
            }
        }
        true
    }

    /// Measures the run at `start`, with the lines that it may be wrapped over. Returns true if it is
    /// too short for a message.
    fn measure_run(&mut self, start: usize) -> bool {
        if start < self.runs_done {
            return true;
        }
        let (mut at, mut count) = (start, 0);
        loop {
            let rest = self.rest(at);
            let run = rest.iter().take(MIN_LETTERS).take_while(|it| is_base64(**it)).count();
            count += run;
            if count >= MIN_LETTERS {
                return false;
            }
            let gap = gap(rest.get(run..).unwrap_or_default());
            // A short line, or other text, ends the wrapped run.
            if run < MIN_RUN || gap == 0 {
                self.runs_done = at + run;
                return true;
            }
            at += run + gap;
        }
    }

    #[inline(never)]
    fn are_odd_bytes_plain(&self, block: &[u8; BLOCK]) -> bool {
        let mut mask = character::candidates(block);
        while mask != 0 {
            let at = self.base + mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if character::may_matter(self.rest(at)) {
                return false;
            }
        }
        true
    }
}

/// Returns the bytes of a block that can be in a run, and whether there are rare bytes and odd
/// bytes.
#[inline]
fn first_look(block: &[u8; BLOCK]) -> (u64, bool, bool) {
    let (mut calm, mut rare, mut odd) = (0, u8x16::ZERO, u8x16::ZERO);
    for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*lanes);
        rare |= is_rare(bytes);
        // In a checked frame, bytes below a space occur only between values.
        odd |= bytes.max(u8x16::splat(0x7f)).simd_eq(bytes);
        // As signed numbers, bytes beyond ASCII are negative, so one comparison excludes them too.
        let signed = i8x16::new(lanes.map(u8::cast_signed));
        calm |= u64::from(signed.simd_gt(i8x16::splat(b'*'.cast_signed())).to_bitmask())
            << (16 * index);
    }
    (calm, rare.any(), odd.any())
}

/// Positions of the rare bytes of a block.
#[derive(Default)]
struct Rare {
    backslashes: u64,
    pairs: Pairs,
    /// `j`, `J`, `&` and `%`.
    others: u64,
}

impl Rare {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut rare = Self::default();
        for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = u8x16::new(*lanes);
            let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
            let lower = bytes | u8x16::splat(0x20);
            let is_letter = |letter: u8| lower.simd_eq(u8x16::splat(letter));
            let bits = |lanes: u8x16| u64::from(lanes.to_bitmask()) << (16 * index);
            rare.backslashes |= bits(is(b'\\'));
            rare.pairs.add(bytes, index);
            rare.others |= bits(is_letter(b'j') | is(b'&') | is(b'%'));
        }
        rare
    }
}

/// Returns the positions of letters that form a plain escape after a backslash.
#[inline]
fn followers(block: &[u8; BLOCK]) -> u64 {
    let mut mask = 0;
    for (index, lanes) in block.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*lanes);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let all = is(b'n') | is(b't') | is(b'r') | is(b'f') | is(b'"');
        mask |= u64::from(all.to_bitmask()) << (16 * index);
    }
    mask
}

/// Returns the lanes with `j`, `J`, a backslash, `&`, `%`, or the byte of a pattern.
#[inline]
fn is_rare(bytes: u8x16) -> u8x16 {
    let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
    let is_j = (bytes | u8x16::splat(0x20)).simd_eq(u8x16::splat(b'j'));
    is_j | is(b'\\') | is(b'&') | is(b'%') | bytes_of_patterns(bytes)
}

/// Returns the length of blanks and of escapes that stand for blanks or line ends.
fn gap(rest: &[u8]) -> usize {
    let mut length = 0;
    loop {
        length += match rest.get(length..) {
            Some([b' ', ..]) => 1,
            Some([b'\\', b'n' | b'r' | b't', ..]) => 2,
            _ => return length,
        };
    }
}

#[cfg(test)]
mod tests {
    use hardline_testkit::generate::Rng;

    use super::*;
    use crate::scan::{ScanSettings, Scanner};

    const PARTS: &[&str] = &[
        "jsonrpc",
        "JſonRPC",
        "\\",
        "\\u",
        "\\\\u007b",
        "/",
        "u",
        "x",
        "&#123;",
        "&quot;",
        "&",
        "%7B",
        "%",
        "\n",
        "\r\n",
        "\t",
        "\u{8}",
        "\u{c}",
        "\u{7f}",
        "\"",
        "{",
        "}",
        ":",
        "Content-Length: 42\n",
        "content-length",
        "eyJqc29ucnBjIjoiMi4w",
        "IiwibWV0aG9kIjoicGluZyJ9",
        "0123456789abcdef",
        "\u{200b}",
        "\u{200b}\u{200b}\u{200b}",
        "\u{202e}",
        "\u{e0041}",
        "\u{ad}",
        "\u{61c}",
        "\u{2028}",
        "\u{2000}",
        "\u{2003}",
        "\u{2800}",
        "\u{2029}",
        "\u{85}",
        "\x0b",
        "ا\u{61c}",
        "字\u{e0150}",
        "字\u{e0100}",
        "葛\u{e0101}",
        "🏴\u{e0067}\u{e0062}\u{e007f}",
        "x\u{fe0f}",
        "x\u{fe00}",
        "\u{3164}",
        "\u{180e}",
        "\u{fdd0}",
        "\u{1fffe}",
        "\u{10ffff}",
        "\u{e069}\u{e067}\u{e06e}\u{e06f}\u{e072}\u{e065}\u{e06d}\u{e065}",
        "\u{10006f}\u{100068}\u{10006f}\u{100068}\u{10006f}\u{100068}\u{10006f}\u{100068}",
        "\u{1d173}",
        "\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69\\udb40\\udc69",
        "&#xe0069;&#xe0069;&#xe0069;&#xe0069;&#xe0069;&#xe0069;&#xe0069;&#xe0069;",
        "\u{2d7f}",
        "é",
        "—",
        "日本",
        "👩\u{200d}🚀",
        " ",
        "word",
        "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
    ];

    /// Writes a string as JSON, sometimes with unnecessary escapes.
    fn write(random: &mut Rng, text: &str) -> String {
        let mut json = String::from("\"");
        for char in text.chars() {
            match char {
                '"' => json.push_str("\\\""),
                '\\' => json.push_str("\\\\"),
                '\n' => json.push_str("\\n"),
                '/' if random.one_in(4) => json.push_str("\\/"),
                '\0'..' ' => json.push_str(&format!("\\u{:04x}", u32::from(char))),
                _ if char.is_ascii() && random.one_in(200) => {
                    json.push_str(&format!("\\u{:04x}", u32::from(char)));
                }
                _ => json.push(char),
            }
        }
        json.push('"');
        json
    }

    /// A frame that counts as plain has no hits, at any alignment to blocks.
    #[test]
    fn what_is_plain_has_no_hits() {
        let mut scanner = Scanner::new(ScanSettings::default());
        let (mut plain, mut hits) = (0, 0);
        let words = crate::scan::pattern::tests::parts();
        let parts: Vec<&str> = PARTS.iter().copied().chain(words.iter().map(|it| &**it)).collect();
        for seed in 0..60_000 {
            let mut random = Rng::new(seed);
            let mut texts = Vec::new();
            let harmless = random.one_in(2);
            for _ in 0..=random.below(3) {
                let mut text = "word ".repeat(random.below(14));
                for _ in 0..random.below(6) {
                    let part = random.pick(&parts);
                    if !harmless || part.len() < 5 {
                        text.push_str(part);
                    }
                }
                texts.push(text);
            }
            let members: Vec<_> = texts
                .iter()
                .map(|it| format!("{}:1,\"x\":{}", write(&mut random, it), write(&mut random, it)))
                .collect();
            let frame = format!("{{\"jsonrpc\":\"2.0\",{}}}", members.join(","));
            let has_hits = texts.iter().any(|it| !scanner.scan(it).hits.is_empty());
            let is_plain = is_plain(frame.as_bytes(), 1);
            assert!(!(is_plain && has_hits), "seed {seed}: {frame}");
            plain += u32::from(is_plain);
            hits += u32::from(has_hits);
        }
        assert!(plain > 2_000 && hits > 2_000, "{plain} {hits}");
    }

    #[test]
    fn ordinary_frames_are_plain() {
        use hardline_testkit::sample;
        for make in
            [sample::english_frame, sample::text_frame, sample::quoted_frame, sample::dense_frame]
        {
            for size in [200, 1000, 100_000] {
                assert!(is_plain(make(size).as_bytes(), 1));
            }
        }
    }
}
