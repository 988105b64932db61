//! What the tasks of a guarded transport and its callers all see.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hardline_transport::client::{Events, MAX_EVENTS, Notice};
use tokio::sync::{Notify, mpsc};

use super::GuardSettings;
use super::state::State;

/// Errors on their way to the server. One that takes no more of them is owed none.
const MAX_REPLIES: usize = 1024;

/// The state, and what is known of it without asking for it.
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) is_closed: AtomicBool,
    /// The time until the guard wants to be told it may have changed.
    pub(super) changed: Notify,
    /// The policy ends the session.
    pub(super) closing: Notify,
}

impl Shared {
    /// The state, the events that come out of it, and the errors that are to be sent to the server.
    pub(super) fn new(
        settings: &GuardSettings,
        arriving: Option<Events>,
    ) -> (Arc<Self>, Events, mpsc::Receiver<Notice>) {
        let (leaving, events) = mpsc::channel(MAX_EVENTS);
        let (replies, owed) = mpsc::channel(MAX_REPLIES);
        let shared = Arc::new_cyclic(|shared| {
            let state = State::new(settings, Weak::clone(shared), arriving, leaving, replies);
            Self {
                state: Mutex::new(state),
                is_closed: AtomicBool::new(false),
                changed: Notify::new(),
                closing: Notify::new(),
            }
        });
        (shared, events, owed)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for an event, or nobody takes them.
    pub(super) async fn room(&self) {
        let leaving = self.lock().leaving();
        if let Some(leaving) = leaving {
            let _ = leaving.reserve().await;
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("is_closed", &self.is_closed).finish_non_exhaustive()
    }
}
