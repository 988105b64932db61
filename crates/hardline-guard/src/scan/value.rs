//! A reader of JSON that takes what any reader takes, and finds the JSON-RPC messages in it.
//!
//! It accepts all of strict JSON and, on top, what one reader or another lets pass: `NaN`,
//! `Infinity`, numbers of any look, unknown escapes, raw control characters in strings, a byte
//! order mark, Unicode spaces and invisible characters between tokens, any depth. What no reader
//! of an official SDK takes by default (single quotes, keys without quotes, comments, a trailing
//! comma) is read too and noted as relaxed.
//!
//! Invariants:
//! - Each byte is looked at a bounded number of times, also after errors: reading resumes where it
//!   failed, never before the object that failed.
//! - No recursion; the memory is a bit per open bracket and one entry for each of the outermost
//!   [`MAX_JUDGED`] objects.

use std::ops::Range;

use memchr::{memchr, memchr3};

use super::message::{Class, Key, Members};

/// Objects nested deeper than this are read but not judged: no message starts there.
const MAX_JUDGED: usize = 128;
/// The longest comment that is stepped over.
const MAX_COMMENT: usize = 256;

/// An object with a `jsonrpc` member.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) range: Range<usize>,
    pub(super) class: Class,
    /// Whether only a relaxed reader takes it.
    pub(super) is_relaxed: bool,
    /// Whether it is a whole value, or an element of an array that is one.
    is_outer: bool,
}

/// What a text is that is nothing but values, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    /// The most that one of its messages or batch elements is.
    pub(super) class: Option<Class>,
    /// Whether only a relaxed reader takes the text.
    pub(super) is_relaxed: bool,
    /// Where the last value ends.
    pub(super) end: usize,
}

/// The reader, with its memory kept between texts.
#[derive(Debug, Default)]
pub(super) struct Reader {
    nest: Nest,
    open: Vec<Open>,
    /// What was found, in the order of the ends, nothing inside another.
    objects: Vec<Object>,
    /// The insides of strings that may hold a message: with escapes, or with a bracket first.
    strings: Vec<Range<usize>>,
    /// The place of the last thing that only a relaxed reader takes.
    relaxed: Option<usize>,
}

/// An object whose end is not read yet.
#[derive(Debug)]
struct Open {
    start: usize,
    depth: usize,
    members: Members,
}

impl Reader {
    /// Reads `text` as values and nothing else; none if it is not that.
    pub(super) fn sequence(&mut self, text: &[u8]) -> Option<Sequence> {
        self.reset();
        let mut at = self.blank(text, 0);
        let mut end = at;
        while let Some(first) = text.get(at) {
            // A bare word beside a value is prose.
            if !matches!(first, b'{' | b'[' | b'"') {
                return None;
            }
            end = self.value(text, at).ok()?;
            at = self.blank(text, end);
        }
        let class = self.outer().map(|it| it.class).max();
        Some(Sequence { class, is_relaxed: self.relaxed.is_some(), end })
    }

