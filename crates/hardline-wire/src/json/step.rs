//! A walk over a value and everything inside it, in one pass.

use super::skip_whitespace;
use super::string::{end_of_checked, next_special};
use super::value::{Kind, Value};

/// One step of a walk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has these four")]
pub enum Step<'a> {
    /// An array or object begins at this byte of the checked text.
    Enter(Kind, usize),
    /// The innermost array or object ends before this byte of the checked text.
    Leave(usize),
    /// A key of the innermost object. The next step is its value, or enters it.
    Key(Value<'a>),
    /// A string, number, boolean or null.
    Scalar(Value<'a>),
}

/// The steps of a walk, in the order of the text. Each byte is read once.
#[derive(Clone, Debug)]
pub struct Steps<'a> {
    of: Value<'a>,
    pos: usize,
}

impl<'a> Steps<'a> {
    pub(super) fn new(of: Value<'a>) -> Self {
        Self { of, pos: 0 }
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let bytes = self.of.text().as_bytes();
        let mut start = skip_whitespace(bytes, self.pos);
        if let Some(b',' | b':') = bytes.get(start) {
            start = skip_whitespace(bytes, start + 1);
        }
        self.pos = start + 1;
        match bytes.get(start)? {
            b'{' => Some(Step::Enter(Kind::Object, self.of.offset() + start)),
            b'[' => Some(Step::Enter(Kind::Array, self.of.offset() + start)),
            b'}' | b']' => Some(Step::Leave(self.of.offset() + self.pos)),
            b'"' => {
                self.pos = skip_string(bytes, start);
                let string = self.of.part(start, self.pos);
                // Only a key is followed by a colon.
                let follower = bytes.get(skip_whitespace(bytes, self.pos));
                Some(if follower == Some(&b':') { Step::Key(string) } else { Step::Scalar(string) })
            }
            _ => {
                self.pos = skip_word(bytes, start);
                Some(Step::Scalar(self.of.part(start, self.pos)))
            }
        }
    }
}

/// Returns the position after the string that starts at `start` of checked text.
pub(super) fn skip_string(bytes: &[u8], start: usize) -> usize {
    let special = next_special(bytes, start + 1);
    if bytes.get(special) == Some(&b'"') { special + 1 } else { end_of_checked(bytes, special) }
}

/// Returns the position after the number or literal that starts at `start` of checked text.
pub(super) fn skip_word(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    // The text was checked, so the first delimiter ends the word.
    let ends = |byte: &u8| b",:]} \t\n\r".contains(byte);
    start + rest.iter().position(ends).unwrap_or(rest.len())
}
