//! Strings: finding their end, checking their escapes, and decoding them.

use std::borrow::Cow;

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16, u8x64};
use memchr::memchr2;

/// End of a string, and unpaired surrogates in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct StringEnd {
    /// Position after the closing quote.
    pub(crate) end: usize,
    /// Position of the first surrogate escape without a partner.
    pub(crate) lone: Option<usize>,
}

/// Reason why a string is invalid, with the position.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StringFault {
    Ended(usize),
    Escape(usize),
    Control(usize),
}

/// Returns the first position at or after `pos` of a quote, a backslash or a control character, or the
/// length.
#[inline]
pub(crate) fn next_special(bytes: &[u8], pos: usize) -> usize {
    let near = dispatch!(Level::baseline(), simd => near_special(simd, bytes, pos));
    near.unwrap_or_else(|| dispatch!(Level::new(), simd => far_special(simd, bytes, pos)))
}

/// Like [`next_special`], for code that was compiled for this machine.
#[inline(always)]
pub(super) fn next_special_with<S: Simd>(simd: S, bytes: &[u8], pos: usize) -> usize {
    near_special(simd, bytes, pos).unwrap_or_else(|| far_special(simd, bytes, pos))
}

/// Looks at the next 16 bytes, in which most strings end. `None` if there is nothing special in them, or if
/// there are less.
#[inline(always)]
fn near_special<S: Simd>(simd: S, bytes: &[u8], pos: usize) -> Option<usize> {
    let block = u8x16::simd_from(simd, *bytes.get(pos..)?.first_chunk::<16>()?);
    let specials = block.simd_eq(b'"') | block.simd_eq(b'\\') | block.simd_lt(b' ');
    let mask = specials.to_bitmask();
    (mask != 0).then(|| pos + mask.trailing_zeros() as usize)
}

#[inline(never)]
fn far_special<S: Simd>(simd: S, bytes: &[u8], mut pos: usize) -> usize {
    simd.vectorize(
        #[inline(always)]
        || {
            while let Some(block) = bytes.get(pos..).and_then(|rest| rest.first_chunk::<64>()) {
                let masks = Masks::of(simd, block);
                let specials = masks.quotes | masks.backslashes | masks.controls;
                if specials != 0 {
                    return pos + specials.trailing_zeros() as usize;
                }
                pos += block.len();
            }
            let rest = bytes.get(pos..).unwrap_or_default();
            let special =
                rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
            pos + special.unwrap_or(rest.len())
        },
    )
}

/// Continues in a string at `first`, where [`next_special`] found something other than the closing quote.
///
/// A separate function, so that strings without escapes, which are nearly all, are handled in registers.
#[inline(never)]
pub(crate) fn rest_of_string<S: Simd>(
    simd: S,
    bytes: &[u8],
    first: usize,
) -> Result<StringEnd, StringFault> {
    simd.vectorize(
        #[inline(always)]
        || {
            let (mut at, mut lone) = (first, None);
            loop {
                match bytes.get(at) {
                    Some(b'"') => return Ok(StringEnd { end: at + 1, lone }),
                    Some(b'\\') => {
                        at += match plain_escape_len(bytes, at) {
                            Some(len) => len,
                            None => {
                                let escape = Escape::read(bytes, at)?;
                                if escape.is_lone() {
                                    lone = lone.or(Some(at));
                                }
                                escape.len()
                            }
                        };
                    }
                    // An escape was skipped, so look for the next special byte.
                    Some(0x20..) => at = skip_plain(simd, bytes, at),
                    Some(_) => return Err(StringFault::Control(at)),
                    None => return Err(StringFault::Ended(at)),
                }
            }
        },
    )
}

/// Skips text and short escapes, 64 bytes at a time. Returns the position of anything else, or of an
/// escape near the end.
#[inline(always)]
fn skip_plain<S: Simd>(simd: S, bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
        let masks = Masks::of(simd, block);
        let (mut others, mut escaped, mut is_cut) = (0, 0, false);
        if masks.backslashes != 0 {
            (escaped, is_cut) = escaped_bytes(masks.backslashes, false);
            // An escape is reported at its backslash.
            others = (escaped & !short_escapes(simd, block)) >> 1;
        }
        let stop = masks.quotes & !escaped | others | masks.controls;
        if stop != 0 {
            return at + stop.trailing_zeros() as usize;
        }
        // The next block begins with the backslash of an escape that this one cuts.
        at += block.len() - usize::from(is_cut);
    }
    next_special_with(simd, bytes, at)
}

