//! Decodes the encodings that can hide a message, and maps decoded bytes back to their source.
//!
//! There is one file per encoding. Each decodes the escape at a given byte and returns its length;
//! this file walks over a text with that. Base64 has no escapes, so it has a walk of its own.
//!
//! Each decoded byte has a tag with the encodings that contributed to it, so that text that an
//! encoding leaves unchanged is not read again.
//!
//! Invariants:
//! - Decoding never makes a text longer, and reads each byte a bounded number of times.
//! - No map of positions is stored. The positions of the few relevant bytes are found by walking
//!   over the text again, all of them in one walk.

mod backslash;
pub(super) mod base64;
mod percent;
mod reference;

use std::marker::PhantomData;
use std::num::NonZeroU8;
use std::ops::Range;

use super::Encoding;
use super::block::find_either;
use backslash::Backslash;
use percent::Percent;
use reference::Reference;

/// A decoded escape. Small, so that it fits into a register.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Escape {
    bytes: [u8; 4],
    /// Number of `bytes` that count.
    count: NonZeroU8,
    /// Length of the escape in the source.
    length: u8,
}

impl Escape {
    #[inline]
    fn byte(length: u8, byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], count: NonZeroU8::MIN, length }
    }

    /// Creates the escape of a character. A surrogate, or a number beyond Unicode, becomes U+FFFD.
    #[inline]
    fn char(length: u8, code: u32) -> Self {
        if let Ok(byte @ ..0x80) = u8::try_from(code) {
            return Self::byte(length, byte);
        }
        let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut bytes = [0; 4];
        let count = u8::try_from(char.encode_utf8(&mut bytes).len()).ok();
        Self { bytes, count: count.and_then(NonZeroU8::new).unwrap_or(NonZeroU8::MIN), length }
    }

    #[inline]
    fn length(self) -> usize {
        self.length.into()
    }

    #[inline]
    fn count(self) -> usize {
        self.count.get().into()
    }
}

/// Result of decoding a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decoded {
    /// Set if there were escapes.
    pub(super) has_escapes: bool,
    /// Set if one of them was a brace.
    pub(super) has_brace: bool,
    /// The encodings whose own escapes came out of it.
    pub(super) made: Encodings,
}

impl Decoded {
    #[inline]
    fn note(&mut self, escape: Escape) {
        self.has_escapes = true;
        let [first, ..] = escape.bytes;
        match first {
            b'{' => self.has_brace = true,
            b'\\' => self.made = self.made.and(Encoding::Backslash),
            b'&' => self.made = self.made.and(Encoding::Reference),
            b'%' => self.made = self.made.and(Encoding::Percent),
            _ => {}
        }
    }
}

/// A set of the encodings that consist of escapes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Encodings(u8);

impl Encodings {
    pub(super) const ALL: Self = Self(7);

    pub(super) fn has(self, encoding: Encoding) -> bool {
        self.0 & Self::of(encoding).0 != 0
    }

    /// Returns the encodings to look for inside of `encoding`, besides those that came out of it.
    ///
    /// An escape that existed before is either decoded in another order, and one order is enough;
    /// or it is a backslash, which HTML writers leave unchanged.
    pub(super) fn inside(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Json | Encoding::Backslash => {
                Self::of(Encoding::Reference).and(Encoding::Percent)
            }
            Encoding::Reference => Self::of(Encoding::Backslash).and(Encoding::Percent),
            Encoding::Percent => Self::default(),
            Encoding::Base64 => Self::ALL,
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, encoding: Encoding) -> Self {
        self.union(Self::of(encoding))
    }

    fn of(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Json | Encoding::Backslash => Self(1),
            Encoding::Reference => Self(2),
            Encoding::Percent => Self(4),
            Encoding::Base64 => Self(0),
        }
    }
}

/// The tags of decoded bytes. There is one bit for each level of encoding that contributed to the
/// byte, the original text's first, and these two.
pub(super) mod tag {
    /// The byte belongs to an escape of the last level.
    pub(in super::super) const ESCAPE: u8 = 1 << 6;
    /// The byte does not belong to the text: a line end between two parts that were decoded
    /// separately.
    pub(in super::super) const BOUNDARY: u8 = 1 << 7;

    /// Returns the bits of the first `depth` levels.
    pub(in super::super) const fn levels(depth: usize) -> u8 {
        !(u8::MAX << depth) & !(ESCAPE | BOUNDARY)
    }

    /// Returns the union of all `tags`.
    #[inline]
    pub(in super::super) fn union(tags: &[u8]) -> u8 {
        tags.iter().fold(0, |all, it| all | it)
    }

