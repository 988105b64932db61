//! Requests of ours that wait for an answer.

use std::collections::HashMap;

use hardline_wire::id::Id;

/// The requests that wait, by id. Whoever adds one keeps to the limit.
#[derive(Debug, Default)]
pub(super) struct Pending {
    requests: HashMap<Id<'static>, Kind>,
}

/// What matters about a request of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Ordinary,
    /// It opens the session, so nothing else waits.
    Opening,
    /// It stays open, and the server ends it by a notification.
    Subscription,
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Adds a request. Returns whether its id was free.
    pub(super) fn insert(&mut self, id: Id<'static>, method: &str) -> bool {
        let kind = match method {
            "initialize" | "server/discover" => Kind::Opening,
            "subscriptions/listen" => Kind::Subscription,
            _ => Kind::Ordinary,
        };
        if self.requests.contains_key(&id) {
            return false;
        }
        self.requests.insert(id, kind);
        true
    }

    pub(super) fn remove(&mut self, id: &Id<'static>) -> bool {
        self.requests.remove(id).is_some()
    }

    /// Ends the wait of the request that an answer with this id is for.
    ///
    /// A server that writes `"7"` where it was asked with `7` is wrong, but there are such servers, and
    /// rmcp gets along with them. An id that was given out as a string is matched as one only.
    pub(super) fn take(&mut self, id: &Id<'_>) -> Option<Id<'static>> {
        let id = id.clone().into_owned();
        if self.remove(&id) {
            return Some(id);
        }
        let number = Id::from_integer(number_of(&id.as_str()?)?);
        self.remove(&number).then_some(number)
    }

    /// Ends the wait of the request whose id was written as `number`: with a fraction of zero or an
    /// exponent, as by a server that holds all numbers as doubles.
    pub(super) fn take_number(&mut self, number: &str) -> Option<Id<'static>> {
        const EXACT: f64 = (1_u64 << 53) as f64;
        let value: f64 = number.parse().ok()?;
        if value.fract() != 0.0 || EXACT <= value.abs() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "it is an integer of 53 bits")]
        let id = Id::from_integer(value as i64);
        self.remove(&id).then_some(id)
    }

    /// Ends the wait of the request that opens the session.
    pub(super) fn take_opening(&mut self) -> Option<Id<'static>> {
        let id = self.requests.iter().find(|(_, kind)| **kind == Kind::Opening)?.0.clone();
        self.remove(&id).then_some(id)
    }

    /// Ends a subscription.
    pub(super) fn end_subscription(&mut self, id: &Id<'static>) {
        if self.requests.get(id) == Some(&Kind::Subscription) {
            self.remove(id);
        }
    }

    /// Empties it.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Id<'static>> + use<> {
        std::mem::take(&mut self.requests).into_keys()
    }
}

/// The number that a text is written as, in the one way that we write it.
pub(crate) fn number_of(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}
