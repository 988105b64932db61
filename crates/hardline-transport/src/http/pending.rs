//! Requests whose answers arrive on one shared stream.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::classify::{Item, progress_token};
use super::doubt::Mistyped;
use crate::client::{Answer, TransportError, TransportEvent};

type Outcome = Result<Answer, TransportError>;

/// Requests in flight, up to the limit.
#[derive(Debug)]
pub(super) struct Pending {
    limits: Limits,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<i64, Waiter>,
    /// Requests that got an answer with a mistyped id, by deadline.
    doubts: BTreeSet<(Instant, i64)>,
    /// Reason why no more requests are accepted.
    closed: Option<TransportError>,
}

/// A caller that waits for an answer.
#[derive(Debug)]
struct Waiter {
    outcome: oneshot::Sender<Outcome>,
    /// The first answer with a mistyped id.
    mistyped: Option<Mistyped>,
}

impl Table {
    fn remove(&mut self, id: i64) -> Option<Waiter> {
        let waiter = self.waiting.remove(&id)?;
        if let Some(mistyped) = &waiter.mistyped {
            self.doubts.remove(&(mistyped.until, id));
        }
        Some(waiter)
    }

    /// Records an answer whose id was `written` in another type. Only the first counts.
    fn doubt(&mut self, id: i64, written: &str) {
        let Some(waiter) = self.waiting.get_mut(&id) else { return };
        // Later mistyped answers must not move the deadline.
        if waiter.mistyped.is_none() {
            let mistyped = waiter.mistyped.insert(Mistyped::new(id, written));
            self.doubts.insert((mistyped.until, id));
        }
    }

    /// Forgets the mistyped answer, because the server still works on the request.
    fn trust(&mut self, id: i64) {
        // Progress shows that the server still works on the request.
        let mistyped = self.waiting.get_mut(&id).and_then(|it| it.mistyped.take());
        if let Some(mistyped) = mistyped {
            self.doubts.remove(&(mistyped.until, id));
        }
    }
}

impl Pending {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), table: Mutex::default() }
    }

    /// Registers a request until the result is dropped.
    pub(super) fn wait_for(&self, id: i64) -> Result<Waiting<'_>, TransportError> {
        let mut table = self.table();
        // A request after the end of the stream would wait for ever.
        if let Some(reason) = &table.closed {
            return Err(reason.clone());
        }
        if table.waiting.len() >= self.limits.max_in_flight() {
            return Err(TransportError::TooMany);
        }
        let (sender, outcome) = oneshot::channel();
        table.waiting.insert(id, Waiter { outcome: sender, mistyped: None });
        Ok(Waiting { pending: self, id, outcome })
    }

    /// Delivers an answer to the caller that waits for it. Returns an event for any other item.
    pub(super) fn take(&self, item: Item) -> Option<TransportEvent> {
        match item {
            Item::Answer { id, answer } => match self.remove(id.as_ref()) {
                Some(sender) => {
                    // The caller may have given up meanwhile.
                    let _ = sender.send(Ok(answer));
                    None
                }
                None => Some(Item::Answer { id, answer }.into_event()),
            },
            Item::Overlong { answers, reason } => {
                // Their answers were in this event, and will not come again.
                for sender in answers.iter().filter_map(|id| self.remove(Some(id))) {
                    let _ = sender.send(Err(TransportError::Answer(reason.clone())));
                }
                Some(Item::Overlong { answers, reason }.into_event())
            }
            Item::Mistyped { request, written, event } => {
                self.table().doubt(request, &written);
                Some(event)
            }
            Item::Event(event) => {
                let mut table = self.table();
                // The event is parsed only while a progress token could matter.
                if !table.doubts.is_empty()
                    && let Some(id) = progress_token(&event, &self.limits)
                {
                    table.trust(id);
                }
                Some(event)
            }
            other => Some(other.into_event()),
        }
    }

    /// Returns the deadline of the next request that got only a mistyped answer.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.table().doubts.first().map(|(until, _)| *until)
    }

    /// Fails the requests past their deadline.
    pub(super) fn expire(&self) {
        let now = Instant::now();
        let mut table = self.table();
        while let Some((_, id)) = table.doubts.first().copied().filter(|(until, _)| *until <= now) {
            // Always matches: `doubts` holds only requests with a mistyped answer.
            let Some(Waiter { outcome, mistyped: Some(it) }) = table.remove(id) else { return };
            let _ = outcome.send(Err(TransportError::Mistyped(it.reason)));
        }
    }

    /// Fails the requests in flight at the end of the stream, and all later ones.
    pub(super) fn end(&self, reason: &str) {
        let (now, later) = (TransportError::Interrupted, TransportError::Closed);
        self.close_with(&later(reason.to_owned()), |waiting| match waiting {
            // The mistyped answer was the server's only answer.
            Some(it) => TransportError::Answer(it.reason),
            None => now(reason.to_owned()),
        });
    }

    /// Fails the requests in flight, and all later ones.
    pub(super) fn close(&self, reason: &TransportError) {
        self.close_with(reason, |_| reason.clone());
    }

    fn close_with(&self, later: &TransportError, now: impl Fn(Option<Mistyped>) -> TransportError) {
        let mut table = self.table();
        table.closed.get_or_insert_with(|| later.clone());
        table.doubts.clear();
        for (_, waiter) in table.waiting.drain() {
            let _ = waiter.outcome.send(Err(now(waiter.mistyped)));
        }
    }

    fn remove(&self, id: Option<&Id<'_>>) -> Option<oneshot::Sender<Outcome>> {
        self.table().remove(id?.as_i64()?).map(|it| it.outcome)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    pending: &'a Pending,
    id: i64,
    outcome: oneshot::Receiver<Outcome>,
}

impl Waiting<'_> {
    /// Waits for the outcome of the request.
    pub(super) async fn outcome(&mut self) -> Outcome {
        let lost = |_| Err(TransportError::Closed("the connection is closed".to_owned()));
        (&mut self.outcome).await.unwrap_or_else(lost)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Forgets the request, so that a late answer is reported as an event.
        self.pending.table().remove(self.id);
    }
}
