//! Recovery of ids from a line that is not a message, so that waiting callers get an answer.
//!
//! [`Recovery`] is a lexer. It follows strings, escapes and nesting, skips anything else, and
//! searches for the member `id` of each object that could have been a message: one at the start of
//! the line, several in a row, or an element of an array. It takes its input in chunks, so that an
//! overlong line is searched to its end without being stored.
//!
//! An answer to an id that no caller sent does harm, so doubt means no id:
//! - an `id` deeper than the message's own members is not its id;
//! - two different ids, one that is neither a string nor an integer, or a key that differs from
//!   `id` in case alone: no id;
//! - an id counts once a valid follower is seen: a comma, the end of the message, or the next key;
//! - a number or string that the end of the input may have cut short does not count;
//! - a closing bracket without an opening one is ignored, and a brace closes the brackets left open
//!   inside it; an id after that, after a missing comma or after a stray word counts only if the
//!   message then ends the line;
//! - after text that is not JSON, as in a log line, and before anything but another message, an
//!   object counts only if it has `jsonrpc` and a `method`, `result` or `error`; before a surplus
//!   closing bracket, in addition, only an id before all nested values counts;
//! - a key outside of any object, or an object that ended where a value was due, shows that the
//!   nesting was lost: the rest of the line is not searched.
//!
//! Invariants: memory is bounded by `max_id_bytes`; each byte is read once.

mod collect;
mod draft;
mod nest;
mod token;

use crate::id::Id;
use crate::json::next_special;
use crate::limits::Limits;
use draft::{Behind, Draft, Follower};
use nest::{Bracket, Closed, Nest};
use token::{Key, Token, TokenText};

pub(crate) use collect::Collector;

/// An object that might have been a message.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Recovered {
    /// Id of the message, if there is no doubt.
    pub id: Option<Id<'static>>,
    /// True if it looks like an answer (`result` or `error`, no `method`). An answer is never
    /// answered.
    pub is_response: bool,
    /// True if text that is not JSON came before it, as if it were quoted in a log line.
    pub follows_junk: bool,
    /// True if it has a member `jsonrpc`, which JSON in a log usually lacks.
    pub has_jsonrpc: bool,
    /// True if it has a member `method`.
    pub has_method: bool,
}

/// End of the input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a line is whole or it is not")]
pub enum Ending {
    /// The line was written to its end, so its last number is complete.
    Whole,
    /// The input may have been cut off.
    Cut,
}

/// Recovers the ids of a line in memory.
///
/// There may be as many as fit on the line: a caller that answers them must limit its answers.
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
    /// The token so far, if it may be a key or an id.
    text: TokenText,
    expect: Expect,
    key: Key,
    /// The message being read, or read and not returned yet.
    draft: Option<Draft>,
    /// True if text that is not JSON was seen since the last message or comma.
    junk: bool,
    /// True if the array around the messages came after such text.
    junk_before_array: bool,
    /// True if the previous token was a string outside of any object.
    outer_string: bool,
    /// True if the nesting was certainly lost: no later object is taken for a message.
    torn: bool,
}

/// Next token expected among the members of a message.
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

    /// Reads until one more message is known. Returns `None` when `input` is used up.
    pub fn next_message(&mut self, input: &mut &[u8]) -> Option<Recovered> {
        while let Some((&byte, rest)) = input.split_first() {
            match self.token {
                Token::String { .. } => self.read_string(input),
                Token::Word if !is_delimiter(byte) => {
                    self.text.push(&[byte]);
                    *input = rest;
                }
                // The delimiter stays in the input, for the next round.
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
        // A cut number may have had more digits, so it is no id.
        if self.token == Token::Word && ending == Ending::Whole {
            self.end_word();
        }
        if self.token != Token::None {
            self.follow(Follower::Other);
        }
        if self.at_member() && self.expect == Expect::Value {
            // The missing value may have been another id.
            self.value_of_message(|_, _| None);
        }
        self.token = Token::None;
        self.draft.take().map(Draft::finish)
    }

    /// Handles a byte between tokens.
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
        // A message is returned when the next one begins, because its follower counts too.
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
        // The next token may be the colon or the value that is due.
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
            // The object ended where a value was due, so this brace was probably not its own.
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
            // A key outside of any object: the start of the object was lost, or it ended too early.
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

    /// Continues inside a string.
    fn read_string(&mut self, input: &mut &[u8]) {
        let Token::String { escape } = self.token else { return };
        if escape {
            self.text.push(input.get(..1).unwrap_or_default());
            *input = input.get(1..).unwrap_or_default();
            self.token = Token::String { escape: false };
            return;
        }
        let special = next_special(input, 0);
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
                // Even without its colon: a possible answer must not be answered.
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
            // This is not an element of an array, so the array is not real and its commas separate
            // nothing.
            self.junk_before_array = true;
        }
        self.outer_string = false;
        self.value_of_message(TokenText::word_id);
        self.text.clear();
    }

    /// Records a value among the members: of the last key if one is due, otherwise as damage.
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
                // Some parsers take this key for the id.
                Key::IdTwin => draft.doubt(),
                _ => {}
            }
        }
    }

    /// Tells the message what follows its held id.
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

    /// Returns true if the current position is among the members of the message.
    fn at_member(&self) -> bool {
        let is_open = |draft: &Draft| !draft.is_closed && self.nest.depth() == draft.level;
        self.draft.as_ref().is_some_and(is_open)
    }

    /// Returns true if an object that starts here may be a message.
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
