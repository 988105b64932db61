//! Requests whose answers come on one stream for all.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hardline_wire::id::Id;
use tokio::sync::oneshot;

use super::doubt::{self, Doubt, Doubted};
use super::sieve::Item;
use crate::client::{Answer, Event, TransportError};

type Outcome = Result<Answer, TransportError>;

/// Requests under way, no more than a limit.
#[derive(Debug)]
pub(super) struct Pending {
    max: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<i64, Waiter>,
    /// Why there are none any more.
    closed: Option<TransportError>,
}

/// Who waits for an answer.
#[derive(Debug)]
struct Waiter {
    outcome: oneshot::Sender<Outcome>,
    doubt: Doubt,
}

impl Pending {
    pub(super) fn new(max: usize) -> Self {
        Self { max, table: Mutex::default() }
    }

    /// Waits for the answer to a request, until the result is dropped.
    pub(super) fn wait_for(&self, id: i64) -> Result<Waiting<'_>, TransportError> {
        let mut table = self.table();
        if let Some(reason) = &table.closed {
            return Err(reason.clone());
        }
        if self.max <= table.waiting.len() {
            return Err(TransportError::TooMany);
        }
        let (sender, outcome) = oneshot::channel();
        let (doubt, doubted) = doubt::channel();
        table.waiting.insert(id, Waiter { outcome: sender, doubt });
        Ok(Waiting { pending: self, id, outcome, doubted })
    }

    /// Gives an answer to whoever waits for it. Returns what is to be told of anything else.
    pub(super) fn take(&self, item: Item) -> Option<Event> {
        match item {
            Item::Answer { id, answer } => match self.remove(id.as_ref()) {
                Some(sender) => {
                    let _ = sender.send(Ok(answer));
                    None
                }
                None => Some(Item::Answer { id, answer }.into_event()),
            },
            Item::Overlong { answers, reason } => {
                for sender in answers.iter().filter_map(|id| self.remove(Some(id))) {
                    let _ = sender.send(Err(TransportError::Answer(reason.clone())));
                }
                Some(Item::Overlong { answers, reason }.into_event())
            }
            Item::Mistyped { request, written, event } => {
                if let Some(waiter) = self.table().waiting.get(&request) {
                    waiter.doubt.raise(request, &written);
                }
                Some(event)
            }
            other => Some(other.into_event()),
        }
    }

    /// Fails the requests under way, and those that follow.
    pub(super) fn close(&self, now: &TransportError, later: &TransportError) {
        let mut table = self.table();
        table.closed.get_or_insert_with(|| later.clone());
        for (_, waiter) in table.waiting.drain() {
            let _ = waiter.outcome.send(Err(now.clone()));
        }
    }

    fn remove(&self, id: Option<&Id<'_>>) -> Option<oneshot::Sender<Outcome>> {
        self.table().waiting.remove(&id?.as_i64()?).map(|it| it.outcome)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way; it is forgotten when this is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    pending: &'a Pending,
    id: i64,
    outcome: oneshot::Receiver<Outcome>,
    doubted: Doubted,
}

impl Waiting<'_> {
    /// What became of it.
    pub(super) async fn outcome(&mut self) -> Outcome {
        let lost = |_| Err(TransportError::Closed("the connection is closed".to_owned()));
        let outcome = async { (&mut self.outcome).await.unwrap_or_else(lost) };
        self.doubted.limit(outcome).await
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pending.table().waiting.remove(&self.id);
    }
}