    /// The messages of the last sequence that was read: its values and the elements of its arrays.
    pub(super) fn outer(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|it| it.is_outer)
    }

    /// The insides of the strings that may hold a message, in the last sequence that was read.
    pub(super) fn strings(&self) -> &[Range<usize>] {
        &self.strings
    }

    /// Finds the objects with a `jsonrpc` anywhere in `text`, in order.
    pub(super) fn objects(&mut self, text: &[u8]) -> &[Object] {
        self.reset();
        let mut at = 0;
        while let Some(offset) = text.get(at..).and_then(|rest| memchr(b'{', rest)) {
            at = match self.value(text, at + offset) {
                Ok(end) => end,
                Err(stop) => stop,
            };
        }
        &self.objects
    }

    fn reset(&mut self) {
        self.objects.clear();
        self.strings.clear();
        self.relaxed = None;
    }

    /// Reads the value at `start` and returns its end, or where it turned out to be none.
    fn value(&mut self, text: &[u8], start: usize) -> Result<usize, usize> {
        self.nest.clear();
        self.open.clear();
        let mut at = start;
        let mut key = None;
        loop {
            at = self.begin(text, at, key.take())?;
            // Whether a container was just opened, so that it may close without an element.
            let mut is_empty = self.nest.take_opened();
            loop {
                let Some(is_object) = self.nest.innermost() else { return Ok(at) };
                at = self.blank(text, at);
                let closer = if is_object { b'}' } else { b']' };
                match text.get(at) {
                    Some(&byte) if byte == closer => {
                        at += 1;
                        self.close(at);
                        is_empty = false;
                        continue;
                    }
                    Some(b',') if !is_empty => {
                        let comma = at;
                        at = self.blank(text, at + 1);
                        if text.get(at) == Some(&closer) {
                            self.relaxed = Some(comma);
                            continue;
                        }
                    }
                    Some(_) if is_empty => {}
                    _ => return Err(at),
                }
                if is_object {
                    (key, at) = self.key(text, at)?;
                }
                break;
            }
        }
    }

    /// Reads a scalar, or the opening of a container, that is the member `key`.
    fn begin(&mut self, text: &[u8], at: usize, key: Option<Key>) -> Result<usize, usize> {
        let first = *text.get(at).ok_or(at)?;
        match first {
            b'{' | b'[' => {
                self.note(key, |members, key| members.other(key, first == b'{'));
                self.nest.push(first == b'{');
                if first == b'{' && self.open.len() < MAX_JUDGED {
                    let depth = self.nest.depth();
                    self.open.push(Open { start: at, depth, members: Members::default() });
                }
                Ok(at + 1)
            }
            b'"' | b'\'' => {
                let inside = self.string(text, at)?;
                let raw = text.get(inside.clone()).unwrap_or_default();
                self.note(key, |members, key| members.string(key, raw));
                Ok(inside.end + 1)
            }
            _ => {
                let end = word_end(text, at);
                let word = text.get(at..end).filter(|it| !it.is_empty()).ok_or(at)?;
                if is_known_word(word) {
                    self.note(key, |members, key| members.other(key, false));
                } else {
                    self.relaxed = Some(at);
                    self.note(key, |members, key| members.string(key, word));
                }
                Ok(end)
            }
        }
    }

    fn note(&mut self, key: Option<Key>, take: impl FnOnce(&mut Members, Key)) {
        let depth = self.nest.depth();
        if let (Some(key), Some(open)) = (key, self.open.last_mut())
            && open.depth == depth
        {
            take(&mut open.members, key);
        }
    }

    /// Reads a key and its colon.
    fn key(&mut self, text: &[u8], at: usize) -> Result<(Option<Key>, usize), usize> {
        let (raw, end) = match text.get(at) {
            Some(b'"' | b'\'') => {
                let inside = self.string(text, at)?;
                (text.get(inside.clone()), inside.end + 1)
            }
            _ => {
                let end = word_end(text, at);
                self.relaxed = Some(at);
                (text.get(at..end).filter(|it| !it.is_empty()), end)
            }
        };
        let key = Key::read(raw.ok_or(at)?);
        let colon = self.blank(text, end);
        if text.get(colon) != Some(&b':') {
            return Err(colon);
        }
        Ok((key, self.blank(text, colon + 1)))
    }

    fn close(&mut self, end: usize) {
        let depth = self.nest.depth();
        let is_batch = depth == 2 && self.nest.outermost() == Some(false);
        let was_object = self.nest.pop();
        if !was_object || self.open.last().is_none_or(|it| it.depth != depth) {
            return;
        }
        let Some(Open { start, members, .. }) = self.open.pop() else { return };
        let Some(class) = members.class() else { return };
        while self.objects.last().is_some_and(|it| it.range.start > start) {
            self.objects.pop();
        }
        let is_relaxed = self.relaxed.is_some_and(|it| it >= start);
        let is_outer = depth == 1 || is_batch;
        self.objects.push(Object { range: start..end, class, is_relaxed, is_outer });
    }

    /// Reads the string whose quote is at `at` and returns its inside.
    fn string(&mut self, text: &[u8], at: usize) -> Result<Range<usize>, usize> {
        let start = at + 1;
        let quote = *text.get(at).ok_or(at)?;
        if quote != b'"' {
            self.relaxed = Some(at);
        }
        let mut has_escapes = false;
        let mut from = start;
        loop {
            let rest = text.get(from..).ok_or(start)?;
            let found = from + memchr3(quote, b'\\', b'\n', rest).ok_or(start)?;
            match text.get(found) {
                Some(b'\\') => {
                    has_escapes = true;
                    from = found + 2;
                }
                Some(b'\n') => return Err(start),
                _ => {
                    if has_escapes || matches!(text.get(start), Some(b'{' | b'[')) {
                        self.strings.push(start..found);
                    }
                    return Ok(start..found);
                }
            }
        }
    }

    /// The end of what stands between two tokens from `at` on.
    fn blank(&mut self, text: &[u8], mut at: usize) -> usize {
        loop {
            at += blank_length(text.get(at..).unwrap_or_default());
            let Some(length) = comment_length(text.get(at..).unwrap_or_default()) else {
                return at;
            };
            self.relaxed = Some(at);
            at += length;
        }
    }
}

