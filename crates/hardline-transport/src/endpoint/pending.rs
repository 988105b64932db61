//! Requests of ours that wait for an answer.

use std::collections::{BTreeMap, HashMap};

use hardline_wire::id::Id;
use tokio::time::Instant;

use crate::mistyped;

/// The requests that wait, by id. Whoever adds one keeps to the limit.
#[derive(Debug, Default)]
pub(super) struct Pending {
    requests: HashMap<Id<'static>, Request>,
    /// Those that have had an answer with a mistyped id, by the time at which they are given up. No more
    /// than requests wait.
    doubts: BTreeMap<Deadline, Doubt>,
    next_doubt: u64,
}

/// When a request is given up. The number tells apart what falls due at once.
type Deadline = (Instant, u64);

#[derive(Debug)]
struct Request {
    kind: Kind,
    /// Where it is among the doubts.
    doubt: Option<Deadline>,
}

/// A request that has had an answer with a mistyped id.
#[derive(Debug)]
struct Doubt {
    id: Id<'static>,
    /// What to say of it if no other comes.
    reason: String,
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
        self.requests.insert(id, Request { kind, doubt: None });
        true
    }

    pub(super) fn remove(&mut self, id: &Id<'static>) -> bool {
        let Some(request) = self.requests.remove(id) else { return false };
        if let Some(doubt) = request.doubt {
            self.doubts.remove(&doubt);
        }
        true
    }

    /// Ends the wait of the request that an answer with this id is for.
    pub(super) fn take(&mut self, id: &Id<'_>) -> Option<Id<'static>> {
        let id = id.clone().into_owned();
        self.remove(&id).then_some(id)
    }

    /// The request that an answer with this id is meant for, if the id has the wrong type.
    pub(super) fn meant_by(&self, id: &Id<'_>) -> Option<Id<'static>> {
        mistyped::retyped(id).filter(|it| self.requests.contains_key(it))
    }

    /// Notes that a request has had an answer whose id was `written` in another type. Returns whether it
    /// waits; only the first such answer counts.
    pub(super) fn doubt(&mut self, id: &Id<'static>, written: &str, now: Instant) -> bool {
        let Some(request) = self.requests.get_mut(id) else { return false };
        if request.doubt.is_none() {
            let deadline = (now + mistyped::MAX_WAIT, self.next_doubt);
            self.next_doubt += 1;
            request.doubt = Some(deadline);
            let reason = mistyped::reason(id, written);
            self.doubts.insert(deadline, Doubt { id: id.clone(), reason });
        }
        true
    }

    /// Forgets such an answer, as its sender still works on the request.
    pub(super) fn trust(&mut self, id: &Id<'static>) {
        if let Some(doubt) = self.requests.get_mut(id).and_then(|it| it.doubt.take()) {
            self.doubts.remove(&doubt);
        }
    }

    /// When the next request is given up.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.doubts.first_key_value().map(|((at, _), _)| *at)
    }

    /// Gives up the next request whose time is over, and says why.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(Id<'static>, String)> {
        let first = self.doubts.first_entry().filter(|it| it.key().0 <= now)?;
        let Doubt { id, reason } = first.remove();
        self.requests.remove(&id);
        Some((id, reason))
    }

    /// Ends the wait of the request that opens the session.
    pub(super) fn take_opening(&mut self) -> Option<Id<'static>> {
        let mut requests = self.requests.iter();
        let id = requests.find(|(_, request)| request.kind == Kind::Opening)?.0.clone();
        self.remove(&id).then_some(id)
    }

    /// Ends a subscription.
    pub(super) fn end_subscription(&mut self, id: &Id<'static>) {
        if self.requests.get(id).is_some_and(|it| it.kind == Kind::Subscription) {
            self.remove(id);
        }
    }

    /// Empties it.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Id<'static>> + use<> {
        self.doubts.clear();
        std::mem::take(&mut self.requests).into_keys()
    }
}
