//! A bounded broadcast channel: delivers the events of a server or a manager to any number of receivers.
//!
//! Invariants:
//! - Sending never waits for a receiver. A receiver that falls behind loses the oldest events first, and
//!   then receives one event with the number that it missed.
//! - The channel buffers at most [`MAX_EVENTS`] events and [`MAX_BYTES`] bytes, or a single larger event.
//!   Without a receiver it buffers nothing.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use crate::ServerEvent;

/// Limit on buffered events.
const MAX_EVENTS: usize = 1024;
/// Limit on the total size of buffered events, as counted by [`BroadcastEvent::len`].
const MAX_BYTES: usize = 4 << 20;

/// An event that a [`Broadcast`] can buffer.
pub(crate) trait BroadcastEvent: Clone {
    /// Returns the approximate size of the event in bytes.
    fn len(&self) -> usize;

    /// Creates the event that tells a receiver how many events it missed.
    fn missed(count: u64) -> Self;
}

/// The sending half. Dropping it ends the stream of every receiver.
pub(crate) struct Broadcast<E: BroadcastEvent>(Arc<Shared<E>>);

/// Receives events in order, starting with the first one sent after this receiver was created. It is also a
/// [`Stream`], for code that combines streams.
///
/// ```no_run
/// # async fn run(server: hardline_client::Connection) {
/// use hardline_client::ServerEvent;
///
/// let mut events = server.events();
/// while let Some(event) = events.recv().await {
///     match event {
///         ServerEvent::Notification(it) => println!("{}", it.method),
///         ServerEvent::Missed(count) => println!("{count} events were missed"),
///         _ => {}
///     }
/// }
/// # }
/// ```
pub struct EventReceiver<E = ServerEvent> {
    shared: Arc<Shared<E>>,
    /// Key of this receiver in [`Log::wakers`].
    id: u64,
    /// Sequence number of the next event to return.
    next: u64,
}

struct Shared<E> {
    log: Mutex<Log<E>>,
}

struct Log<E> {
    events: VecDeque<E>,
    /// Sequence number of the front of `events`.
    first: u64,
    bytes: usize,
    receivers: usize,
    /// Tasks that wait for an event, at most one per receiver.
    wakers: HashMap<u64, Waker>,
    /// Key of the next receiver.
    next_receiver: u64,
    is_closed: bool,
}

impl<E: BroadcastEvent> Default for Broadcast<E> {
    fn default() -> Self {
        let log = Log {
            events: VecDeque::new(),
            first: 0,
            bytes: 0,
            receivers: 0,
            wakers: HashMap::new(),
            next_receiver: 0,
            is_closed: false,
        };
        Self(Arc::new(Shared { log: Mutex::new(log) }))
    }
}

impl<E: BroadcastEvent> Broadcast<E> {
    pub(crate) fn send(&self, event: E) {
        let mut log = self.0.lock();
        log.bytes += event.len();
        log.events.push_back(event);
        let has_receivers = log.receivers > 0;
        while !log.events.is_empty()
            && (!has_receivers
                    || log.events.len() > MAX_EVENTS
                    // A single event stays even if it exceeds the byte limit; no receiver could ever get it otherwise.
                    || (log.bytes > MAX_BYTES && log.events.len() > 1))
        {
            log.drop_first();
        }
        Log::wake(log);
    }

    pub(crate) fn subscribe(&self) -> EventReceiver<E> {
        let mut log = self.0.lock();
        log.receivers += 1;
        log.next_receiver += 1;
        // Earlier events belong to other receivers.
        let (id, next) = (log.next_receiver, log.end());
        drop(log);
        EventReceiver { shared: Arc::clone(&self.0), id, next }
    }
}

impl<E: BroadcastEvent> Drop for Broadcast<E> {
    fn drop(&mut self) {
        let mut log = self.0.lock();
        log.is_closed = true;
        Log::wake(log);
    }
}

#[expect(private_bounds, reason = "the set of event types is closed to other crates")]
impl<E: BroadcastEvent> EventReceiver<E> {
    /// Waits for the next event. Returns `None` after the last one, once the sender was dropped.
    ///
    /// Cancel safe: dropping the future loses no event.
    pub async fn recv(&mut self) -> Option<E> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Polls for the next event, as [`recv`](Self::recv) does. Wakes the task of the last call.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<E>> {
        let mut log = self.shared.lock();
        if let Some(event) = log.take(&mut self.next) {
            return Poll::Ready(Some(event));
        }
        if log.is_closed {
            return Poll::Ready(None);
        }
        // Registered under the lock under which the sender adds events, so that none slips through.
        log.wakers.insert(self.id, context.waker().clone());
        Poll::Pending
    }

    /// Returns the next event if one is buffered.
    pub fn try_recv(&mut self) -> Option<E> {
        self.shared.lock().take(&mut self.next)
    }
}

