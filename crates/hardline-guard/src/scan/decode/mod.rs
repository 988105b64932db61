//! Encodings that hide a message: what they stand for, and where each byte came from.
//!
//! One encoding, one file. Each of them says, at a byte that may start an escape, what the escape
//! stands for and how long it is; this file walks a text with that. Base64 is no matter of escapes
//! and has a walk of its own.
//!
//! Each decoded byte has a tag: which encodings had a part in it. So what an encoding leaves as it is
//! need not be read again.
//!
//! Invariants:
//! - Decoding never grows a text and looks at each byte a bounded number of times.
//! - No map of positions is kept: the places of the few bytes that matter are found by walking the
//!   text again, all of them in one walk.

mod backslash;
pub(super) mod base64;
mod percent;
mod reference;

use std::marker::PhantomData;
use std::num::NonZeroU8;
use std::ops::Range;

use super::Layer;
use super::block::find_either;
use backslash::Backslash;
use percent::Percent;
use reference::Reference;

/// What an escape stands for. Small, so that it travels in a register.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Escape {
    bytes: [u8; 4],
    /// How many of `bytes` count.
    count: NonZeroU8,
    /// Its length where it stands.
    length: u8,
}

impl Escape {
    #[inline]
    fn byte(length: u8, byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], count: NonZeroU8::MIN, length }
    }

    /// The escape of a character; a surrogate, or a number beyond Unicode, becomes U+FFFD.
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

/// What decoding made of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decoded {
    /// Whether there were escapes.
    pub(super) has_escapes: bool,
    /// Whether one of them was a brace.
    pub(super) has_brace: bool,
    /// The encodings whose own escapes came out of it.
    pub(super) made: Layers,
}

impl Decoded {
    #[inline]
    fn note(&mut self, escape: Escape) {
        self.has_escapes = true;
        let [first, ..] = escape.bytes;
        match first {
            b'{' => self.has_brace = true,
            b'\\' => self.made = self.made.and(Layer::Backslash),
            b'&' => self.made = self.made.and(Layer::Reference),
            b'%' => self.made = self.made.and(Layer::Percent),
            _ => {}
        }
    }
}

/// A set of the encodings that are made of escapes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layers(u8);

impl Layers {
    pub(super) const ALL: Self = Self(7);

    pub(super) fn has(self, layer: Layer) -> bool {
        self.0 & Self::of(layer).0 != 0
    }

    /// The encodings to look for in what `layer` hid, beside those that came out of it.
    ///
    /// An escape that was there before is either decoded in another order, and one order will do;
    /// or it is a backslash, which a writer of HTML leaves as it is.
    pub(super) fn inside(layer: Layer) -> Self {
        match layer {
            Layer::Json | Layer::Backslash => Self::of(Layer::Reference).and(Layer::Percent),
            Layer::Reference => Self::of(Layer::Backslash).and(Layer::Percent),
            Layer::Percent => Self::default(),
            Layer::Base64 => Self::ALL,
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, layer: Layer) -> Self {
        self.union(Self::of(layer))
    }

    fn of(layer: Layer) -> Self {
        match layer {
            Layer::Json | Layer::Backslash => Self(1),
            Layer::Reference => Self(2),
            Layer::Percent => Self(4),
            Layer::Base64 => Self(0),
        }
    }
}

/// The tags of decoded bytes: a bit for each level of encodings, the given text's first, that had a
/// part in the byte; and these.
pub(super) mod tag {
    /// It is, or is part of, what an escape of the last level stands for.
    pub(in super::super) const ESCAPE: u8 = 1 << 6;
    /// It is no part of the text: a line end between two that were decoded one by one.
    pub(in super::super) const BOUNDARY: u8 = 1 << 7;

    /// The bits of the first `depth` levels.
    pub(in super::super) const fn levels(depth: usize) -> u8 {
        !(u8::MAX << depth) & !(ESCAPE | BOUNDARY)
    }

    /// The bits of all `tags`.
    #[inline]
    pub(in super::super) fn union(tags: &[u8]) -> u8 {
        tags.iter().fold(0, |all, it| all | it)
    }

    /// Where a tag with one of `bits` is, at `from` or behind it.
    pub(in super::super) fn find(bits: u8, tags: &[u8], from: usize) -> Option<usize> {
        let rest = tags.get(from..)?;
        let (blocks, _) = rest.as_chunks::<64>();
        // Most blocks have none, which is found out for all of their bytes at once.
        let empty = blocks.iter().take_while(|it| union(*it) & bits == 0).count() * 64;
        let at = rest.get(empty..)?.iter().position(|it| it & bits != 0)?;
        Some(from + empty + at)
    }
}

/// Where decoded bytes and their tags go.
#[derive(Debug)]
pub(super) struct Out<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) tags: &'a mut Vec<u8>,
}

