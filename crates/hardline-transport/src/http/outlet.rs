//! Where events go: a bounded queue with one last event.
//!
//! Invariants:
//! - Nothing follows [`Event::Closed`].
//! - Whoever has an event waits until there is room for it, or the transport is closed.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

use crate::client::{Event, Events, MAX_EVENTS, TransportError};

/// The sending end of a transport's events.
pub(super) struct Outlet {
    sender: mpsc::Sender<Event>,
    /// The other end, until it is taken.
    events: Mutex<Option<Events>>,
    /// Why the transport is closed, once it is.
    closed: watch::Sender<Option<TransportError>>,
    /// Whether the last event was sent. Held while one is, so that none follows it.
    is_finished: Mutex<bool>,
}

impl Outlet {
    pub(super) fn new() -> Self {
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let events = Mutex::new(Some(events));
        Self { sender, events, closed: watch::Sender::new(None), is_finished: Mutex::new(false) }
    }

    pub(super) fn take_events(&self) -> Option<Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Hands an event over, as soon as there is room.
    pub(super) async fn put(&self, event: Event) {
        let Ok(permit) = self.sender.reserve().await else { return };
        let is_finished = self.is_finished.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_finished && self.closed.borrow().is_none() {
            permit.send(event);
        }
    }

    /// Does `work` unless the transport is closed before it is done.
    pub(super) async fn unless_closed<T>(
        &self,
        work: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        let mut closed = self.closed.subscribe();
        tokio::select! {
            biased;
            reason = closed.wait_for(Option::is_some) => Err(match reason.as_deref() {
                Ok(Some(reason)) => reason.clone(),
                _ => TransportError::Closed("the connection is closed".to_owned()),
            }),
            outcome = work => outcome,
        }
    }

    /// Fails whatever is under way. Returns whether this was the first time.
    pub(super) fn close(&self, reason: TransportError) -> bool {
        self.closed.send_if_modified(|closed| {
            let is_first = closed.is_none();
            if is_first {
                *closed = Some(reason);
            }
            is_first
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    /// Sends the last event, after [`close`](Self::close).
    pub(super) fn finish(&self) {
        let mut is_finished = self.is_finished.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = self.closed.borrow().clone();
        let (false, Some(reason)) = (*is_finished, reason) else { return };
        *is_finished = true;
        if let Err(mpsc::error::TrySendError::Full(last)) =
            self.sender.try_send(Event::Closed(reason))
        {
            let sender = self.sender.clone();
            // Ends when the events are taken or dropped, and they are with the transport at the latest.
            tokio::spawn(async move { sender.send(last).await });
        }
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Outlet").field("closed", &self.closed.borrow()).finish()
    }
}
