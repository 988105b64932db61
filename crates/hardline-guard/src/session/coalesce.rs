//! Coalesces notifications of which only the newest counts.

use std::collections::{HashMap, VecDeque};

use hardline_wire::id::Id;
use hardline_wire::json::Value;

/// Identifies notifications that replace each other. The caller keeps the newest frame of each key.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum CoalesceKey {
    /// Progress of the request with this token, which is written like an id.
    Progress(Id<'static>),
    /// A list changed. Only 2026-07-28 has subscriptions.
    ListChanged {
        /// Method of the notification.
        method: &'static str,
        /// Id of the subscription.
        subscription: Option<Id<'static>>,
    },
}

impl CoalesceKey {
    /// Returns the key of a notification, or `None` if it must not be coalesced.
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

/// The keys of the kept frames, at most `max`.
#[derive(Debug)]
pub(super) struct Coalesced {
    max: usize,
    /// The keys, each with its number in `order`.
    keys: HashMap<CoalesceKey, u64>,
    /// The keys, oldest first, and some that were removed; at most twice `max`.
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

    /// Adds a key. Returns false if there is no room.
    pub(super) fn keep(&mut self, key: &CoalesceKey) -> bool {
        if self.keys.contains_key(key) {
            return true;
        }
        if self.keys.len() >= self.max {
            return false;
        }
        let Self { keys, order, .. } = self;
        if order.len() >= self.max * 2 {
            // Removed keys stay in the order until there are too many of them.
            order.retain(|(number, key)| keys.get(key) == Some(number));
        }
        keys.insert(key.clone(), self.next_number);
        order.push_back((self.next_number, key.clone()));
        self.next_number += 1;
        true
    }

    /// Removes a key. Returns true if it was there.
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
