//! The check itself: one loop over the text, with an explicit stack instead of recursion.

use std::fmt;

use fearless_simd::{Simd, dispatch};

use super::envelope::{Envelope, EnvelopeReader};
use super::key::{Group, Keys};
use super::number::skip_number;
use super::string::{StringFault, next_special_with, rest_of_string};
use super::value::Value;
use super::{JsonError, Reason, skip_whitespace};
use crate::limits::Limits;

/// Checks texts, one at a time, and reuses its buffers.
pub struct Checker {
    max_bytes: usize,
    max_depth: usize,
    /// The arrays and objects around the current one, outermost first.
    outer: Vec<Level>,
    keys: Keys,
}

/// A text that passed the check: its value and, if it is an object, its JSON-RPC envelope.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Checked<'a> {
    /// The value, without the whitespace around it.
    pub value: Value<'a>,
    /// The members of the outermost object that JSON-RPC defines; `None` for other values.
    pub envelope: Option<Envelope<'a>>,
}

/// An open array or object. The level around the outermost value is never used.
#[derive(Clone, Copy, Debug)]
enum Level {
    Array,
    Object(Group),
}

/// Continuation after a value.
enum Step {
    /// Another value starts at this position.
    NextValue(usize),
    /// The outermost value has ended at this position.
    Finished(usize),
}

/// Findings recorded during the check.
#[derive(Debug)]
struct Seen<'a> {
    envelope: EnvelopeReader<'a>,
    lone: Lone,
}

/// Capacity limit of the stack between texts.
const KEPT_DEPTH: usize = 1 << 10;

impl Checker {
    /// Creates a checker with the `max_frame_bytes` and `max_depth` of `limits`.
    pub fn new(limits: &Limits) -> Self {
        Self {
            max_bytes: limits.max_frame_bytes(),
            max_depth: limits.max_depth(),
            outer: Vec::new(),
            keys: Keys::new(),
        }
    }