/// Returns the position after the closing quote of a string of checked text. `at` is inside of the string,
/// and no backslash escapes the byte there.
///
/// The escapes are valid, so only quotes and backslashes count: a third of the work of the check.
pub(super) fn end_of_checked(bytes: &[u8], at: usize) -> usize {
    dispatch!(Level::new(), simd => end_of_checked_with(simd, bytes, at))
}

#[inline(always)]
fn end_of_checked_with<S: Simd>(simd: S, bytes: &[u8], mut at: usize) -> usize {
    let mut is_escaped = false;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
        let masks = Masks::of(simd, block);
        let (escaped, is_next_escaped) = escaped_bytes(masks.backslashes, is_escaped);
        let ends = masks.quotes & !escaped;
        if ends != 0 {
            return at + ends.trailing_zeros() as usize + 1;
        }
        is_escaped = is_next_escaped;
        at += block.len();
    }
    for byte in bytes.get(at..).unwrap_or_default() {
        at += 1;
        if *byte == b'"' && !is_escaped {
            break;
        }
        is_escaped = *byte == b'\\' && !is_escaped;
    }
    at
}

/// Returns true if `text` ends inside a string, even if it has other faults.
///
/// [`JsonError::ended_in_string`](super::JsonError::ended_in_string) is true only if there is no
/// other fault before the end. A peer that writes raw newlines into strings writes raw tabs as
/// well, so code that joins torn lines uses this function.
pub fn ends_in_string(text: &[u8]) -> bool {
    let (mut pos, mut inside) = (0, false);
    while let Some(found) = text.get(pos..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        let is_quote = text.get(pos + found) == Some(&b'"');
        inside ^= is_quote;
        // Outside of a string, a backslash escapes nothing.
        pos += found + if is_quote || !inside { 1 } else { 2 };
    }
    inside
}

/// One bit for each byte of 64.
struct Masks {
    backslashes: u64,
    quotes: u64,
    controls: u64,
}

impl Masks {
    #[inline(always)]
    fn of<S: Simd>(simd: S, block: &[u8; 64]) -> Self {
        let bytes = u8x64::simd_from(simd, *block);
        Self {
            backslashes: bytes.simd_eq(b'\\').to_bitmask(),
            quotes: bytes.simd_eq(b'"').to_bitmask(),
            controls: bytes.simd_lt(b' ').to_bitmask(),
        }
    }
}

/// Returns the letters that form an escape of two bytes after a backslash. The rare ones are left out.
#[inline(always)]
fn short_escapes<S: Simd>(simd: S, block: &[u8; 64]) -> u64 {
    let bytes = u8x64::simd_from(simd, *block);
    let layout = bytes.simd_eq(b'n') | bytes.simd_eq(b't') | bytes.simd_eq(b'r');
    let signs = bytes.simd_eq(b'/') | bytes.simd_eq(b'"') | bytes.simd_eq(b'\\');
    (layout | signs).to_bitmask()
}

/// Finds the bytes that a backslash before them escapes, in 64 bytes of a JSON string or a frame.
///
/// `backslashes` has one bit for each backslash. `is_first_escaped` says that a backslash before these
/// bytes escapes the first one. Returns one bit for each escaped byte, and true if the last byte is a
/// backslash that escapes the byte after it.
///
/// ```
/// use hardline_wire::json::escaped_bytes;
///
/// // The bytes `\\\\n\\n`: the first backslash escapes the second one, and the third one a letter.
/// assert_eq!(escaped_bytes(0b01011, false), (0b10010, false));
/// assert_eq!(escaped_bytes(1 << 63, false), (0, true));
/// ```
#[inline(always)]
pub fn escaped_bytes(backslashes: u64, is_first_escaped: bool) -> (u64, bool) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let first = u64::from(is_first_escaped);
    let backslashes = backslashes & !first;
    let behind = backslashes << 1 | first;
    // In each row of backslashes, every second byte is escaped. Adding the start of a row to the row
    // carries to its end, which shows if the row has an odd length.
    let odd_starts = backslashes & !EVEN & !behind;
    let (even_rows, is_last_escaping) = odd_starts.overflowing_add(backslashes);
    ((EVEN ^ even_rows << 1) & behind, is_last_escaping)
}