/// The number of bytes at the start of `text` that some reader or trimmer skips.
pub(super) fn blank_length(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += match rest {
            [0..=0x20 | 0x7f, ..] => 1,
            [0xc2, 0x80..=0xa0 | 0xad, ..] => 2,
            [0xe1, 0x9a, 0x80, ..] | [0xe1, 0xa0, 0x8e, ..] => 3,
            [0xe2, 0x80, 0x80..=0x8f | 0xa8..=0xaf, ..] => 3,
            [0xe2, 0x81, 0x9f..=0xaf, ..] | [0xe3, 0x80, 0x80, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
            _ => return at,
        };
    }
}

fn comment_length(text: &[u8]) -> Option<usize> {
    let near = text.get(..MAX_COMMENT).unwrap_or(text);
    match text {
        [b'/', b'*', ..] => near.windows(2).skip(2).position(|it| it == b"*/").map(|it| it + 4),
        [b'/', b'/', ..] => match memchr(b'\n', near) {
            None if near.len() == text.len() => Some(text.len()),
            end => end,
        },
        _ => None,
    }
}

fn word_end(text: &[u8], at: usize) -> usize {
    let is_word = |it: &u8| {
        it.is_ascii_alphanumeric() || matches!(it, b'+' | b'-' | b'.' | b'_' | b'$' | b'/')
    };
    at + text.get(at..).map_or(0, |rest| rest.iter().take_while(|it| is_word(it)).count())
}

/// Whether a reader in common use takes the word for a number or a literal.
fn is_known_word(word: &[u8]) -> bool {
    matches!(word, b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity" | b"-NaN")
        || matches!(word, [b'+' | b'-' | b'.' | b'0'..=b'9', ..])
            && word.iter().all(|it| it.is_ascii_hexdigit() || b"+-.xX_".contains(it))
}

/// The kinds of the open brackets, a bit each.
#[derive(Debug, Default)]
struct Nest {
    bits: Vec<u64>,
    depth: usize,
    /// Whether the last thing that happened was an opening.
    has_opened: bool,
}

impl Nest {
    fn clear(&mut self) {
        self.bits.clear();
        self.depth = 0;
        self.has_opened = false;
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn push(&mut self, is_object: bool) {
        let bit = self.depth % 64;
        if bit == 0 {
            self.bits.push(0);
        }
        if let Some(word) = self.bits.last_mut() {
            *word = *word & !(1 << bit) | u64::from(is_object) << bit;
        }
        self.depth += 1;
        self.has_opened = true;
    }

    /// Takes the innermost bracket off and says whether it was an object's.
    fn pop(&mut self) -> bool {
        let is_object = self.innermost().unwrap_or_default();
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(64) {
            self.bits.pop();
        }
        is_object
    }

    fn innermost(&self) -> Option<bool> {
        let bit = self.depth.checked_sub(1)? % 64;
        self.bits.last().map(|it| it >> bit & 1 == 1)
    }

    fn outermost(&self) -> Option<bool> {
        self.bits.first().map(|it| it & 1 == 1)
    }

    fn take_opened(&mut self) -> bool {
        std::mem::take(&mut self.has_opened)
    }
}
