//! HTML character references: by number, and by name for the characters that JSON needs.
//!
//! As in HTML, numbers and the oldest names count without their semicolon too.

use super::super::message::hex;
use super::{Escape, EscapeEncoding};

pub(super) struct Reference;

impl EscapeEncoding for Reference {
    const STARTS: [u8; 2] = [b'&', b'&'];

    #[inline]
    fn escape(text: &[u8], at: usize) -> Option<Escape> {
        match text.get(at + 1..)? {
            [b'#', b'x' | b'X', digits @ ..] => {
                // Nine digits or more are no character, so no number overflows.
                let count = digits.iter().take(9).take_while(|it| it.is_ascii_hexdigit()).count();
                let code = hex(digits.get(..count).filter(|it| (1..9).contains(&it.len()))?)?;
                number(code, 3 + count, digits.get(count))
            }
            [b'#', digits @ ..] => {
                let count = digits.iter().take(9).take_while(|it| it.is_ascii_digit()).count();
                let digits_only = digits.get(..count).filter(|it| (1..9).contains(&it.len()))?;
                let code = digits_only.iter().fold(0, |code, it| code * 10 + u32::from(it - b'0'));
                number(code, 2 + count, digits.get(count))
            }
            rest => named(rest),
        }
    }
}

fn number(code: u32, length: usize, next: Option<&u8>) -> Option<Escape> {
    let length = length + usize::from(next == Some(&b';'));
    Some(Escape::char(u8::try_from(length).ok()?, code))
}

fn named(rest: &[u8]) -> Option<Escape> {
    let count = rest.iter().take(8).take_while(|it| it.is_ascii_alphabetic()).count();
    let name = rest.get(..count)?;
    let byte = match name {
        _ if rest.get(count) != Some(&b';') => return unfinished(name),
        b"quot" | b"QUOT" => b'"',
        b"amp" | b"AMP" => b'&',
        b"lt" | b"LT" => b'<',
        b"gt" | b"GT" => b'>',
        b"apos" => b'\'',
        b"lcub" | b"lbrace" => b'{',
        b"rcub" | b"rbrace" => b'}',
        b"lsqb" | b"lbrack" => b'[',
        b"rsqb" | b"rbrack" => b']',
        b"colon" => b':',
        b"comma" => b',',
        b"period" => b'.',
        b"sol" => b'/',
        b"bsol" => b'\\',
        b"num" => b'#',
        b"percnt" => b'%',
        b"plus" => b'+',
        b"equals" => b'=',
        b"lowbar" => b'_',
        b"nbsp" => b' ',
        b"Tab" => b'\t',
        b"NewLine" => b'\n',
        _ => return unfinished(name),
    };
    Some(Escape::byte(u8::try_from(2 + count).ok()?, byte))
}

/// Decodes a name that counts without its semicolon, and with other letters after it.
fn unfinished(name: &[u8]) -> Option<Escape> {
    let old: [(&[u8], u8); 4] = [(b"quot", b'"'), (b"amp", b'&'), (b"lt", b'<'), (b"gt", b'>')];
    let (old, byte) = old.into_iter().find(|(old, _)| name.starts_with(old))?;
    Some(Escape::byte(u8::try_from(1 + old.len()).ok()?, byte))
}
