//! The ids of a line that is no message, so that whoever waits for an answer gets one.
//!
//! [`Recovery`] is a lexer. It follows strings, escapes and nesting, steps over anything else, and
//! looks for the member `id` of each object that could have been a message: one at the start of
//! the line, one after another on the same line, or an element of an array. It takes its input in
//! chunks, so that an overlong line is searched to its end without being kept.
//!
//! An answer to an id that nobody sent does harm, so doubt means no id:
//! - an `id` deeper than the message's own members is not its id;
//! - two different ids, or one that is neither a string nor an integer, are none;
//! - a number or string that the end of the input may have cut short is none;
//! - after text that is no JSON, as in a log line, only an object with a `jsonrpc` member counts;
//! - a closing bracket that nothing opened is ignored, and a brace closes the brackets left open
//!   inside it, so that damage never lifts a nested `id` up to the message.
//!
//! Invariants: memory is bounded by `max_id_bytes`, whatever the input; each byte is looked at once.

mod nest;
mod token;

use crate::id::Id;
use crate::json::Scan;
use crate::limits::Limits;
use nest::{Bracket, Nest};
use token::{Key, Token, TokenText};

/// What can be told of an object that might have been a message.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Recovered {
    /// Its id, where there is no doubt.
    pub id: Option<Id<'static>>,
    /// Whether it looks like an answer (`result` or `error`, no `method`). One is never answered.
    pub is_response: bool,
}

/// How the input ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a line is whole or it is not")]
pub enum Ending {
    /// The line was written to its end, so that its last number is whole.
    Whole,
    /// There may have been more.
    Cut,
}

/// Recovers the ids of a line that is in memory.
pub fn recover<'a>(
    line: &'a [u8],
    ending: Ending,
    limits: &Limits,
) -> impl Iterator<Item = Recovered> + use<'a> {
    let mut recovery = Recovery::new(limits);
    let mut rest = line;
    std::iter::from_fn(move || recovery.next_message(&mut rest).or_else(|| recovery.finish(ending)))
}

/// Recovers the ids of one line, in chunks.
#[derive(Debug)]
pub struct Recovery {
    max_id_bytes: usize,
    nest: Nest,
    token: Token,
    /// The token so far, if it is one that matters.
    text: TokenText,
    expect: Expect,
    key: Key,
    /// The message being read, or read and not yet handed on.
    draft: Option<Draft>,
    /// Whether something that is no JSON was seen since the last message or comma.
    junk: bool,
    /// Whether the array that messages are in came after such a thing.
    junk_before_array: bool,
}

/// What comes next among the members of a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expect {
    Key,
    Colon,
    Value,
}

impl Recovery {
    /// Starts on a line.
    pub fn new(limits: &Limits) -> Self {
        Self {
            max_id_bytes: limits.max_id_bytes(),
            nest: Nest::default(),
            token: Token::None,
            text: TokenText::new(limits.max_id_bytes()),
            expect: Expect::Key,
            key: Key::Other,
            draft: None,
            junk: false,
            junk_before_array: false,
        }
    }

    /// Reads on until one more message is known. Returns `None` when `input` is used up.
    pub fn next_message(&mut self, input: &mut &[u8]) -> Option<Recovered> {
        while let Some((&byte, rest)) = input.split_first() {
            match self.token {
                Token::String { .. } => self.read_string(input),
                Token::Word if !is_delimiter(byte) => {
                    self.text.push(&[byte]);
                    *input = rest;
                }
                Token::Word => self.end_word(),
                Token::None => {
                    *input = rest;
                    if let Some(recovered) = self.read_byte(byte) {
                        return Some(recovered);
                    }
                }
            }
        }
        None
    }

    /// Ends the line. Returns the last message, and `None` from then on.
    pub fn finish(&mut self, ending: Ending) -> Option<Recovered> {
        if self.token == Token::Word && ending == Ending::Whole {
            self.end_word();
        }
        self.token = Token::None;
        self.draft.take().map(Draft::finish)
    }