/// Returns the length of the escape at `at`, if it is valid and not a surrogate. Nearly all are,
/// and need no [`Escape`].
#[inline(always)]
fn plain_escape_len(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at + 1..)?;
    match rest {
        [b'n' | b'"' | b'\\' | b't' | b'/' | b'r' | b'b' | b'f', ..] => Some(2),
        [b'u', first, second, third, fourth, ..] => {
            let [first, second, third, fourth] = [first, second, third, fourth].map(hex_digit);
            // A byte that is not a digit has the highest bit set; surrogates begin with d8 to df.
            let is_hex = (first | second | third | fourth) & 0x80 == 0;
            let is_surrogate = first == 0xd && second >= 8;
            (is_hex && !is_surrogate).then_some(6)
        }
        _ => None,
    }
}

/// Returns the value of a hexadecimal digit, or `0xff` for any other byte.
#[inline(always)]
fn hex_digit(byte: &u8) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::indexing_slicing,
        reason = "evaluated at compile time"
    )]
    const DIGITS: [u8; 256] = {
        let mut digits = [0xff; 256];
        let mut value = 0;
        while value < 16 {
            let digit = b"0123456789abcdef"[value];
            digits[digit as usize] = value as u8;
            digits[digit.to_ascii_uppercase() as usize] = value as u8;
            value += 1;
        }
        digits
    };
    DIGITS.get(usize::from(*byte)).copied().unwrap_or(0xff)
}

/// Meaning of one escape sequence.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Escape {
    /// `\n` and similar escapes.
    Short(char),
    /// `\u` and four digits.
    Unit(char),
    /// Two `\u` that form one character.
    Pair(char),
    /// A surrogate without a partner.
    Lone(u16),
}

impl Escape {
    /// Reads the escape whose backslash is at `at`.
    pub(super) fn read(bytes: &[u8], at: usize) -> Result<Self, StringFault> {
        let short = match bytes.get(at + 1) {
            Some(b'u') => return Self::read_unit(bytes, at),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(_) => return Err(StringFault::Escape(at)),
            None => return Err(StringFault::Ended(bytes.len())),
        };
        Ok(Self::Short(short))
    }

    fn read_unit(bytes: &[u8], at: usize) -> Result<Self, StringFault> {
        let unit = hex_unit(bytes, at)?;
        if let Some(char) = char::from_u32(unit.into()) {
            return Ok(Self::Unit(char));
        }
        let follows = bytes.get(at + 6..at + 8) == Some(b"\\u");
        // Only a high surrogate can begin a pair.
        if let (true, 0xd800..=0xdbff) = (follows, unit) {
            let low = hex_unit(bytes, at + 6)?;
            let pair = char::decode_utf16([unit, low]).next();
            if let (0xdc00..=0xdfff, Some(Ok(char))) = (low, pair) {
                return Ok(Self::Pair(char));
            }
        }
        Ok(Self::Lone(unit))
    }

    /// Returns the number of bytes of the escape.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Short(_) => 2,
            Self::Unit(_) | Self::Lone(_) => 6,
            Self::Pair(_) => 12,
        }
    }

    pub(super) fn is_lone(self) -> bool {
        matches!(self, Self::Lone(_))
    }
}

/// Reads the four digits of the `\u` at `at`.
fn hex_unit(bytes: &[u8], at: usize) -> Result<u16, StringFault> {
    let mut unit = 0;
    for index in at + 2..at + 6 {
        let Some(byte) = bytes.get(index) else {
            return Err(StringFault::Ended(bytes.len()));
        };
        let digit = hex_digit(byte);
        if digit == 0xff {
            return Err(StringFault::Escape(at));
        }
        unit = unit << 4 | u16::from(digit);
    }
    Ok(unit)
}

/// Decodes the content of a checked string, without its quotes.
pub(super) fn unescape(content: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', content.as_bytes()) else {
        return Cow::Borrowed(content);
    };
    let mut decoded = String::with_capacity(content.len());
    decoded.push_str(content.get(..first).unwrap_or_default());
    unescape_with(content, first, |part| match part {
        Part::Plain(text) => decoded.push_str(text),
        Part::Char(char) => decoded.push(char),
        Part::Lone(_) => decoded.push(char::REPLACEMENT_CHARACTER),
    });
    Cow::Owned(decoded)
}

