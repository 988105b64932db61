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

use super::block::find_any;
use super::message::{Class, Key, Members};
use super::nest::Nest;
use super::token::{blank_length, comment_length, is_known_word, word_end};

/// Objects nested deeper than this are read but not judged: no message starts there.
const MAX_JUDGED: usize = 128;

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
    /// Whether there was a comment.
    has_comment: bool,
}

/// An object whose end is not read yet.
#[derive(Debug)]
struct Open {
    start: usize,
    depth: usize,
    members: Members,
}

impl Reader {
    /// Reads what stands between `start` and each of `ends`, which are in order, as values and nothing
    /// else. Calls `take` with each end up to which it is that, and with what it is.
    pub(super) fn sequences(
        &mut self,
        text: &[u8],
        start: usize,
        ends: &[usize],
        mut take: impl FnMut(&Self, usize, Sequence),
    ) {
        // A comment may end with the piece, so that from there on each is read on its own.
        let rest = self.read_values(text, start, ends, &mut take);
        for end in rest {
            self.read_values(text, start, std::slice::from_ref(end), &mut take);
        }
    }

    /// Does that up to a comment, if there is more than one end, and returns the ends that are left.
    fn read_values<'e>(
        &mut self,
        text: &[u8],
        start: usize,
        mut ends: &'e [usize],
        take: &mut impl FnMut(&Self, usize, Sequence),
    ) -> &'e [usize] {
        let Some(last) = ends.last() else { return ends };
        self.reset();
        let text = text.get(..*last).unwrap_or(text);
        let is_shared = ends.len() > 1;
        let mut end = None;
        let mut at = self.blank(text, start);
        loop {
            if is_shared && self.has_comment {
                return ends;
            }
            while let Some((next, rest)) = ends.split_first()
                && *next <= at
            {
                ends = rest;
                // Otherwise it is inside of a value.
                if let Some(end) = end.filter(|it| it <= next) {
                    let class = self.outer().map(|it| it.class).max();
                    take(self, *next, Sequence { class, is_relaxed: self.relaxed.is_some(), end });
                }
            }
            // A bare word beside a value is prose.
            let Some(b'{' | b'[' | b'"') = text.get(at) else { return &[] };
            end = self.value(text, at).ok();
            let Some(end) = end else { break };
            at = self.blank(text, end);
        }
        if is_shared && self.has_comment { ends } else { &[] }
    }

    /// Reads `text` from `start` on as values and nothing else. Says whether it is that.
    pub(super) fn document(&mut self, text: &[u8], start: usize) -> bool {
        let mut is_document = false;
        self.sequences(text, start, &[text.len()], |_, _, _| is_document = true);
        is_document
    }

    /// The messages of the last sequence that was read: its values and the elements of its arrays.
    pub(super) fn outer(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|it| it.is_outer)
    }

    /// The insides of the strings that may hold a message, in the last sequence that was read.
    pub(super) fn strings(&self) -> &[Range<usize>] {
        &self.strings
    }

    /// Finds the objects with a `jsonrpc` in `text`, in order: those at the braces that `next` gives for
    /// a place, and those inside.
    pub(super) fn objects(
        &mut self,
        text: &[u8],
        mut at: usize,
        next: impl Fn(usize) -> Option<usize>,
    ) -> &[Object] {
        self.reset();
        while let Some(brace) = next(at) {
            at = match self.value(text, brace) {
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
        self.has_comment = false;
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
            let found = find_any([quote, b'\\', b'\n'], text, from).ok_or(start)?;
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
    #[inline]
    fn blank(&mut self, text: &[u8], at: usize) -> usize {
        match text.get(at) {
            Some(b'/') | None => self.long_blank(text, at),
            Some(0x21..=0x7e) => at,
            Some(_) => self.long_blank(text, at),
        }
    }

    fn long_blank(&mut self, text: &[u8], mut at: usize) -> usize {
        loop {
            at += blank_length(text.get(at..).unwrap_or_default());
            let Some(length) = comment_length(text.get(at..).unwrap_or_default()) else {
                return at;
            };
            self.relaxed = Some(at);
            self.has_comment = true;
            at += length;
        }
    }
}
