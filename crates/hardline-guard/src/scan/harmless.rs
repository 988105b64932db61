//! Escapes that cannot hide anything, so that the prefilter may pass over them.
//!
//! An escape matters if it can be a part of a hidden message:
//! - a letter of the name `jsonrpc`;
//! - a letter of base64, or white space inside of it;
//! - the start of another escape;
//! - a character that people do not see;
//! - a mark, which may be there twice, or a no-break space, which may be part of a long row.
//!
//! Quotes, braces and other signs do not matter by themselves: a message needs its name as well. Nor
//! do the letters of most scripts.
//!
//! Invariant: where a function returns true, the scanner finds nothing that the escape is a part of.

use super::block::is_base64;
use super::character::CharacterClass;
use super::decode::base64::MIN_LETTERS;
use super::message::hex;
use super::survey::MIN_RUN;
use super::unicode::is_mark;

/// Returns true for the number of a character that is harmless as an escape.
fn is_harmless(code: u32) -> bool {
    match u8::try_from(code) {
        Ok(byte @ ..0x80) => is_harmless_byte(byte),
        // The letter ſ folds to `s`.
        _ => !matches!(code, 0x17f | 0xd800..=0xdfff | 0xe0000..),
    }
}

/// Returns true for ASCII that is harmless as an escape.
fn is_harmless_byte(byte: u8) -> bool {
    let is_letter = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let starts_escape = matches!(byte, b'\\' | b'&' | b'%' | b'#');
    !is_letter && !starts_escape && !byte.is_ascii_whitespace()
}

/// Checks the escape of a JSON string whose `u` is the first byte of `rest`.
pub(super) fn is_unicode(rest: &[u8]) -> bool {
    let code = |digits: &[u8]| hex(digits.get(..4)?);
    let Some(unit) = rest.get(1..).and_then(code) else { return false };
    let code = match unit {
        0xd800..=0xdbff => match rest.get(5..) {
            Some([b'\\', b'u', low @ ..]) => match code(low) {
                Some(low @ 0xdc00..=0xdfff) => 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00),
                _ => return false,
            },
            _ => return false,
        },
        // The second half of a pair that was read with its first half.
        0xdc00..=0xdfff => return true,
        unit => unit,
    };
    let behind = rest.get(5..).unwrap_or_default();
    match u8::try_from(code) {
        // Some writers escape these three for HTML.
        Ok(b'&') => is_reference(behind),
        Ok(byte @ ..0x80) => !byte.is_ascii_control() && is_harmless_byte(byte),
        _ => {
            let is_drawn = |it| CharacterClass::of(it).is_none() && !is_mark(it) && it != '\u{a0}';
            code != 0x17f && char::from_u32(code).is_some_and(is_drawn)
        }
    }
}

/// Checks an escape inside of a text, such as source code. Its letter is the first byte of `rest`.
pub(super) fn is_inner(rest: &[u8]) -> bool {
    let escaped = |from: usize, digits: usize| hex(rest.get(from..from + digits)?);
    match rest {
        [b'u', b'{', digits @ ..] => is_braced(digits),
        [b'u', ..] => escaped(1, 4).is_none_or(|unit| match unit {
            // Halves of pairs, but not those of tag characters.
            0xd800..=0xdfff => unit != 0xdb40,
            unit => is_harmless(unit),
        }),
        [b'x', ..] => escaped(1, 2).is_none_or(is_harmless),
        [b'U', ..] => escaped(1, 8).is_none(),
        _ => true,
    }
}

/// Checks the number of an escape in braces.
fn is_braced(digits: &[u8]) -> bool {
    let count = digits.iter().take(7).take_while(|it| it.is_ascii_hexdigit()).count();
    let (number, behind) = digits.split_at_checked(count).unwrap_or_default();
    behind.first() != Some(&b'}') || hex(number).is_none_or(is_harmless)
}

/// Checks a character reference of HTML. `rest` is the text behind its `&`.
pub(super) fn is_reference(mut rest: &[u8]) -> bool {
    loop {
        if let [b'#', digits @ ..] = rest {
            return is_numeric(digits);
        }
        let count = rest.iter().take(8).take_while(|it| it.is_ascii_alphabetic()).count();
        let (name, behind) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        match name {
            b"bsol" | b"num" | b"percnt" | b"plus" | b"lowbar" | b"sol" | b"Tab" | b"NewLine" => {
                return false;
            }
            // Another reference may have been encoded once more.
            b"amp" | b"AMP" => rest = behind.strip_prefix(b";").unwrap_or(behind),
            _ => match name.strip_prefix(b"amp") {
                Some(_) => rest = rest.get(3..).unwrap_or_default(),
                None => return true,
            },
        }
    }
}

/// Checks a numeric reference. `digits` is the text behind its `#`.
fn is_numeric(digits: &[u8]) -> bool {
    let (digits, radix) = match digits {
        [b'x' | b'X', digits @ ..] => (digits, 16),
        _ => (digits, 10),
    };
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let count = digits.iter().take(9).take_while(is_digit).count();
    let digits = str::from_utf8(digits.get(..count).unwrap_or_default()).unwrap_or_default();
    u32::from_str_radix(digits, radix).map_or(true, is_harmless)
}

