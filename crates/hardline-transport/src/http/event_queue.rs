//! The event queue of an HTTP transport: bounded, with one last event.
//!
//! Invariants:
//! - No event follows [`TransportEvent::Closed`].
//! - A sender waits until there is room for its event, or the transport is closed.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

use crate::client::{MAX_EVENTS, TransportError, TransportEvent, TransportEvents};

/// Sending end of a transport's event queue.
pub(super) struct EventQueue {
    sender: mpsc::Sender<TransportEvent>,
    /// Receiving end, until it is taken.
    events: Mutex<Option<TransportEvents>>,
    /// Reason why the transport is closed, once it is.
    closed: watch::Sender<Option<TransportError>>,
    /// True if the last event was sent. Locked while an event is sent, so that none follows the
    /// last one.
    is_finished: Mutex<bool>,
}

impl EventQueue {
    pub(super) fn new() -> Self {
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let events = Mutex::new(Some(events));
        Self { sender, events, closed: watch::Sender::new(None), is_finished: Mutex::new(false) }
    }

    pub(super) fn take_events(&self) -> Option<TransportEvents> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Sends an event as soon as there is room.
    pub(super) async fn put(&self, event: TransportEvent) {
        let Ok(permit) = self.sender.reserve().await else { return };
        // Checked after the wait for room: the transport may have been closed meanwhile.
        let is_finished = self.is_finished.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_finished && self.closed.borrow().is_none() {
            permit.send(event);
        }
    }

    /// Runs `work` until it is done or the transport is closed.
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

    /// Fails all work in progress. Returns true for the first call.
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
            self.sender.try_send(TransportEvent::Closed(reason))
        {
            let sender = self.sender.clone();
            // The task ends when the events are taken or dropped, at the latest with the transport.
            tokio::spawn(async move { sender.send(last).await });
        }
    }
}

impl fmt::Debug for EventQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventQueue").field("closed", &self.closed.borrow()).finish()
    }
}
