//! Backslash escapes: those of JSON, and `\x..`, `\u{…}` and `\U........` of other languages.

use super::super::message::hex;
use super::Escape;

pub(super) fn escape(text: &[u8], at: usize) -> Option<Escape> {
    let rest = text.get(at + 1..)?;
    let (&kind, rest) = rest.split_first()?;
    let byte = match kind {
        b'"' | b'\\' | b'/' | b'\'' => kind,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0c,
        b'u' => return unicode(rest),
        b'U' => return Some(Escape::char(10, hex(rest.get(..8)?)?)),
        b'x' => return Some(Escape::char(4, hex(rest.get(..2)?)?)),
        _ => return None,
    };
    Some(Escape::byte(2, byte))
}

fn unicode(rest: &[u8]) -> Option<Escape> {
    if let [b'{', digits @ ..] = rest {
        let length = digits.iter().take(7).position(|it| *it == b'}').filter(|it| *it > 0)?;
        return Some(Escape::char(length + 4, hex(digits.get(..length)?)?));
    }
    let high = hex(rest.get(..4)?)?;
    let pair = || {
        let rest = rest.get(4..10)?;
        let low = hex(rest.strip_prefix(br"\u")?)?;
        let is_pair = matches!((high, low), (0xd800..=0xdbff, 0xdc00..=0xdfff));
        is_pair.then(|| Escape::char(12, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)))
    };
    pair().or(Some(Escape::char(6, high)))
}
