//! The ids of a line that is no message, so that whoever waits for an answer gets one.
//!
//! [`Recovery`] is a lexer. It follows strings, escapes and nesting, steps over anything else, and
//! looks for the member `id` of each object that could have been a message: one at the start of
//! the line, one after another on the same line, or an element of an array. It takes its input in
//! chunks, so that an overlong line is searched to its end without being kept.
//!
//! An answer to an id that nobody sent does harm, so doubt means no id:
//! - an `id` deeper than the message's own members is not its id;
//! - two different ids, one that is neither a string nor an integer, or a key that differs from
//!   `id` in case alone: none;
//! - an id counts once what follows it fits: a comma, the message's end, or the next key;
//! - a number or string that the end of the input may have cut short is none;
//! - a closing bracket that nothing opened is ignored, and a brace closes the brackets left open
//!   inside it; an id behind that, a missing comma or a stray word counts only if the message then
//!   ends the line;
//! - behind text that is no JSON, as in a log line, and before anything but another message, only
//!   an object counts that has `jsonrpc` and a `method`, `result` or `error`; before a bracket that
//!   closes nothing, moreover, only an id that stands before all nested values;
//! - a key outside of any object, or an object that ended where a value was due, shows that the
//!   nesting was lost: what follows is not searched any more.
//!
//! Invariants: memory is bounded by `max_id_bytes`, whatever the input; each byte is looked at once.

mod collect;
mod draft;
mod nest;
mod token;

use crate::id::Id;
use crate::json::Scan;
use crate::limits::Limits;
use draft::{Behind, Draft, Follower};
use nest::{Bracket, Closed, Nest};
use token::{Key, Token, TokenText};

pub(crate) use collect::Collector;

/// What can be told of an object that might have been a message.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Recovered {
    /// Its id, where there is no doubt.
    pub id: Option<Id<'static>>,
    /// Whether it looks like an answer (`result` or `error`, no `method`). One is never answered.
    pub is_response: bool,
    /// Whether text that is no JSON stood before it, as if it were quoted in a log line.
    pub follows_junk: bool,
    /// Whether it has a member `jsonrpc`, which JSON that is only logged lacks.
    pub has_jsonrpc: bool,
    /// Whether it has a member `method`.
    pub has_method: bool,
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
///
/// There may be as many as the line has room for: a caller that answers them bounds its answers.
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
    /// Whether a string was just seen outside of any object.
    outer_string: bool,
    /// Whether it is certain that nesting was lost: no object from here on is taken for a message.
    torn: bool,
}

