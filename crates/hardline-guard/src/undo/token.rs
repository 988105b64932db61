//! Traces of sanitizing in a text: marks like `<U+200B>`, and words before a message.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memmem};

use crate::sanitize::BLOCKED;

/// A part of a text that sanitizing may have inserted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    /// The character that a mark stands for; `None` for words.
    pub(super) char: Option<char>,
}

const MARK: &str = "<U+";
/// The part of a mark without `<` and `>`, which some JSON writers escape.
const UNESCAPED_MARK: &str = "U+";
/// Start of the escapes for the characters of a token.
const ESCAPE: &str = "\\u00";
/// Number of hexadecimal digits in a mark.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=6;

/// Returns true if a text may have a token.
pub(crate) fn may_have(text: &str) -> bool {
    has_any(text.as_bytes(), [MARK, BLOCKED])
}

/// Prefilter for frames. Every frame of the server is searched, so the searchers are built once.
static FRAME_WORDS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| [UNESCAPED_MARK, BLOCKED].map(Finder::new));

/// Returns true if a string of a frame may have a token, if its letters are not escaped.
pub(crate) fn may_be_written(frame: &[u8]) -> bool {
    FRAME_WORDS.iter().any(|it| it.find(frame).is_some())
}

/// Returns true if a string of a frame may have a token, with any escapes.
pub(crate) fn may_be_escaped(frame: &[u8]) -> bool {
    may_be_written(frame) || has_any(frame, [ESCAPE])
}

fn has_any<const N: usize>(text: &[u8], words: [&str; N]) -> bool {
    words.iter().any(|it| memmem::find(text, it.as_bytes()).is_some())
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
    for start in memmem::find_iter(text.as_bytes(), BLOCKED) {
        tokens.push(Token { range: start..start + BLOCKED.len(), char: None });
    }
    tokens.sort_by_key(|it| it.range.start);
    tokens
}

/// Reads the mark at the start of a text. Returns its character and its length.
pub(super) fn mark(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix(MARK)?;
    // The guard writes upper-case digits only.
    let is_digit = |it: &u8| it.is_ascii_digit() || (b'A'..=b'F').contains(it);
    let count = digits.bytes().take(DIGITS.end() + 1).take_while(is_digit).count();
    let code = u32::from_str_radix(digits.get(..count)?, 16).ok()?;
    let is_mark = DIGITS.contains(&count) && digits.as_bytes().get(count) == Some(&b'>');
    let char = char::from_u32(code).filter(|_| is_mark)?;
    Some((char, MARK.len() + count + 1))
}

/// A text without carriage returns, which clients add and remove, and its tokens.
#[derive(Debug)]
pub(super) struct Sheet<'a> {
    pub(super) text: Cow<'a, str>,
    /// The tokens, with their positions in the original text.
    pub(super) tokens: Vec<Token>,
    /// Start of each token in `text`.
    starts: Vec<usize>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let tokens = tokens(text);
        if memchr(b'\r', text.as_bytes()).is_none() {
            let starts = tokens.iter().map(|it| it.range.start).collect();
            return Self { text: text.into(), tokens, starts };
        }
        // Positions shift by the number of carriage returns before them.
        let mut returns = memchr_iter(b'\r', text.as_bytes()).peekable();
        let mut before = 0;
        let mut start = |token: &Token| {
            while returns.next_if(|it| *it < token.range.start).is_some() {
                before += 1;
            }
            token.range.start - before
        };
        let starts = tokens.iter().map(&mut start).collect();
        Self { text: text.replace('\r', "").into(), tokens, starts }
    }

    /// Returns each token with the text around it.
    pub(super) fn spots(&self) -> impl Iterator<Item = Spot<'_>> {
        let places = self.tokens.iter().zip(&self.starts);
        places.map(|(token, start)| {
            Spot::new(&self.text, *start, token.range.len()).unwrap_or_default()
        })
    }
}

/// A token and the text on both sides of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot<'a> {
    pub(super) left: &'a str,
    pub(super) written: &'a str,
    pub(super) right: &'a str,
}

impl<'a> Spot<'a> {
    pub(super) fn new(text: &'a str, start: usize, length: usize) -> Option<Self> {
        let (left, rest) = text.split_at_checked(start)?;
        let (written, right) = rest.split_at_checked(length)?;
        Some(Self { left, written, right })
    }

    /// Returns the token with at most `count` characters on each side.
    pub(super) fn within(self, count: usize) -> Self {
        Self { left: last(self.left, count), right: first(self.right, count), ..self }
    }
}

/// Returns the first `count` characters of a text, or all if there are fewer.
pub(super) fn first(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// Returns the last `count` characters of a text, or all if there are fewer.
pub(super) fn last(text: &str, count: usize) -> &str {
    let Some(nth) = count.checked_sub(1) else { return "" };
    let start = text.char_indices().nth_back(nth).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or_default()
}