    /// Returns the first position from `from` on whose tag has one of `bits`.
    pub(in super::super) fn find(bits: u8, tags: &[u8], from: usize) -> Option<usize> {
        let rest = tags.get(from..)?;
        let (blocks, _) = rest.as_chunks::<64>();
        // Most blocks have no such tag, which one check per block shows.
        let empty = blocks.iter().take_while(|it| union(*it) & bits == 0).count() * 64;
        let at = rest.get(empty..)?.iter().position(|it| it & bits != 0)?;
        Some(from + empty + at)
    }
}

/// Destination of decoded bytes and their tags.
#[derive(Debug)]
pub(super) struct Out<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) tags: &'a mut Vec<u8>,
}

/// Decodes the escapes of `encoding` in the part `range` of `text`, and appends the bytes and their
/// tags to `out`. `tags` are those of the text, which is at the level `depth`; the original text
/// has none.
pub(super) fn decode(
    encoding: Encoding,
    (text, tags): (&[u8], &[u8]),
    range: Range<usize>,
    depth: usize,
    out: Out<'_>,
) -> Decoded {
    match encoding {
        Encoding::Json => decode_as::<Backslash>((text, tags), range, depth, out, true),
        Encoding::Backslash => decode_as::<Backslash>((text, tags), range, depth, out, false),
        Encoding::Reference => decode_as::<Reference>((text, tags), range, depth, out, false),
        Encoding::Percent => decode_as::<Percent>((text, tags), range, depth, out, false),
        Encoding::Base64 => Decoded::default(),
    }
}

/// Number of bytes that are copied at once. A shorter piece is copied with some of the bytes after
/// it.
const STRIDE: usize = 16;

fn decode_as<E: EscapeEncoding>(
    (text, tags): (&[u8], &[u8]),
    range: Range<usize>,
    depth: usize,
    out: Out<'_>,
    is_string: bool,
) -> Decoded {
    let mut decoded = Decoded::default();
    let below = tag::levels(depth);
    let own = tag::levels(depth + 1) & !below;
    // Every byte of a string came out of it; in other texts, only the escapes did.
    let of_plain = if is_string { own } else { 0 };
    let start = out.bytes.len();
    // Room for everything, and for the extra bytes that a copy may write.
    out.bytes.resize(start + range.len() + STRIDE, 0);
    out.tags.resize(start + range.len() + STRIDE, of_plain);
    let mut to = start;
    let mut walk = Walk::<E>::new(text, range);
    while let Some((plain, escape)) = walk.next() {
        let length = plain.len();
        copy(out.bytes, to, text, &plain);
        if !tags.is_empty() {
            copy(out.tags, to, tags, &plain);
            let copied = out.tags.get_mut(to..to + length).unwrap_or_default();
            copied.iter_mut().for_each(|it| *it = *it & below | of_plain);
        }
        to += length;
        let Some(escape) = escape else { break };
        decoded.note(escape);
        let before = tags.get(plain.end..plain.end + escape.length()).unwrap_or_default();
        let tag = tag::union(before) & below | own | tag::ESCAPE;
        if let Some(bytes) = out.bytes.get_mut(to..).and_then(|it| it.first_chunk_mut()) {
            *bytes = escape.bytes;
        }
        let tags = out.tags.get_mut(to..to + escape.count()).unwrap_or_default();
        tags.iter_mut().for_each(|it| *it = tag);
        to += escape.count();
    }
    out.bytes.truncate(to);
    out.tags.truncate(to);
    decoded
}

#[inline]
fn copy(out: &mut [u8], to: usize, from: &[u8], range: &Range<usize>) {
    let length = range.len();
    // A copy of fixed size compiles to one move; the next write overwrites the extra bytes.
    if length <= STRIDE
        && let Some(out) = out.get_mut(to..).and_then(|it| it.first_chunk_mut::<STRIDE>())
        && let Some(from) = from.get(range.start..).and_then(|it| it.first_chunk::<STRIDE>())
    {
        *out = *from;
    } else if let (Some(out), Some(from)) = (out.get_mut(to..to + length), from.get(range.clone()))
    {
        out.copy_from_slice(from);
    }
}

/// Finds the sources of the decoded bytes at the sorted `positions`, in the part `range` of `text`.
pub(super) fn locate(
    encoding: Encoding,
    text: &[u8],
    range: Range<usize>,
    positions: impl Iterator<Item = usize>,
    places: &mut Vec<Range<usize>>,
) {
    match encoding {
        Encoding::Json | Encoding::Backslash => {
            locate_as::<Backslash>(text, range, positions, places);
        }
        Encoding::Reference => locate_as::<Reference>(text, range, positions, places),
        Encoding::Percent => locate_as::<Percent>(text, range, positions, places),
        Encoding::Base64 => {}
    }
}