    /// Checks that `text` is one strict JSON value with only whitespace around it.
    ///
    /// # Errors
    ///
    /// [`JsonError`], with the fault and its position.
    pub fn check<'a>(&mut self, text: &'a [u8]) -> Result<Checked<'a>, JsonError> {
        self.check_inside(text, 0)
    }

    /// Like [`check`](Self::check), for a text inside `levels_around` arrays and objects.
    pub(crate) fn check_inside<'a>(
        &mut self,
        text: &'a [u8],
        levels_around: usize,
    ) -> Result<Checked<'a>, JsonError> {
        let max_depth = self.max_depth.saturating_sub(levels_around);
        if self.max_bytes < text.len() {
            let reason = Reason::TooLong { limit: self.max_bytes };
            return Err(JsonError::new(reason, self.max_bytes));
        }
        let outcome = match simdutf8::basic::from_utf8(text) {
            Ok(text) => self.check_str(text, max_depth),
            Err(_) => Err(self.blame_invalid_utf8(text, max_depth)),
        };
        // Also after an error, so that the next text starts with empty buffers.
        self.outer.clear();
        self.outer.shrink_to(KEPT_DEPTH);
        self.keys.clear();
        outcome
    }

    /// Finds the first fault of a text that is not UTF-8.
    #[cold]
    fn blame_invalid_utf8(&mut self, text: &[u8], max_depth: usize) -> JsonError {
        let Err(error) = simdutf8::compat::from_utf8(text) else {
            return JsonError::new(Reason::InvalidUtf8, 0);
        };
        let offset = error.valid_up_to();
        let valid = text.get(..offset).and_then(|valid| str::from_utf8(valid).ok());
        match self.check_str(valid.unwrap_or_default(), max_depth) {
            // A fault that only the cut at the invalid byte caused does not count.
            Err(earlier) if !earlier.reason.needs_the_end() => earlier,
            _ => JsonError::new(Reason::InvalidUtf8, offset),
        }
    }

    fn check_str<'a>(&mut self, text: &'a str, max_depth: usize) -> Result<Checked<'a>, JsonError> {
        dispatch!(fearless_simd::Level::new(), simd => self.check_with(simd, text, max_depth))
    }

    /// The check, compiled once for each instruction set.
    #[inline(always)]
    fn check_with<'a, S: Simd>(
        &mut self,
        simd: S,
        text: &'a str,
        max_depth: usize,
    ) -> Result<Checked<'a>, JsonError> {
        let bytes = text.as_bytes();
        let start = skip_whitespace(bytes, 0);
        let mut pos = start;
        // A placeholder: the outermost value has no level around it.
        let mut inner = Level::Array;
        let mut seen = Seen { envelope: EnvelopeReader::new(text), lone: Lone::default() };

        'value: loop {
            match bytes.get(pos) {
                Some(b'"') => {
                    // Fast path: most strings have no escapes and end at the first special byte.
                    let special = next_special_with(simd, bytes, pos + 1);
                    pos = special + 1;
                    if bytes.get(special) != Some(&b'"') {
                        let string = rest_of_string(simd, bytes, special)?;
                        seen.lone.in_value(string.lone);
                        pos = string.end;
                    }
                }
                Some(b'{') => {
                    self.open(inner, pos, max_depth)?;
                    inner = Level::Object(self.keys.open());
                    pos = skip_whitespace(bytes, pos + 1);
                    if bytes.get(pos) != Some(&b'}') {
                        pos = self.key(simd, text, pos, &mut inner, &mut seen)?;
                        continue 'value;
                    }
                    pos += 1;
                    inner = self.close();
                }
                Some(b'[') => {
                    self.open(inner, pos, max_depth)?;
                    inner = Level::Array;
                    pos = skip_whitespace(bytes, pos + 1);
                    if bytes.get(pos) != Some(&b']') {
                        continue 'value;
                    }
                    pos += 1;
                    inner = self.close();
                }
                Some(b'-' | b'0'..=b'9') => pos = skip_number(bytes, pos)?,
                Some(b't') => pos = skip_literal(bytes, pos, b"true")?,
                Some(b'f') => pos = skip_literal(bytes, pos, b"false")?,
                Some(b'n') => pos = skip_literal(bytes, pos, b"null")?,
                Some(_) => return Err(JsonError::new(Reason::ExpectedValue, pos)),
                None => return Err(JsonError::new(Reason::Ended, pos)),
            }

            match self.end_value(simd, text, pos, &mut inner, &mut seen)? {
                Step::NextValue(next) => pos = next,
                Step::Finished(end) => return seen.finish(text, start, end),
            }
        }
    }

    /// Continues after a value that has ended: with the next value around it, or with the end of
    /// each surrounding value.
    // Inlined, because its only caller is the loop over all values.
    #[inline(always)]
    fn end_value(
        &mut self,
        simd: impl Simd,
        text: &str,
        mut pos: usize,
        inner: &mut Level,
        seen: &mut Seen<'_>,
    ) -> Result<Step, JsonError> {
        let bytes = text.as_bytes();
        loop {
            match self.outer.len() {
                0 => return Ok(Step::Finished(pos)),
                // Depth 1: a member of the outermost object is complete.
                1 => seen.envelope.value_ended(pos),
                _ => {}
            }
            pos = skip_whitespace(bytes, pos);
            let Some(&byte) = bytes.get(pos) else {
                return Err(JsonError::new(Reason::Ended, pos));
            };
            match *inner {
                Level::Object(group) => match byte {
                    b',' => {
                        pos = skip_whitespace(bytes, pos + 1);
                        return Ok(Step::NextValue(self.key(simd, text, pos, inner, seen)?));
                    }
                    b'}' => {
                        if let Some(repeated) = self.keys.close(group, text) {
                            // The key's position is that of its quote.
                            return Err(JsonError::new(Reason::DuplicateKey, repeated - 1));
                        }
                    }
                    _ => return Err(JsonError::new(Reason::ExpectedCommaOrBrace, pos)),
                },
                Level::Array => match byte {
                    b',' => return Ok(Step::NextValue(skip_whitespace(bytes, pos + 1))),
                    b']' => {}
                    _ => return Err(JsonError::new(Reason::ExpectedCommaOrBracket, pos)),
                },
            }
            pos += 1;
            *inner = self.close();
        }
    }

    /// Pushes the surrounding level when an array or object opens.
    #[inline(always)]
    fn open(&mut self, around: Level, pos: usize, max_depth: usize) -> Result<(), JsonError> {
        if self.outer.len() == max_depth {
            return Err(JsonError::new(Reason::TooDeep { limit: self.max_depth }, pos));
        }
        self.outer.push(around);
        Ok(())
    }

    /// Returns to the surrounding level.
    #[inline(always)]
    fn close(&mut self) -> Level {
        self.outer.pop().unwrap_or(Level::Array)
    }

    /// Reads a key and its colon. Returns the position of the value.
    #[inline(always)]
    fn key(
        &mut self,
        simd: impl Simd,
        text: &str,
        pos: usize,
        object: &mut Level,
        seen: &mut Seen<'_>,
    ) -> Result<usize, JsonError> {
        let bytes = text.as_bytes();
        match bytes.get(pos) {
            Some(b'"') => {}
            Some(_) => return Err(JsonError::new(Reason::ExpectedKey, pos)),
            None => return Err(JsonError::new(Reason::Ended, pos)),
        }
        let start = pos + 1;
        let mut quote = next_special_with(simd, bytes, start);
        let escaped = bytes.get(quote) != Some(&b'"');
        if escaped {
            let string = rest_of_string(simd, bytes, quote)?;
            seen.lone.in_key(string.lone);
            quote = string.end - 1;
        }
        if let Level::Object(group) = object
            && !self.keys.insert(group, text, (start, quote), escaped)
        {
            return Err(JsonError::new(Reason::DuplicateKey, pos));
        }
        let colon = skip_whitespace(bytes, quote + 1);
        match bytes.get(colon) {
            Some(b':') => {}
            Some(_) => return Err(JsonError::new(Reason::ExpectedColon, colon)),
            None => return Err(JsonError::new(Reason::Ended, colon)),
        }
        let value = skip_whitespace(bytes, colon + 1);
        if self.outer.len() == 1 {
            seen.envelope.key((start, quote), escaped, value);
        }
        Ok(value)
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_bytes, max_depth, .. } = self;
        let mut debug = formatter.debug_struct("Checker");
        debug.field("max_bytes", max_bytes).field("max_depth", max_depth).finish_non_exhaustive()
    }
}