/// Writes the content of a checked string to `out` as bytes. An unpaired surrogate becomes the
/// three bytes that UTF-8 would have for it, so that different contents give different bytes.
pub(super) fn unescape_bytes(content: &str, out: &mut Vec<u8>) {
    out.clear();
    unescape_with(content, 0, |part| match part {
        Part::Plain(text) => out.extend_from_slice(text.as_bytes()),
        Part::Char(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        Part::Lone(unit) => {
            let [high, low] = unit.to_be_bytes();
            out.extend_from_slice(&[
                0xe0 | high >> 4,
                0x80 | (high & 0xf) << 2 | low >> 6,
                0x80 | low & 0x3f,
            ]);
        }
    });
}

enum Part<'a> {
    Plain(&'a str),
    Char(char),
    Lone(u16),
}

/// Calls `each` with the parts of `content` from `pos` on. Stops at an invalid escape.
fn unescape_with<'a>(content: &'a str, mut pos: usize, mut each: impl FnMut(Part<'a>)) {
    let bytes = content.as_bytes();
    while let Some(rest) = bytes.get(pos..).filter(|rest| !rest.is_empty()) {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        if plain > 0 {
            each(Part::Plain(content.get(pos..pos + plain).unwrap_or_default()));
            pos += plain;
            continue;
        }
        let Ok(escape) = Escape::read(bytes, pos) else { return };
        each(match escape {
            Escape::Short(char) | Escape::Unit(char) | Escape::Pair(char) => Part::Char(char),
            Escape::Lone(unit) => Part::Lone(unit),
        });
        pos += escape.len();
    }
}

#[cfg(test)]
mod tests {
    use hardline_testkit::generate::Rng;

    use super::*;

    #[test]
    fn finds_the_first_special_byte_at_every_distance() {
        for special in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for distance in 0..100 {
                let mut bytes = vec![0xc3; 120];
                bytes[distance] = special;
                bytes[distance + 1] = b'"';
                for level in [Level::baseline(), Level::new()] {
                    let next = |pos| dispatch!(level, simd => next_special_with(simd, &bytes, pos));
                    assert_eq!(next(0), distance, "{special:#x} {level:?}");
                    assert_eq!(next(distance), distance);
                }
                assert_eq!(next_special(&bytes, 0), distance);
            }
        }
    }

    #[test]
    fn takes_no_ordinary_byte_for_a_special_one() {
        for byte in (0x20..=0xff).filter(|byte| !b"\"\\".contains(byte)) {
            let bytes = [byte; 24];
            assert_eq!(next_special(&bytes, 0), 24, "{byte:#x}");
        }
    }

    /// Each instruction set finds the same end and the same faults as a look at every byte.
    #[test]
    fn strings_end_at_the_same_place_for_every_instruction_set() {
        let parts =
            [r"\\", r#"\""#, r"\n", r"\u00e9", r"\ud800", r"\x", "\"", "\n", "é", "word", " "];
        for seed in 0..20_000 {
            let mut random = Rng::new(seed);
            let mut text = "x".repeat(random.below(80));
            for _ in 0..random.below(40) {
                text.push_str(random.pick(&parts));
            }
            let bytes = text.as_bytes();
            let expected = end_by_bytes(bytes);
            for level in [Level::baseline(), Level::new()] {
                let found = dispatch!(level, simd => {
                    let first = next_special_with(simd, bytes, 0);
                    rest_of_string(simd, bytes, first)
                });
                assert_eq!(found.map(|it| it.end), expected, "seed {seed} {level:?}: {text:?}");
                if let Ok(end) = expected {
                    let found = dispatch!(level, simd => end_of_checked_with(simd, bytes, 0));
                    assert_eq!(found, end, "seed {seed} {level:?}: {text:?}");
                }
            }
        }
    }

    fn end_by_bytes(bytes: &[u8]) -> Result<usize, StringFault> {
        let mut at = 0;
        loop {
            at += match bytes.get(at) {
                None => return Err(StringFault::Ended(at)),
                Some(b'"') => return Ok(at + 1),
                Some(b'\\') => Escape::read(bytes, at)?.len(),
                Some(..0x20) => return Err(StringFault::Control(at)),
                Some(_) => 1,
            };
        }
    }

    #[test]
    fn unescapes() {
        #[track_caller]
        fn check(content: &str, expected: &str) {
            assert_eq!(unescape(content), expected);
            let mut bytes = Vec::new();
            unescape_bytes(content, &mut bytes);
            assert_eq!(bytes, expected.as_bytes());
        }
        check("", "");
        check("plain ünïcode", "plain ünïcode");
        check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
        check(r"a\u0041\u00e9\u20aCz", "aA\u{e9}\u{20ac}z");
        check(r"\uD83D\uDE00!", "\u{1f600}!");
    }

    #[test]
    fn keeps_different_lone_surrogates_apart() {
        let mut bytes = Vec::new();
        unescape_bytes(r"a\uD800b\udfff", &mut bytes);
        assert_eq!(bytes, b"a\xed\xa0\x80b\xed\xbf\xbf");
        assert_eq!(unescape(r"a\uD800b\udfff"), "a\u{fffd}b\u{fffd}");
    }
}
