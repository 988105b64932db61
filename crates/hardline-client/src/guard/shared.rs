//! State shared by a guarded transport's tasks and its callers.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hardline_transport::client::{MAX_EVENTS, TransportEvents};
use tokio::sync::{Notify, mpsc};

use super::GuardSettings;
use super::state::{Owed, State};

/// Limit on queued error answers to the server. Further answers are dropped: a server that does not read
/// them would otherwise make the queue grow without bound.
const MAX_REPLIES: usize = 1024;

/// The guarded state behind its lock, with the signals that tasks await without holding it.
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) is_closed: AtomicBool,
    /// Signals that the guard's next deadline may have changed.
    pub(super) changed: Notify,
    /// Signals that the policy ended the session.
    pub(super) closing: Notify,
}

impl Shared {
    /// Creates the state. Returns it with the receivers for judged events and for error answers to the server.
    pub(super) fn new(
        settings: &GuardSettings,
        arriving: Option<TransportEvents>,
    ) -> (Arc<Self>, TransportEvents, mpsc::Receiver<Owed>) {
        let (leaving, events) = mpsc::channel(MAX_EVENTS);
        let (replies, owed) = mpsc::channel(MAX_REPLIES);
        // The state signals its owner, so it holds a weak reference to it.
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

    /// Waits until the event channel has room or is closed.
    pub(super) async fn wait_for_room(&self) {
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
