//! Percent-encoding of URLs and forms, and `%u....` of old scripts.

use super::super::message::hex;
use super::{Escape, EscapeEncoding};

pub(super) struct Percent;

impl EscapeEncoding for Percent {
    const STARTS: [u8; 2] = [b'%', b'+'];

    #[inline]
    fn escape(text: &[u8], at: usize) -> Option<Escape> {
        match text.get(at..)? {
            [b'%', b'u', digits @ ..] => Some(Escape::char(6, hex(digits.get(..4)?)?)),
            [b'%', digits @ ..] => {
                let code = hex(digits.get(..2)?)?;
                Some(Escape::byte(3, u8::try_from(code).ok()?))
            }
            // The space of a form. In encoded JSON, it stands next to an escape.
            [b'+', rest @ ..] => {
                let before = at.checked_sub(3).and_then(|it| text.get(it..at)?.strip_prefix(b"%"));
                let is_after = before.and_then(hex).is_some();
                (is_after || rest.first() == Some(&b'%')).then(|| Escape::byte(1, b' '))
            }
            _ => None,
        }
    }
}