/// Decodes the escapes of `layer` in the part `range` of `text`, and adds the bytes and their tags to
/// `out`. `tags` are those of the text, which is at the level `depth`; a given text has none.
pub(super) fn decode(
    layer: Layer,
    (text, tags): (&[u8], &[u8]),
    range: Range<usize>,
    depth: usize,
    out: Out<'_>,
) -> Decoded {
    match layer {
        Layer::Json => decode_as::<Backslash>((text, tags), range, depth, out, true),
        Layer::Backslash => decode_as::<Backslash>((text, tags), range, depth, out, false),
        Layer::Reference => decode_as::<Reference>((text, tags), range, depth, out, false),
        Layer::Percent => decode_as::<Percent>((text, tags), range, depth, out, false),
        Layer::Base64 => Decoded::default(),
    }
}

/// As many bytes as are copied at once; shorter pieces are copied with what stands behind them.
const STRIDE: usize = 16;

fn decode_as<E: Encoding>(
    (text, tags): (&[u8], &[u8]),
    range: Range<usize>,
    depth: usize,
    out: Out<'_>,
    is_string: bool,
) -> Decoded {
    let mut decoded = Decoded::default();
    let below = tag::levels(depth);
    let own = tag::levels(depth + 1) & !below;
    // All of a string came out of it; of other texts, the escapes alone did.
    let of_plain = if is_string { own } else { 0 };
    let start = out.bytes.len();
    // Room for all of it, and for writing some more than is meant.
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

/// Finds where the bytes at `positions` of what was decoded, which are in order, stand in the part
/// `range` of `text`.
pub(super) fn locate(
    layer: Layer,
    text: &[u8],
    range: Range<usize>,
    positions: impl Iterator<Item = usize>,
    places: &mut Vec<Range<usize>>,
) {
    match layer {
        Layer::Json | Layer::Backslash => locate_as::<Backslash>(text, range, positions, places),
        Layer::Reference => locate_as::<Reference>(text, range, positions, places),
        Layer::Percent => locate_as::<Percent>(text, range, positions, places),
        Layer::Base64 => {}
    }
}

fn locate_as<E: Encoding>(
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
    places.extend(wanted.into_iter().chain(positions).map(|_| end..end));
}

/// An encoding that is made of escapes.
trait Encoding {
    /// The bytes with which an escape may start.
    const STARTS: [u8; 2];

    /// Reads the escape at a place with one of these bytes.
    fn escape(text: &[u8], at: usize) -> Option<Escape>;
}

/// Takes a text apart: what is plain, and the escape behind it.
struct Walk<'a, E> {
    /// The text with what stands behind the part in question.
    text: &'a [u8],
    part: &'a [u8],
    /// Where the next piece starts; none after the last.
    at: Option<usize>,
    encoding: PhantomData<E>,
}

impl<'a, E: Encoding> Walk<'a, E> {
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

    fn check(layer: Layer, text: &str, expected: &str) {
        let (mut out, mut tags) = (Vec::new(), Vec::new());
        let to = Out { bytes: &mut out, tags: &mut tags };
        let has_escapes = decode(layer, (text.as_bytes(), &[]), 0..text.len(), 0, to).has_escapes;
        assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
        assert_eq!(has_escapes, text != expected, "{text}");
        let mut places = Vec::new();
        locate(layer, text.as_bytes(), 0..text.len(), 0..=out.len(), &mut places);
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
        check(Layer::Backslash, r#"{\"a\":\"\u007b\x7d\/\\n\n\"}"#, "{\"a\":\"{}/\\n\n\"}");
        check(Layer::Backslash, r"\ud83d\ude00 \ud83d \u{1f600} \U0001F600", "😀 \u{fffd} 😀 😀");
        check(Layer::Backslash, r"C:\dir\user \q \", r"C:\dir\user \q \");
    }

    #[test]
    fn decodes_references() {
        check(Layer::Reference, "&quot;&#123;&#x7B;&lcub;&amp;quot;&apos;&#39;", "\"{{{&quot;''");
        check(
            Layer::Reference,
            "&quot &#34x &ampx; a & b &unknown; &#;",
            "\" \"x &x; a & b &unknown; &#;",
        );
    }

    #[test]
    fn decodes_percents() {
        check(Layer::Percent, "%7B%22a%22%3A+%22b%22%7d%u007b", "{\"a\": \"b\"}{");
        check(Layer::Percent, "100% a+b %zz %", "100% a+b %zz %");
    }
}
