//! Traces of sanitizing in a text: marks like `<U+200B>`, and words before or in the place of a message.

use std::ops::Range;

use memchr::memmem;

use crate::sanitize::{BLOCKED, REMOVED};

/// Something in a text that sanitizing may have put there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    /// The character that a mark stands for.
    pub(super) char: Option<char>,
}

const MARK: &str = "<U+";
/// Hexadecimal digits of a mark.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=6;

/// Returns whether a text may have a token.
pub(super) fn may_have(text: &str) -> bool {
    [MARK, BLOCKED, REMOVED].iter().any(|it| memmem::find(text.as_bytes(), it.as_bytes()).is_some())
}

/// Returns all tokens of a text, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for start in memmem::find_iter(text.as_bytes(), MARK) {
        let rest = text.get(start..).unwrap_or_default();
        if let Some((char, length)) = mark(rest) {
            tokens.push(Token { range: start..start + length, char: Some(char) });
        }
    }
    for words in [BLOCKED, REMOVED] {
        for start in memmem::find_iter(text.as_bytes(), words) {
            tokens.push(Token { range: start..start + words.len(), char: None });
        }
    }
    tokens.sort_by_key(|it| it.range.start);
    tokens
}

/// Reads the mark that a text begins with: its character, and how long it is.
pub(super) fn mark(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix(MARK)?;
    let is_digit = |it: &u8| it.is_ascii_digit() || (b'A'..=b'F').contains(it);
    let count = digits.bytes().take(DIGITS.end() + 1).take_while(is_digit).count();
    let code = u32::from_str_radix(digits.get(..count)?, 16).ok()?;
    let is_mark = DIGITS.contains(&count) && digits.as_bytes().get(count) == Some(&b'>');
    let char = char::from_u32(code).filter(|_| is_mark)?;
    Some((char, MARK.len() + count + 1))
}
