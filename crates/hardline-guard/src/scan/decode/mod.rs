//! Encodings that hide a message: what they stand for, and where each byte came from.
//!
//! One encoding, one file. Each of them says, at a byte that may start an escape, what the escape
//! stands for and how long it is; this file walks a text with that. Base64 is no matter of escapes
//! and has a walk of its own.
//!
//! Invariants:
//! - Decoding never grows a text and looks at each byte a bounded number of times.
//! - No map of positions is kept: the places of the few bytes that matter are found by walking the
//!   text again, all of them in one walk.

mod backslash;
pub(super) mod base64;
mod percent;
mod reference;

use memchr::memchr2;

use super::Layer;

/// What an escape stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Escape {
    /// Its length where it stands.
    length: usize,
    bytes: [u8; 4],
    /// How many of `bytes` count.
    count: usize,
}

impl Escape {
    fn byte(length: usize, byte: u8) -> Self {
        Self { length, bytes: [byte, 0, 0, 0], count: 1 }
    }

    /// The escape of a character; a surrogate, or a number beyond Unicode, becomes U+FFFD.
    fn char(length: usize, code: u32) -> Self {
        let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut bytes = [0; 4];
        let count = char.encode_utf8(&mut bytes).len();
        Self { length, bytes, count }
    }
}

/// A place in a decoded text, found in the text that it was decoded from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Place {
    /// Where the byte, or the escape for it, starts.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
    /// Whether it is written as an escape.
    pub(super) is_escape: bool,
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

/// Decodes the escapes of `layer` in `text` into `out`.
pub(super) fn decode(layer: Layer, text: &[u8], out: &mut Vec<u8>) -> Decoded {
    out.clear();
    let mut decoded = Decoded::default();
    walk(layer, text, |piece| {
        match piece {
            Piece::Plain { start, end } => {
                out.extend_from_slice(text.get(start..end).unwrap_or_default());
            }
            Piece::Escape { escape, .. } => {
                decoded.has_escapes = true;
                match escape.bytes {
                    [b'{', ..] => decoded.has_brace = true,
                    [b'\\', ..] => decoded.made = decoded.made.and(Layer::Backslash),
                    [b'&', ..] => decoded.made = decoded.made.and(Layer::Reference),
                    [b'%', ..] => decoded.made = decoded.made.and(Layer::Percent),
                    _ => {}
                }
                out.extend(escape.bytes.iter().take(escape.count));
            }
        }
        true
    });
    decoded
}

/// Finds where the bytes at `positions` of the decoded text, which are in order, stand in `text`.
pub(super) fn locate(layer: Layer, text: &[u8], positions: &[usize]) -> Vec<Place> {
    let mut places = Vec::with_capacity(positions.len());
    let mut wanted = positions.iter().copied().peekable();
    let mut decoded = 0;
    walk(layer, text, |piece| {
        let length = match piece {
            Piece::Plain { start, end } => end - start,
            Piece::Escape { escape, .. } => escape.count,
        };
        while let Some(position) = wanted.next_if(|it| *it < decoded + length) {
            places.push(match piece {
                Piece::Plain { start, .. } => {
                    let start = start + (position - decoded);
                    Place { start, end: start + 1, is_escape: false }
                }
                Piece::Escape { start, escape } => {
                    Place { start, end: start + escape.length, is_escape: true }
                }
            });
        }
        decoded += length;
        wanted.peek().is_some()
    });
    let end = Place { start: text.len(), end: text.len(), is_escape: false };
    places.resize(positions.len(), end);
    places
}

/// Reads the escape at a place.
type Read = fn(&[u8], usize) -> Option<Escape>;

enum Piece {
    Plain { start: usize, end: usize },
    Escape { start: usize, escape: Escape },
}

/// Takes `text` apart into escapes and what is between them, until `take` has enough.
fn walk(layer: Layer, text: &[u8], mut take: impl FnMut(Piece) -> bool) {
    let (first, second, read): (u8, u8, Read) = match layer {
        Layer::Json | Layer::Backslash => (b'\\', b'\\', backslash::escape),
        Layer::Reference => (b'&', b'&', reference::escape),
        Layer::Percent => (b'%', b'+', percent::escape),
        Layer::Base64 => return,
    };
    let (mut plain, mut from) = (0, 0);
    while let Some(offset) = text.get(from..).and_then(|rest| memchr2(first, second, rest)) {
        let at = from + offset;
        let Some(escape) = read(text, at) else {
            from = at + 1;
            continue;
        };
        if plain < at && !take(Piece::Plain { start: plain, end: at }) {
            return;
        }
        if !take(Piece::Escape { start: at, escape }) {
            return;
        }
        from = at + escape.length;
        plain = from;
    }
    if plain < text.len() {
        take(Piece::Plain { start: plain, end: text.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(layer: Layer, text: &str, expected: &str) {
        let mut out = Vec::new();
        let has_escapes = decode(layer, text.as_bytes(), &mut out).has_escapes;
        assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
        assert_eq!(has_escapes, text != expected, "{text}");
        let positions: Vec<usize> = (0..=out.len()).collect();
        let places = locate(layer, text.as_bytes(), &positions);
        assert!(places.is_sorted_by_key(|it| it.start), "{text}");
        for (byte, place) in out.iter().zip(&places) {
            if !place.is_escape {
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
