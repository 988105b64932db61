//! Events on their way to whoever listens: what a server sends, what a manager has to tell.
//!
//! Invariants:
//! - Nobody waits for a listener: what one does not take in time is dropped, the oldest first, and it is
//!   told how many.
//! - At most [`MAX_EVENTS`] and [`MAX_BYTES`], or one event, are kept; without a listener none.

use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ServerEvent;

/// How many events are kept for listeners.
const MAX_EVENTS: usize = 1024;
/// How many bytes of them.
const MAX_BYTES: usize = 4 << 20;

/// What can be kept for listeners.
pub(crate) trait Post: Clone {
    /// How many bytes it takes, roughly.
    fn len(&self) -> usize;

    /// Says that so many were not taken in time.
    fn missed(count: u64) -> Self;
}

/// Where events are kept for listeners. Its end is the end of the events.
pub(crate) struct Board<E: Post>(Arc<Shared<E>>);

/// Takes events in their order, from when it was made.
pub struct EventReceiver<E = ServerEvent> {
    shared: Arc<Shared<E>>,
    /// The number of the next event to be taken.
    next: u64,
}

struct Shared<E> {
    log: Mutex<Log<E>>,
    changed: Notify,
}

struct Log<E> {
    events: VecDeque<E>,
    /// The number of the first of them.
    first: u64,
    bytes: usize,
    listeners: usize,
    is_closed: bool,
}

impl<E: Post> Default for Board<E> {
    fn default() -> Self {
        let (events, first, bytes, listeners, is_closed) = (VecDeque::new(), 0, 0, 0, false);
        let log = Mutex::new(Log { events, first, bytes, listeners, is_closed });
        Self(Arc::new(Shared { log, changed: Notify::new() }))
    }
}

impl<E: Post> Board<E> {
    pub(crate) fn post(&self, event: E) {
        let mut log = self.0.lock();
        log.bytes += event.len();
        log.events.push_back(event);
        let is_heard = 0 < log.listeners;
        while !log.events.is_empty()
            && (!is_heard
                || MAX_EVENTS < log.events.len()
                || (MAX_BYTES < log.bytes && 1 < log.events.len()))
        {
            log.drop_first();
        }
        drop(log);
        self.0.changed.notify_waiters();
    }

    pub(crate) fn listen(&self) -> EventReceiver<E> {
        let mut log = self.0.lock();
        log.listeners += 1;
        let next = log.end();
        drop(log);
        EventReceiver { shared: Arc::clone(&self.0), next }
    }
}

impl<E: Post> Drop for Board<E> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_waiters();
    }
}

#[expect(private_bounds, reason = "what can be received is for this crate to say")]
impl<E: Post> EventReceiver<E> {
    /// Waits for the next event. `None` after the last: when what they are about is dropped. Dropping the
    /// future loses nothing.
    pub async fn recv(&mut self) -> Option<E> {
        let shared = Arc::clone(&self.shared);
        loop {
            let mut changed = pin!(shared.changed.notified());
            // From here on it is woken, also by what comes before it waits.
            changed.as_mut().enable();
            if let Some(event) = self.try_recv() {
                return Some(event);
            }
            if shared.lock().is_closed {
                return None;
            }
            changed.await;
        }
    }

    /// Takes the next event, if there is one.
    pub fn try_recv(&mut self) -> Option<E> {
        let log = self.shared.lock();
        if let Some(missed) = log.first.checked_sub(self.next).filter(|it| 0 < *it) {
            self.next = log.first;
            return Some(E::missed(missed));
        }
        let index = usize::try_from(self.next - log.first).ok()?;
        let event = log.events.get(index).cloned()?;
        self.next += 1;
        Some(event)
    }
}

impl<E> Drop for EventReceiver<E> {
    fn drop(&mut self) {
        let mut log = self.shared.lock();
        log.listeners -= 1;
        if log.listeners == 0 {
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

impl<E: Post> Log<E> {
    fn drop_first(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.first += 1;
            self.bytes -= event.len();
        }
    }

    /// The number of the event that comes next.
    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
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
    fn every_listener_has_all_since_it_came() {
        let board = Board::default();
        board.post(event("unheard"));
        let mut first = board.listen();
        board.post(event("a"));
        let mut second = board.listen();
        board.post(event("b"));
        assert_eq!([text(first.try_recv()), text(first.try_recv())], ["a", "b"]);
        assert_eq!(text(second.try_recv()), "b");
        assert!(first.try_recv().is_none() && second.try_recv().is_none());
        drop(first);
        drop(second);
        assert!(board.0.lock().events.is_empty());
    }

    #[test]
    fn a_slow_one_loses_the_oldest_and_is_told_how_many() {
        let board = Board::default();
        let mut listener = board.listen();
        for n in 0..MAX_EVENTS + 3 {
            board.post(event(&n.to_string()));
        }
        assert_eq!(text(listener.try_recv()), "3 missed");
        assert_eq!(text(listener.try_recv()), "3");
        // However large they are.
        let large = "x".repeat(3 << 20);
        for _ in 0..10 {
            board.post(event(&large));
            assert!(board.0.lock().bytes <= MAX_BYTES);
        }
        board.post(event(&"y".repeat(2 * MAX_BYTES)));
        assert_eq!(board.0.lock().events.len(), 1);
    }

    #[tokio::test]
    async fn waits_for_what_comes_and_ends_with_the_board() {
        let board = Board::default();
        let mut listener = board.listen();
        let waiting = tokio::spawn(async move {
            let first = text(listener.recv().await);
            (first, listener.recv().await.is_none())
        });
        tokio::task::yield_now().await;
        board.post(event("a"));
        tokio::task::yield_now().await;
        drop(board);
        assert_eq!(waiting.await.unwrap(), ("a".to_owned(), true));
    }
}
