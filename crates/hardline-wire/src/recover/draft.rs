//! A message as far as it is known, and how sure its id is.

use super::Recovered;
use super::token::Key;
use crate::id::Id;

/// A message being read, or read and not yet handed on.
#[derive(Debug)]
pub(super) struct Draft {
    /// The depth of its members.
    pub(super) level: usize,
    pub(super) is_closed: bool,
    /// Whether anything but whitespace and the commas of an array stood behind it.
    pub(super) is_followed: bool,
    /// Whether that was no other message.
    pub(super) has_surplus: bool,
    /// Whether the comma of its array has come, so that what follows is another element.
    pub(super) is_settled: bool,
    follows_junk: bool,
    /// Whether it was damaged so far in a way that may have changed its nesting.
    pub(super) is_damaged: bool,
    id: Found,
    held: Held,
    has_jsonrpc: bool,
    has_method: bool,
    has_outcome: bool,
}

/// What stands behind the value of `id`.
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

/// An id whose follower is not known yet, or `None` for a value that is no id.
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
}

impl Draft {
    pub(super) fn new(level: usize, follows_junk: bool) -> Self {
        Self {
            level,
            is_closed: false,
            is_followed: false,
            has_surplus: false,
            is_settled: false,
            follows_junk,
            is_damaged: false,
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

    /// Takes the value of a member `id`, `None` if it is no id.
    pub(super) fn hold_id(&mut self, id: Option<Id<'static>>) {
        let behind_damage = self.is_damaged;
        self.held = Held::Value(id.map(|id| Candidate { id, behind_damage }));
    }

    pub(super) fn follow(&mut self, follower: Follower) {
        self.held = match (std::mem::replace(&mut self.held, Held::Nothing), follower) {
            (Held::Nothing, _) => Held::Nothing,
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

    pub(super) fn doubt(&mut self) {
        self.id = Found::Doubt;
    }

    pub(super) fn finish(mut self) -> Recovered {
        // The line ended right behind the value: as good as the message's end.
        self.follow(Follower::Close);
        let is_whole = self.has_jsonrpc && (self.has_method || self.has_outcome);
        let needs_whole = self.follows_junk || self.has_surplus;
        let ends_line = self.is_closed && !self.is_followed;
        let id = match self.id {
            Found::One(Candidate { id, behind_damage })
                if (is_whole || !needs_whole) && (ends_line || !behind_damage) =>
            {
                Some(id)
            }
            _ => None,
        };
        let is_response = self.has_outcome && !self.has_method;
        Recovered { id, is_response, follows_junk: self.follows_junk }
    }

    fn note_id(&mut self, candidate: Option<Candidate>) {
        match (&self.id, candidate) {
            (Found::Nothing, Some(candidate)) => self.id = Found::One(candidate),
            (Found::One(first), Some(second)) if first.id == second.id => {}
            _ => self.id = Found::Doubt,
        }
    }
}