fn locate_as<E: EscapeEncoding>(
    text: &[u8],
    range: Range<usize>,
    mut positions: impl Iterator<Item = usize>,
    places: &mut Vec<Range<usize>>,
) {
    let end = range.end;
    let mut walk = Walk::<E>::new(text, range);
    let mut decoded = 0;
    let mut wanted = positions.next();
    while let Some(mut position) = wanted
        && let Some((plain, escape)) = walk.next()
    {
        let (length, count) = escape.map_or((0, 0), |it| (it.length(), it.count()));
        let escape_start = decoded + plain.len();
        decoded = escape_start + count;
        while position < decoded {
            places.push(if position < escape_start {
                let at = plain.end - (escape_start - position);
                at..at + 1
            } else {
                plain.end..plain.end + length
            });
            wanted = positions.next();
            let Some(next) = wanted else { return };
            position = next;
        }
    }
    // Positions behind the end map to the end.
    places.extend(wanted.into_iter().chain(positions).map(|_| end..end));
}

/// An encoding that consists of escapes.
trait EscapeEncoding {
    /// The bytes with which an escape may start.
    const STARTS: [u8; 2];

    /// Decodes the escape at a position with one of these bytes.
    fn escape(text: &[u8], at: usize) -> Option<Escape>;
}

/// Splits a text into plain parts, each with the escape after it.
struct Walk<'a, E> {
    /// The text, including the bytes after the part.
    text: &'a [u8],
    part: &'a [u8],
    /// Start of the next piece; `None` after the last.
    at: Option<usize>,
    encoding: PhantomData<E>,
}

impl<'a, E: EscapeEncoding> Walk<'a, E> {
    fn new(text: &'a [u8], range: Range<usize>) -> Self {
        let part = text.get(..range.end).unwrap_or(text);
        Self { text, part, at: Some(range.start), encoding: PhantomData }
    }

    #[inline]
    fn next(&mut self) -> Option<(Range<usize>, Option<Escape>)> {
        let start = self.at?;
        let mut from = start;
        while let Some(at) = find_either(E::STARTS, self.text, from, self.part.len()) {
            if let Some(escape) = E::escape(self.part, at) {
                self.at = Some(at + escape.length());
                return Some((start..at, Some(escape)));
            }
            from = at + 1;
        }
        self.at = None;
        Some((start..self.part.len(), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(encoding: Encoding, text: &str, expected: &str) {
        let (mut out, mut tags) = (Vec::new(), Vec::new());
        let to = Out { bytes: &mut out, tags: &mut tags };
        let has_escapes =
            decode(encoding, (text.as_bytes(), &[]), 0..text.len(), 0, to).has_escapes;
        assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
        assert_eq!(has_escapes, text != expected, "{text}");
        let mut places = Vec::new();
        locate(encoding, text.as_bytes(), 0..text.len(), 0..=out.len(), &mut places);
        assert!(places.is_sorted_by_key(|it| it.start), "{text}");
        assert_eq!((places.len(), tags.len()), (out.len() + 1, out.len()), "{text}");
        for ((byte, tag), place) in out.iter().zip(&tags).zip(&places) {
            let is_escape = tag & tag::ESCAPE != 0;
            assert_eq!(is_escape, *tag != 0, "{text}");
            if !is_escape {
                assert_eq!(text.as_bytes()[place.start], *byte, "{text}");
            }
        }
    }

    #[test]
    fn decodes_backslashes() {
        check(Encoding::Backslash, r#"{\"a\":\"\u007b\x7d\/\\n\n\"}"#, "{\"a\":\"{}/\\n\n\"}");
        check(
            Encoding::Backslash,
            r"\ud83d\ude00 \ud83d \u{1f600} \U0001F600",
            "😀 \u{fffd} 😀 😀",
        );
        check(Encoding::Backslash, r"C:\dir\user \q \", r"C:\dir\user \q \");
    }

    #[test]
    fn decodes_references() {
        check(
            Encoding::Reference,
            "&quot;&#123;&#x7B;&lcub;&amp;quot;&apos;&#39;",
            "\"{{{&quot;''",
        );
        check(
            Encoding::Reference,
            "&quot &#34x &ampx; a & b &unknown; &#;",
            "\" \"x &x; a & b &unknown; &#;",
        );
    }

    #[test]
    fn decodes_percents() {
        check(Encoding::Percent, "%7B%22a%22%3A+%22b%22%7d%u007b", "{\"a\": \"b\"}{");
        check(Encoding::Percent, "100% a+b %zz %", "100% a+b %zz %");
    }
}