fn skip_literal(bytes: &[u8], pos: usize, literal: &[u8]) -> Result<usize, JsonError> {
    let rest = bytes.get(pos..).unwrap_or_default();
    if rest.starts_with(literal) {
        return Ok(pos + literal.len());
    }
    // The text ends inside the literal, so more bytes could have completed it.
    if literal.starts_with(rest) {
        return Err(JsonError::new(Reason::Ended, bytes.len()));
    }
    Err(JsonError::new(Reason::InvalidLiteral, pos))
}

impl<'a> Seen<'a> {
    /// Ends the text after its value at `start..end`.
    #[inline(never)]
    fn finish(self, text: &'a str, start: usize, end: usize) -> Result<Checked<'a>, JsonError> {
        let trailing = skip_whitespace(text.as_bytes(), end);
        if trailing < text.len() {
            return Err(JsonError::new(Reason::TrailingData, trailing));
        }
        self.lone.first_or_ok()?;
        let value = Value::proven(text, start, end);
        Ok(Checked { value, envelope: self.envelope.finish(value) })
    }
}

/// The first unpaired surrogates, kept until it is known that nothing else is wrong.
#[derive(Debug, Default)]
struct Lone {
    in_value: Option<usize>,
    in_key: Option<usize>,
}

impl Lone {
    fn in_value(&mut self, offset: Option<usize>) {
        self.in_value = self.in_value.or(offset);
    }

    fn in_key(&mut self, offset: Option<usize>) {
        self.in_key = self.in_key.or(offset);
    }

    fn first_or_ok(&self) -> Result<(), JsonError> {
        // A key is reported first: unlike a value, it cannot be repaired.
        if let Some(offset) = self.in_key {
            return Err(JsonError::new(Reason::LoneSurrogateInKey, offset));
        }
        match self.in_value {
            Some(offset) => Err(JsonError::new(Reason::LoneSurrogate, offset)),
            None => Ok(()),
        }
    }
}

impl From<StringFault> for JsonError {
    fn from(fault: StringFault) -> Self {
        match fault {
            StringFault::Ended(at) => Self::new(Reason::EndedInString, at),
            StringFault::Escape(at) => Self::new(Reason::InvalidEscape, at),
            StringFault::Control(at) => Self::new(Reason::ControlCharacter, at),
        }
    }
}
