//! Backslash escapes: those of JSON, and `\x..`, `\u{…}` and `\U........` of other languages.

use super::super::message::hex;
use super::{Escape, EscapeEncoding};

pub(super) struct Backslash;

impl EscapeEncoding for Backslash {
    const STARTS: [u8; 2] = [b'\\', b'\\'];

    #[inline]
    fn escape(text: &[u8], at: usize) -> Option<Escape> {
        let [kind, rest @ ..] = text.get(at + 1..)? else { return None };
        // The kind is unpredictable, so a table lookup is faster than a `match`.
        match SIMPLE.get(usize::from(*kind)) {
            None | Some(0) => long(*kind, rest),
            Some(byte) => Some(Escape::byte(2, *byte)),
        }
    }
}

/// The byte for each letter after a backslash; 0 for letters that do not form such an escape.
#[expect(clippy::indexing_slicing, reason = "at build time")]
static SIMPLE: [u8; 256] = {
    let pairs = *b"\"\"\\\\//''n\nr\rt\tb\x08f\x0c";
    let mut bytes = [0; 256];
    let mut index = 0;
    while index < pairs.len() {
        bytes[pairs[index] as usize] = pairs[index + 1];
        index += 2;
    }
    bytes
};

fn long(kind: u8, rest: &[u8]) -> Option<Escape> {
    match kind {
        b'u' => unicode(rest),
        b'U' => Some(Escape::char(10, hex(rest.get(..8)?)?)),
        b'x' => Some(Escape::char(4, hex(rest.get(..2)?)?)),
        _ => None,
    }
}

fn unicode(rest: &[u8]) -> Option<Escape> {
    if let [b'{', digits @ ..] = rest {
        let length = digits.iter().take(7).position(|it| *it == b'}').filter(|it| *it > 0)?;
        let all = u8::try_from(length).ok()? + 4;
        return Some(Escape::char(all, hex(digits.get(..length)?)?));
    }
    let high = hex(rest.get(..4)?)?;
    // A surrogate pair is one character; a lone surrogate becomes U+FFFD.
    let pair = || {
        let rest = rest.get(4..10)?;
        let low = hex(rest.strip_prefix(br"\u")?)?;
        let is_pair = matches!((high, low), (0xd800..=0xdbff, 0xdc00..=0xdfff));
        is_pair.then(|| Escape::char(12, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)))
    };
    pair().or(Some(Escape::char(6, high)))
}
