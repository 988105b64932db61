//! Notifications of which only the newest counts.

use std::collections::{HashMap, VecDeque};

use hardline_wire::id::Id;
use hardline_wire::json::Value;

/// Names notifications that replace each other: whoever sends frames on keeps the newest of each.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum CoalesceKey {
    /// Progress of the request with this token, which is written like an id.
    Progress(Id<'static>),
    /// Something was added to or taken from a list; the subscription is 2026-07-28's.
    ListChanged {
        /// The notification's method.
        method: &'static str,
        /// The subscription that it is for.
        subscription: Option<Id<'static>>,
    },
}

impl CoalesceKey {
    /// The key of a notification, if it is of such a kind.
    pub(super) fn of(method: &str, params: Option<Value<'_>>, max_id_bytes: usize) -> Option<Self> {
        const LISTS: [&str; 3] = [
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
        ];
        let id = |value: Value<'_>| Id::read(value, max_id_bytes).ok().map(Id::into_owned);
        if method == "notifications/progress" {
            return params?.get("progressToken").and_then(id).map(Self::Progress);
        }
        let method = LISTS.into_iter().find(|it| *it == method)?;
        let meta = params.and_then(|params| params.get("_meta"));
        let subscription =
            meta.and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId")).and_then(id);
        Some(Self::ListChanged { method, subscription })
    }
}

/// The keys under which something is kept. Never more than `max`.
#[derive(Debug)]
pub(super) struct Coalesced {
    max: usize,
    /// Each key with the number under which it stands in `order`.
    keys: HashMap<CoalesceKey, u64>,
    /// The keys, oldest first, and some that are taken; never more than twice `max`.
    order: VecDeque<(u64, CoalesceKey)>,
    next_number: u64,
}

impl Coalesced {
    pub(super) fn new(max: usize) -> Self {
        Self { max, keys: HashMap::new(), order: VecDeque::new(), next_number: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Keeps something under `key`. Returns whether there is room.
    pub(super) fn keep(&mut self, key: &CoalesceKey) -> bool {
        if self.keys.contains_key(key) {
            return true;
        }
        if self.max <= self.keys.len() {
            return false;
        }
        let Self { keys, order, .. } = self;
        if self.max * 2 <= order.len() {
            order.retain(|(number, key)| keys.get(key) == Some(number));
        }
        keys.insert(key.clone(), self.next_number);
        order.push_back((self.next_number, key.clone()));
        self.next_number += 1;
        true
    }

    /// Takes what is kept under `key`, if anything is.
    pub(super) fn take(&mut self, key: &CoalesceKey) -> bool {
        self.keys.remove(key).is_some()
    }

    pub(super) fn take_oldest(&mut self) -> Option<CoalesceKey> {
        loop {
            let (number, key) = self.order.pop_front()?;
            if self.keys.get(&key) == Some(&number) {
                self.keys.remove(&key);
                return Some(key);
            }
        }
    }
}