/// Checks a percent escape at `at`.
pub(super) fn is_percent(text: &[u8], at: usize) -> bool {
    let mut rest = text.get(at + 1..).unwrap_or_default();
    loop {
        if let [b'u', digits @ ..] = rest {
            return digits.get(..4).and_then(hex).is_none_or(is_harmless);
        }
        let code = rest.get(..2).and_then(hex).and_then(|code| u8::try_from(code).ok());
        match code {
            // A percent sign that was encoded once more.
            Some(b'%') => rest = rest.get(2..).unwrap_or_default(),
            Some(b'/' | b'+' | b'-' | b'_') => return is_short_row(text, at),
            // It belongs to a reference if an ampersand stands before it, encoded or not.
            Some(b'#') => {
                let before = text.get(..at).and_then(|it| it.last());
                return !matches!(before, Some(b'&' | b';' | b'6' | b'p' | b'P'));
            }
            // The space of a base64 text that is wrapped, which needs a line end as well.
            Some(b' ') | None => return true,
            Some(byte @ ..0x80) => return is_harmless_byte(byte),
            // The bytes of ſ and of tag characters.
            Some(byte) => return !matches!(byte, 0xc5 | 0xf3),
        }
    }
}

/// Returns true if the escaped base64 letter at `at` belongs to a row that is too short for a message.
fn is_short_row(text: &[u8], at: usize) -> bool {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, &[]));
    let (mut left, mut right) = (before, after);
    let mut count = 0;
    while let Some(rest) = strip_first(right).filter(|_| count < MIN_LETTERS) {
        right = rest;
        count += 1;
    }
    while let Some(rest) = strip_last(left).filter(|_| count < MIN_LETTERS) {
        left = rest;
        count += 1;
    }
    // A row may go on in the line before or after it.
    let is_wrapped = matches!(right.first(), Some(b'\\' | b' ' | b'&' | b'%'))
        || matches!(left.last(), Some(b'n' | b'r' | b't' | b' ' | b';' | b'0'))
        || matches!(left.get(left.len().saturating_sub(2)..), Some([b'\\', _]));
    count < MIN_RUN || count < MIN_LETTERS && !is_wrapped
}

/// Removes a base64 letter, escaped or not, from the start of a text.
fn strip_first(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'%', digits @ ..] => is_escaped_letter(digits).then(|| text.get(3..))?,
        [b'\\', b'/', rest @ ..] => Some(rest),
        [letter, rest @ ..] => is_base64(*letter).then_some(rest),
        [] => None,
    }
}

/// Removes a base64 letter, escaped or not, from the end of a text.
fn strip_last(text: &[u8]) -> Option<&[u8]> {
    let (rest, digits) = text.split_last_chunk::<2>().unwrap_or((&[], &[0; 2]));
    match (rest.split_last(), text.split_last()) {
        (Some((b'%', rest)), _) => is_escaped_letter(digits).then_some(rest),
        (_, Some((letter, rest))) if is_base64(*letter) => {
            // The letter may be the end of an escape of a sign.
            let is_inside = rest.last() == Some(&b'%');
            (!is_inside).then_some(rest)
        }
        _ => None,
    }
}

/// Returns true if two digits behind a percent sign encode a base64 letter.
fn is_escaped_letter(digits: &[u8]) -> bool {
    let code = digits.get(..2).and_then(hex).and_then(|code| u8::try_from(code).ok());
    code.is_some_and(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_ordinary_text_are_harmless() {
        for text in ["u4e2d", "ud83d\\ude00", "u003cb\\u003e", "u0026lt;", "u0027", "u00e9"] {
            assert!(is_unicode(text.as_bytes()), "{text}");
        }
        for text in
            ["u4e2d", "users", "x1b[0m", "u003c", "u{1F600}", "ud83d\\ude00", "U0001", "xyz", "n"]
        {
            assert!(is_inner(text.as_bytes()), "{text}");
        }
        for text in ["lt;b&gt;", "#39;", "#x27;", "amp;lt;", "amp;", "nbsp;", "copy;", "&", "x=1"] {
            assert!(is_reference(text.as_bytes()), "{text}");
        }
        for text in [
            "%20b",
            "%C3%A9",
            "%22",
            "100% of",
            "%d %s",
            "a%2Fb",
            "%2520",
            "chat-%23a",
            "%3A%2F%2Fx",
            "https%3A%2F%2Fexample.org%2Fpath%2Fto%2Fa%2Fpage",
        ] {
            let at = text.find('%').unwrap();
            assert!(is_percent(text.as_bytes(), at), "{text}");
        }
    }

    #[test]
    fn escapes_that_may_hide_a_message_are_not() {
        for text in
            ["u006a", "u000a", "u017f", "u200b", "udb40\\udc41", "u002b", "u0026#106;", "ud800"]
        {
            assert!(!is_unicode(text.as_bytes()), "{text}");
        }
        for text in ["u006a", "x6a", "u{6a}", "U0000006a", "udb40\\udc41", "u000a", "x0a"] {
            assert!(!is_inner(text.as_bytes()), "{text}");
        }
        for text in ["#106;", "#x6a;", "#106", "amp;#106;", "ampamp;#106;", "sol;", "amp;plus;"] {
            assert!(!is_reference(text.as_bytes()), "{text}");
        }
        let letters = "a".repeat(40);
        for text in [
            "%6a",
            "%256a",
            "%25256a",
            "%u006a",
            "%0a",
            "%C5%BF",
            "&%23106;",
            &format!("{letters}%2Fabcdef"),
        ] {
            let at = text.find('%').unwrap();
            assert!(!is_percent(text.as_bytes(), at), "{text}");
        }
    }
}
