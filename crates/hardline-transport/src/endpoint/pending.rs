//! Our requests that wait for an answer.

use std::collections::{BTreeMap, HashMap};

use hardline_wire::id::Id;
use hardline_wire::mistyped::retyped;
use tokio::time::Instant;

use crate::mistyped;

/// Requests that wait for an answer, by id. The caller of `insert` enforces the limit.
#[derive(Debug, Default)]
pub(super) struct Pending {
    requests: HashMap<Id<'static>, Request>,
    /// Requests that got an answer with a mistyped id, by deadline. Never more than `requests`.
    doubts: BTreeMap<Deadline, Doubt>,
    next_doubt: u64,
}

/// Deadline of a request. The number separates equal times.
type Deadline = (Instant, u64);

#[derive(Debug)]
struct Request {
    kind: Kind,
    /// Its key in `doubts`.
    doubt: Option<Deadline>,
}

/// A request that got an answer with a mistyped id.
#[derive(Debug)]
struct Doubt {
    id: Id<'static>,
    /// Failure reason if no proper answer follows.
    reason: String,
}

/// Kind of one of our requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Ordinary,
    /// Opens the session; no other request is sent before its answer.
    Opening,
    /// Stays open; the server ends it with a notification.
    Subscription,
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Adds a request. Returns false if its id is in use.
    pub(super) fn insert(&mut self, id: Id<'static>, method: &str) -> bool {
        let kind = match method {
            "initialize" | "server/discover" => Kind::Opening,
            "subscriptions/listen" => Kind::Subscription,
            _ => Kind::Ordinary,
        };
        // Replacing the entry would lose the answer of the first request.
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

    /// Removes the request that an answer with this id belongs to.
    pub(super) fn take(&mut self, id: &Id<'_>) -> Option<Id<'static>> {
        let id = id.clone().into_owned();
        self.remove(&id).then_some(id)
    }

    /// Returns the request that an answer is probably meant for, if its id has the wrong type.
    pub(super) fn meant_by(&self, id: &Id<'_>) -> Option<Id<'static>> {
        retyped(id).filter(|it| self.requests.contains_key(it))
    }

    /// Records that a request got an answer whose id was `written` in another type. Returns true if
    /// the request waits. Only the first such answer counts.
    pub(super) fn doubt(&mut self, id: &Id<'static>, written: &str, now: Instant) -> bool {
        let Some(request) = self.requests.get_mut(id) else { return false };
        // Later mistyped answers must not move the deadline.
        if request.doubt.is_none() {
            let deadline = (now + mistyped::MAX_WAIT, self.next_doubt);
            self.next_doubt += 1;
            request.doubt = Some(deadline);
            let reason = mistyped::reason(id, written);
            self.doubts.insert(deadline, Doubt { id: id.clone(), reason });
        }
        true
    }

    /// Forgets a mistyped answer, because the peer still works on the request.
    pub(super) fn trust(&mut self, id: &Id<'static>) {
        if let Some(doubt) = self.requests.get_mut(id).and_then(|it| it.doubt.take()) {
            self.doubts.remove(&doubt);
        }
    }

    /// Returns the deadline of the next request that will fail.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.doubts.first_key_value().map(|((at, _), _)| *at)
    }

    /// Removes the next request past its deadline, and returns it with the failure reason.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(Id<'static>, String)> {
        let first = self.doubts.first_entry().filter(|it| it.key().0 <= now)?;
        let Doubt { id, reason } = first.remove();
        self.requests.remove(&id);
        Some((id, reason))
    }

    /// Removes the request that opens the session.
    pub(super) fn take_opening(&mut self) -> Option<Id<'static>> {
        // A linear search is enough: before the session is open, few requests wait.
        let mut requests = self.requests.iter();
        let id = requests.find(|(_, request)| request.kind == Kind::Opening)?.0.clone();
        self.remove(&id).then_some(id)
    }

    /// Removes a subscription.
    pub(super) fn end_subscription(&mut self, id: &Id<'static>) {
        if self.requests.get(id).is_some_and(|it| it.kind == Kind::Subscription) {
            self.remove(id);
        }
    }

    /// Removes all requests and returns their ids.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Id<'static>> + use<> {
        self.doubts.clear();
        std::mem::take(&mut self.requests).into_keys()
    }
}