impl<E: BroadcastEvent> Stream for EventReceiver<E> {
    type Item = E;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<E>> {
        self.poll_recv(context)
    }
}

impl<E> Drop for EventReceiver<E> {
    fn drop(&mut self) {
        let mut log = self.shared.lock();
        log.receivers -= 1;
        log.wakers.remove(&self.id);
        // Nothing is buffered without a receiver; numbering continues, so that none is missed.
        if log.receivers == 0 {
            log.first += log.events.len() as u64;
            log.events.clear();
            log.bytes = 0;
        }
    }
}

impl<E> Shared<E> {
    fn lock(&self) -> MutexGuard<'_, Log<E>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> Log<E> {
    /// Wakes all waiting receivers.
    fn wake(mut log: MutexGuard<'_, Self>) {
        let wakers = mem::take(&mut log.wakers);
        // An executor may poll a task inside of `wake`, and the task would need the lock.
        drop(log);
        for waker in wakers.into_values() {
            waker.wake();
        }
    }

    /// Returns the sequence number that the next sent event will get.
    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }
}

impl<E: BroadcastEvent> Log<E> {
    /// Returns the event with the number `next`, and advances it.
    fn take(&self, next: &mut u64) -> Option<E> {
        if let Some(missed) = self.first.checked_sub(*next).filter(|it| *it > 0) {
            *next = self.first;
            return Some(E::missed(missed));
        }
        let index = usize::try_from(*next - self.first).ok()?;
        let event = self.events.get(index).cloned()?;
        *next += 1;
        Some(event)
    }

    fn drop_first(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.first += 1;
            self.bytes -= event.len();
        }
    }
}

impl<E> fmt::Debug for EventReceiver<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventReceiver").field("next", &self.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> ServerEvent {
        ServerEvent::Trouble(text.into())
    }

    fn text(event: Option<ServerEvent>) -> String {
        match event {
            Some(ServerEvent::Trouble(text)) => text.to_string(),
            Some(ServerEvent::Missed(count)) => format!("{count} missed"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn every_receiver_gets_all_events_since_it_subscribed() {
        let events = Broadcast::default();
        events.send(event("unreceived"));
        let mut first = events.subscribe();
        events.send(event("a"));
        let mut second = events.subscribe();
        events.send(event("b"));
        assert_eq!([text(first.try_recv()), text(first.try_recv())], ["a", "b"]);
        assert_eq!(text(second.try_recv()), "b");
        assert!(first.try_recv().is_none() && second.try_recv().is_none());
        drop(first);
        drop(second);
        assert!(events.0.lock().events.is_empty());
    }

    #[test]
    fn a_slow_receiver_loses_the_oldest_events_and_gets_their_number() {
        let events = Broadcast::default();
        let mut receiver = events.subscribe();
        for n in 0..MAX_EVENTS + 3 {
            events.send(event(&n.to_string()));
        }
        assert_eq!(text(receiver.try_recv()), "3 missed");
        assert_eq!(text(receiver.try_recv()), "3");
        // The byte limit holds for large events too.
        let large = "x".repeat(3 << 20);
        for _ in 0..10 {
            events.send(event(&large));
            assert!(events.0.lock().bytes <= MAX_BYTES);
        }
        events.send(event(&"y".repeat(2 * MAX_BYTES)));
        assert_eq!(events.0.lock().events.len(), 1);
    }

    #[tokio::test]
    async fn waits_for_the_next_event_and_ends_when_the_sender_is_dropped() {
        let events = Broadcast::default();
        let mut receiver = events.subscribe();
        let waiting = tokio::spawn(async move {
            let first = text(receiver.recv().await);
            (first, receiver.recv().await.is_none())
        });
        tokio::task::yield_now().await;
        events.send(event("a"));
        tokio::task::yield_now().await;
        drop(events);
        assert_eq!(waiting.await.unwrap(), ("a".to_owned(), true));
    }

    #[tokio::test]
    async fn is_a_stream_that_wakes_each_waiting_receiver() {
        let events = Broadcast::default();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let mut receiver = events.subscribe();
                tokio::spawn(async move {
                    let mut next =
                        async || poll_fn(|it| Pin::new(&mut receiver).poll_next(it)).await;
                    (text(next().await), text(next().await), next().await.is_none())
                })
            })
            .collect();
        tokio::task::yield_now().await;
        events.send(event("a"));
        tokio::task::yield_now().await;
        events.send(event("b"));
        tokio::task::yield_now().await;
        assert_eq!(events.0.lock().wakers.len(), 3);
        drop(events);
        for task in waiting {
            assert_eq!(task.await.unwrap(), ("a".to_owned(), "b".to_owned(), true));
        }
    }
}
