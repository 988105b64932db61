//! A message as far as it is known, and the certainty of its id.

use super::Recovered;
use super::token::Key;
use crate::id::Id;

/// A message being read, or read and not returned yet.
#[derive(Debug)]
pub(super) struct Draft {
    /// Depth of its members.
    pub(super) level: usize,
    pub(super) is_closed: bool,
    /// True if anything but whitespace and the commas of an array came after it.
    is_followed: bool,
    /// True if that was not another message.
    has_surplus: bool,
    /// True if that was a bracket that closed nothing.
    has_surplus_bracket: bool,
    /// True if the comma of its array was read, so that the rest is another element.
    is_settled: bool,
    follows_junk: bool,
    /// True if it was damaged so far in a way that may have changed its nesting.
    pub(super) is_damaged: bool,
    /// True if one of its members so far is an array or an object.
    has_nested: bool,
    id: Found,
    held: Held,
    has_jsonrpc: bool,
    has_method: bool,
    has_outcome: bool,
}

/// Token after a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Behind {
    /// The comma of an array.
    Comma,
    Message,
    /// A bracket that closes nothing: perhaps the message's own, because a stray one closed it
    /// early.
    Bracket,
    Junk,
}

/// Token after the value of `id`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Follower {
    Comma,
    Close,
    String,
    Colon,
    Other,
}

#[derive(Debug)]
enum Found {
    Nothing,
    One(Candidate),
    Doubt,
}

/// An id whose follower is not known yet, or `None` for a value that is not an id.
#[derive(Debug)]
enum Held {
    Nothing,
    Value(Option<Candidate>),
    /// A string followed, which is the next key if a colon comes.
    ThenString(Option<Candidate>),
}

#[derive(Debug)]
struct Candidate {
    id: Id<'static>,
    behind_damage: bool,
    behind_nested: bool,
}

impl Draft {
    pub(super) fn new(level: usize, follows_junk: bool) -> Self {
        Self {
            level,
            is_closed: false,
            is_followed: false,
            has_surplus: false,
            has_surplus_bracket: false,
            is_settled: false,
            follows_junk,
            is_damaged: false,
            has_nested: false,
            id: Found::Nothing,
            held: Held::Nothing,
            has_jsonrpc: false,
            has_method: false,
            has_outcome: false,
        }
    }

    pub(super) fn note_key(&mut self, key: Key) {
        match key {
            Key::Jsonrpc => self.has_jsonrpc = true,
            Key::Method => self.has_method = true,
            Key::Outcome => self.has_outcome = true,
            Key::Id | Key::IdTwin | Key::Other => {}
        }
    }

    /// Stores the value of a member `id`; `None` if it is not an id.
    pub(super) fn hold_id(&mut self, id: Option<Id<'static>>) {
        // Taken now: damage after the id is judged by itself.
        let (behind_damage, behind_nested) = (self.is_damaged, self.has_nested);
        self.held = Held::Value(id.map(|id| Candidate { id, behind_damage, behind_nested }));
    }

    pub(super) fn follow(&mut self, follower: Follower) {
        self.held = match (std::mem::replace(&mut self.held, Held::Nothing), follower) {
            (Held::Nothing, _) => Held::Nothing,
            // A missing comma, or damage inside the value: the next token decides.
            (Held::Value(id), Follower::String) => Held::ThenString(id),
            (Held::Value(id), Follower::Comma | Follower::Close)
            | (Held::ThenString(id), Follower::Colon) => {
                self.note_id(id);
                Held::Nothing
            }
            _ => {
                self.doubt();
                Held::Nothing
            }
        };
    }

    pub(super) fn note_nested(&mut self) {
        self.has_nested = true;
    }

    pub(super) fn note_behind(&mut self, behind: Behind) {
        match behind {
            Behind::Comma => self.is_settled = true,
            Behind::Message => self.is_followed = true,
            Behind::Bracket | Behind::Junk => {
                self.is_followed = true;
                self.has_surplus |= !self.is_settled;
                self.has_surplus_bracket |= behind == Behind::Bracket;
            }
        }
    }

    pub(super) fn doubt(&mut self) {
        self.id = Found::Doubt;
    }

    pub(super) fn finish(mut self) -> Recovered {
        // If the line ended right after the value, that counts as the end of the message.
        self.follow(Follower::Close);
        let is_whole = self.has_jsonrpc && (self.has_method || self.has_outcome);
        // Next to other text, the object may be a quotation.
        let needs_whole = self.follows_junk || self.has_surplus;
        let ends_line = self.is_closed && !self.is_followed;
        let id = match self.id {
            // Each condition is one of the rules in the module documentation.
            Found::One(Candidate { id, behind_damage, behind_nested })
                if (is_whole || !needs_whole)
                    && (ends_line || !behind_damage)
                    && !(behind_nested && self.has_surplus_bracket) =>
            {
                Some(id)
            }
            _ => None,
        };
        let Self { follows_junk, has_jsonrpc, has_method, .. } = self;
        let is_response = self.has_outcome && !has_method;
        Recovered { id, is_response, follows_junk, has_jsonrpc, has_method }
    }

    fn note_id(&mut self, candidate: Option<Candidate>) {
        match (&self.id, candidate) {
            (Found::Nothing, Some(candidate)) => self.id = Found::One(candidate),
            // A repeated equal id leaves no doubt.
            (Found::One(first), Some(second)) if first.id == second.id => {}
            _ => self.id = Found::Doubt,
        }
    }
}