/// What comes next among the members of a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expect {
    Key,
    Colon,
    Value,
    Comma,
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
            outer_string: false,
            torn: false,
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
        if self.token != Token::None {
            self.follow(Follower::Other);
        }
        if self.at_member() && self.expect == Expect::Value {
            // A value was due, and may have been another id.
            self.value_of_message(|_, _| None);
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
            b'[' => self.open_array(),
            b'}' | b']' => self.close(byte),
            b':' => self.read_colon(),
            b',' => self.read_comma(),
            _ => {
                self.token = Token::Word;
                self.text.push(&[byte]);
            }
        }
        None
    }

    fn open_object(&mut self) -> Option<Recovered> {
        self.value_of_message(|_, _| None);
        let starts_message = self.at_outer_level() && !self.torn;
        self.nest.open(Bracket::Object);
        self.outer_string = false;
        if !starts_message {
            return None;
        }
        self.expect = Expect::Key;
        if let Some(draft) = &mut self.draft {
            draft.note_behind(Behind::Message);
        }
        let previous = self.draft.replace(Draft::new(self.nest.depth(), self.junk));
        self.junk = false;
        previous.map(Draft::finish)
    }

    fn open_array(&mut self) {
        self.value_of_message(|_, _| None);
        if self.nest.depth() == 0 {
            self.note_behind(Behind::Junk);
            self.junk_before_array = self.junk;
        }
        self.nest.open(Bracket::Array);
        self.outer_string = false;
    }

    fn close(&mut self, byte: u8) {
        let bracket = if byte == b'}' { Bracket::Object } else { Bracket::Array };
        // What comes next may be the colon or the value that is due.
        let is_due = self.at_member() && matches!(self.expect, Expect::Colon | Expect::Value);
        if is_due && self.expect == Expect::Value {
            self.value_of_message(|_, _| None);
        }
        let closed = self.nest.close(bracket);
        if closed != Closed::Match {
            self.note_damage();
        }
        if closed == Closed::Nothing {
            self.follow(Follower::Other);
            if self.at_outer_level() {
                self.junk = true;
                self.note_behind(Behind::Bracket);
            }
            return;
        }
        if self.at_member()
            && let Some(draft) = &mut self.draft
        {
            draft.note_nested();
        }
        if let Some(draft) = &mut self.draft
            && self.nest.depth() < draft.level
            && !draft.is_closed
        {
            self.torn |= is_due;
            draft.follow(Follower::Close);
            draft.is_closed = true;
            self.expect = Expect::Key;
        }
        if self.nest.depth() == 0 && bracket == Bracket::Array {
            self.junk = true;
        }
    }

    fn read_colon(&mut self) {
        if self.outer_string {
            // A key outside of any object: the object's beginning was lost, or it ended too early.
            self.torn = true;
            if let Some(draft) = &mut self.draft {
                draft.doubt();
            }
        }
        self.junk_at_outer_level();
        if !self.at_member() {
            return;
        }
        if self.expect != Expect::Colon {
            self.follow(Follower::Other);
            return;
        }
        self.expect = Expect::Value;
        self.follow(Follower::Colon);
        if let Some(draft) = &mut self.draft {
            draft.note_key(self.key);
        }
    }

    fn read_comma(&mut self) {
        self.outer_string = false;
        if self.at_member() {
            if self.expect == Expect::Value {
                self.value_of_message(|_, _| None);
                self.note_damage();
            }
            self.follow(Follower::Comma);
            self.expect = Expect::Key;
        }
        if self.nest.depth() == 0 {
            self.junk_at_outer_level();
        } else if self.at_outer_level() {
            self.junk = self.junk_before_array;
            self.note_behind(Behind::Comma);
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
        self.outer_string = self.at_outer_level();
        if self.at_member() && self.expect != Expect::Value {
            self.follow(Follower::String);
            if self.expect != Expect::Key {
                self.note_damage();
            }
            self.key = self.text.key();
            self.expect = Expect::Colon;
            if let (Key::Outcome, Some(draft)) = (self.key, &mut self.draft) {
                // Even without its colon: what may be an answer is not answered.
                draft.note_key(Key::Outcome);
            }
        } else {
            self.value_of_message(TokenText::string_id);
        }
        self.text.clear();
    }

    fn end_word(&mut self) {
        self.token = Token::None;
        self.junk_at_outer_level();
        if self.at_outer_level() && !self.text.is_json_word() {
            // No element of an array: the array is none, and its commas separate nothing.
            self.junk_before_array = true;
        }
        self.outer_string = false;
        self.value_of_message(TokenText::word_id);
        self.text.clear();
    }

    /// Notes a value among the members: of the last key if one is due, out of place otherwise.
    fn value_of_message(&mut self, id: impl FnOnce(&TokenText, usize) -> Option<Id<'static>>) {
        if !self.at_member() {
            return;
        }
        let is_due = self.expect == Expect::Value;
        self.expect = Expect::Comma;
        if !is_due {
            self.follow(Follower::Other);
            self.note_damage();
            return;
        }
        if let Some(draft) = &mut self.draft {
            match self.key {
                Key::Id => draft.hold_id(id(&self.text, self.max_id_bytes)),
                Key::IdTwin => draft.doubt(),
                _ => {}
            }
        }
    }

    /// Tells the message what follows the id that it holds.
    fn follow(&mut self, follower: Follower) {
        if self.at_member()
            && let Some(draft) = &mut self.draft
        {
            draft.follow(follower);
        }
    }

    fn note_damage(&mut self) {
        if let Some(draft) = &mut self.draft {
            draft.is_damaged = true;
        }
    }

    /// Whether the members of the message are read here.
    fn at_member(&self) -> bool {
        let is_open = |draft: &Draft| !draft.is_closed && self.nest.depth() == draft.level;
        self.draft.as_ref().is_some_and(is_open)
    }

    /// Whether an object that starts here may be a message.
    fn at_outer_level(&self) -> bool {
        let outer = self.nest.depth() == 0
            || self.nest.depth() == 1 && self.nest.outermost() == Bracket::Array;
        outer && self.draft.as_ref().is_none_or(|draft| draft.is_closed)
    }

    fn junk_at_outer_level(&mut self) {
        if self.at_outer_level() {
            self.junk = true;
            self.note_behind(Behind::Junk);
        }
    }

    fn note_behind(&mut self, behind: Behind) {
        if let Some(draft) = &mut self.draft {
            draft.note_behind(behind);
        }
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'{' | b'}' | b'[' | b']' | b':' | b',')
}

#[cfg(test)]
mod tests;
