//! A lenient JSON reader that finds the JSON-RPC messages in a text.
//!
//! It accepts all of strict JSON and everything that some reader accepts: `NaN`, `Infinity`,
//! numbers of any form, unknown escapes, raw control characters in strings, a byte order mark,
//! Unicode spaces and invisible characters between tokens, any depth. Syntax that no reader of an
//! official SDK accepts by default (single quotes, keys without quotes, comments, a trailing comma)
//! is accepted too and marked as relaxed.
//!
//! Invariants:
//! - Each byte is read a bounded number of times, even after errors: reading resumes where it
//!   failed, never before the object that failed.
//! - There is no recursion. The memory is one bit per open bracket and one entry for each of the
//!   outermost [`MAX_JUDGED`] objects.

use std::ops::Range;

use super::block::find_any;
use super::message::{Key, Members, MessageClass};
use super::nest::Nest;
use super::token::{blank_length, comment_length, is_known_word, word_end};

/// Limit on the depth of judged objects. Deeper ones are read only: no message starts there.
const MAX_JUDGED: usize = 128;

/// An object with a `jsonrpc` member.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) range: Range<usize>,
    pub(super) class: MessageClass,
    /// Set if only a relaxed reader accepts it.
    pub(super) is_relaxed: bool,
    /// Set if it is a whole value, or an element of an array that is one.
    is_outer: bool,
}

/// A text that consists of values only, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    /// The highest class among its messages and batch elements.
    pub(super) class: Option<MessageClass>,
    /// Set if only a relaxed reader accepts the text.
    pub(super) is_relaxed: bool,
    /// End of the last value.
    pub(super) end: usize,
}

/// The reader, which reuses its memory between texts.
#[derive(Debug, Default)]
pub(super) struct Reader {
    nest: Nest,
    open: Vec<Open>,
    /// The objects found, sorted by their end; none is inside another.
    objects: Vec<Object>,
    /// Contents of strings that may contain a message: with escapes, or starting with a bracket.
    strings: Vec<Range<usize>>,
    /// Position of the last syntax that only a relaxed reader accepts.
    relaxed: Option<usize>,
    /// Set if there was a comment.
    has_comment: bool,
}

/// An object whose end has not been read yet.
#[derive(Debug)]
struct Open {
    start: usize,
    depth: usize,
    members: Members,
}

impl Reader {
    /// Reads the text between `start` and each of the sorted `ends` as values and nothing else.
    /// Calls `take` with each end up to which it succeeds, and with the result.
    pub(super) fn sequences(
        &mut self,
        text: &[u8],
        start: usize,
        ends: &[usize],
        mut take: impl FnMut(&Self, usize, Sequence),
    ) {
        // A comment may end with the piece, so after one each piece is read separately.
        let rest = self.read_values(text, start, ends, &mut take);
        for end in rest {
            self.read_values(text, start, std::slice::from_ref(end), &mut take);
        }
    }

    /// Reads up to the first comment, if there is more than one end. Returns the remaining ends.
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
                // Otherwise, the end is inside of a value.
                if let Some(end) = end.filter(|it| it <= next) {
                    let class = self.outer().map(|it| it.class).max();
                    take(self, *next, Sequence { class, is_relaxed: self.relaxed.is_some(), end });
                }
            }
            // A bare word next to a value is prose.
            let Some(b'{' | b'[' | b'"') = text.get(at) else { return &[] };
            end = self.value(text, at).ok();
            let Some(end) = end else { break };
            at = self.blank(text, end);
        }
        if is_shared && self.has_comment { ends } else { &[] }
    }

    /// Reads `text` from `start` on as values and nothing else. Returns true if it succeeds.
    pub(super) fn document(&mut self, text: &[u8], start: usize) -> bool {
        let mut is_document = false;
        self.sequences(text, start, &[text.len()], |_, _, _| is_document = true);
        is_document
    }

    /// Returns the messages of the last sequence: its values and the elements of its arrays.
    pub(super) fn outer(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|it| it.is_outer)
    }

    /// Returns the contents of the strings that may contain a message, in the last sequence.
    pub(super) fn strings(&self) -> &[Range<usize>] {
        &self.strings
    }

    /// Finds the objects with a `jsonrpc` member, in order: those at the braces that `next` returns
    /// for a position, and those inside of them.
    pub(super) fn objects(
        &mut self,
        text: &[u8],
        mut at: usize,
        next: impl Fn(usize) -> Option<usize>,
    ) -> &[Object] {
        self.reset();
        while let Some(brace) = next(at) {
            at = match self.value(text, brace) {
                // An error resumes at the byte that failed, so no byte is read again from an
                // earlier brace.
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

    /// Reads the value at `start`. Returns its end, or the position of the error.
    fn value(&mut self, text: &[u8], start: usize) -> Result<usize, usize> {
        self.nest.clear();
        self.open.clear();
        let mut at = start;
        let mut key = None;
        loop {
            at = self.begin(text, at, key.take())?;
            // True if a container was just opened, so that it may close without an element.
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
                        // A trailing comma.
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

    /// Reads a scalar, or the opening of a container, as the value of the member `key`.
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
                // A bare word is a value for relaxed readers only.
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
        // A batch is an array at the top level; its elements count as messages.
        let is_batch = depth == 2 && self.nest.outermost() == Some(false);
        let was_object = self.nest.pop();
        if !was_object || self.open.last().is_none_or(|it| it.depth != depth) {
            return;
        }
        let Some(Open { start, members, .. }) = self.open.pop() else { return };
        let Some(class) = members.class() else { return };
        // The outer message replaces the ones inside of it.
        while self.objects.last().is_some_and(|it| it.range.start > start) {
            self.objects.pop();
        }
        let is_relaxed = self.relaxed.is_some_and(|it| it >= start);
        let is_outer = depth == 1 || is_batch;
        self.objects.push(Object { range: start..end, class, is_relaxed, is_outer });
    }

    /// Reads the string whose quote is at `at`. Returns the range of its content.
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
                // Lines are split at LF, so no string continues after one.
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

    /// Returns the end of the white space and comments from `at` on.
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