    /// Takes a byte between tokens.
    fn read_byte(&mut self, byte: u8) -> Option<Recovered> {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'"' => self.token = Token::String { escape: false },
            b'{' => return self.open_object(),
            b'[' => {
                self.value_of_message(|_, _| None);
                if self.nest.depth() == 0 {
                    self.junk_before_array = self.junk;
                }
                self.nest.open(Bracket::Array);
            }
            b'}' | b']' => self.close(byte),
            b':' if self.at_member() && self.expect == Expect::Colon => {
                self.expect = Expect::Value;
                if let Some(draft) = &mut self.draft {
                    draft.note_key(self.key);
                }
            }
            b',' => self.read_comma(),
            b':' => self.junk_at_outer_level(),
            _ => {
                self.token = Token::Word;
                self.text.push(&[byte]);
            }
        }
        None
    }

    fn open_object(&mut self) -> Option<Recovered> {
        self.value_of_message(|_, _| None);
        let starts_message = self.at_outer_level();
        self.nest.open(Bracket::Object);
        if !starts_message {
            return None;
        }
        self.expect = Expect::Key;
        let previous = self.draft.replace(Draft::new(self.nest.depth(), self.junk));
        self.junk = false;
        previous.map(Draft::finish)
    }

    fn close(&mut self, byte: u8) {
        let bracket = if byte == b'}' { Bracket::Object } else { Bracket::Array };
        if !self.nest.close(bracket) {
            self.junk_at_outer_level();
            return;
        }
        if let Some(draft) = &mut self.draft
            && self.nest.depth() < draft.level
            && !draft.closed
        {
            draft.closed = true;
            self.expect = Expect::Key;
        }
        if self.nest.depth() == 0 && bracket == Bracket::Array {
            self.junk = true;
        }
    }

    fn read_comma(&mut self) {
        if self.at_member() {
            self.value_of_message(|_, _| None);
            self.expect = Expect::Key;
        }
        if self.nest.depth() == 0 {
            self.junk = true;
        } else if self.at_outer_level() {
            self.junk = self.junk_before_array;
        }
    }

    /// Reads on inside a string.
    fn read_string(&mut self, input: &mut &[u8]) {
        let Token::String { escape } = self.token else { return };
        if escape {
            self.text.push(input.get(..1).unwrap_or_default());
            *input = input.get(1..).unwrap_or_default();
            self.token = Token::String { escape: false };
            return;
        }
        let special = Scan::unknown().next_special(input, 0);
        let (plain, rest) = input.split_at_checked(special).unwrap_or((input, &[]));
        self.text.push(plain);
        match rest.first() {
            Some(b'"') => self.end_string(),
            Some(byte) => {
                self.text.push(&[*byte]);
                self.token = Token::String { escape: *byte == b'\\' };
            }
            None => {}
        }
        *input = rest.get(1..).unwrap_or_default();
    }

    fn end_string(&mut self) {
        self.token = Token::None;
        self.junk_at_outer_level();
        if self.at_member() && self.expect != Expect::Value {
            self.key = self.text.key();
            self.expect = Expect::Colon;
        } else {
            self.value_of_message(TokenText::string_id);
        }
        self.text.clear();
    }

    fn end_word(&mut self) {
        self.token = Token::None;
        self.junk_at_outer_level();
        if self.at_member() && self.expect == Expect::Colon {
            self.expect = Expect::Key;
        }
        self.value_of_message(TokenText::word_id);
        self.text.clear();
    }

    /// Notes that a value was seen where a member's value is due.
    fn value_of_message(&mut self, id: impl FnOnce(&TokenText, usize) -> Option<Id<'static>>) {
        if !self.at_member() || self.expect != Expect::Value {
            return;
        }
        self.expect = Expect::Key;
        if let (Key::Id, Some(draft)) = (self.key, &mut self.draft) {
            draft.note_id(id(&self.text, self.max_id_bytes));
        }
    }

    /// Whether the members of the message are read here, or what stands right behind it: an extra
    /// brace may have closed it too early.
    fn at_member(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| {
            self.nest.depth() == if draft.closed { draft.level - 1 } else { draft.level }
        })
    }

    /// Whether an object that starts here may be a message.
    fn at_outer_level(&self) -> bool {
        let outer = self.nest.depth() == 0
            || self.nest.depth() == 1 && self.nest.outermost() == Bracket::Array;
        outer && self.draft.as_ref().is_none_or(|draft| draft.closed)
    }

    fn junk_at_outer_level(&mut self) {
        if self.at_outer_level() {
            self.junk = true;
        }
    }
}

/// A message as far as it is known.
#[derive(Debug)]
struct Draft {
    /// The depth of its members.
    level: usize,
    closed: bool,
    after_junk: bool,
    id: Found,
    has_jsonrpc: bool,
    has_method: bool,
    has_outcome: bool,
}

#[derive(Debug)]
enum Found {
    Nothing,
    One(Id<'static>),
    Doubt,
}

impl Draft {
    fn new(level: usize, after_junk: bool) -> Self {
        let (has_jsonrpc, has_method, has_outcome) = (false, false, false);
        let id = Found::Nothing;
        Self { level, closed: false, after_junk, id, has_jsonrpc, has_method, has_outcome }
    }

    fn note_key(&mut self, key: Key) {
        if self.closed {
            return;
        }
        match key {
            Key::Jsonrpc => self.has_jsonrpc = true,
            Key::Method => self.has_method = true,
            Key::Outcome => self.has_outcome = true,
            Key::Id | Key::Other => {}
        }
    }

    fn note_id(&mut self, id: Option<Id<'static>>) {
        self.id = match (&self.id, id) {
            (Found::Nothing, _) if self.closed => Found::Nothing,
            (Found::Nothing, Some(id)) => Found::One(id),
            (Found::One(first), Some(id)) if *first == id => Found::One(id),
            _ => Found::Doubt,
        };
    }

    fn finish(self) -> Recovered {
        let id = match self.id {
            Found::One(id) if self.has_jsonrpc || !self.after_junk => Some(id),
            _ => None,
        };
        Recovered { id, is_response: self.has_outcome && !self.has_method }
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'{' | b'}' | b'[' | b']' | b':' | b',')
}

#[cfg(test)]
mod tests;
