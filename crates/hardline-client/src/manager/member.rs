//! One server of a manager: its shared snapshot, and the signals from callers to its task.

use std::sync::{Arc, Mutex, PoisonError};

use hardline_transport::client::TransportError;
use hardline_wire::excerpt::Excerpt;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::cache::Cache;
use super::catalog::{Freshness, ListedTool};
use super::connect::Connect;
use super::state::{ServerState, ServerStatus};
use crate::{Connection, Error};

/// Number of bytes of a server's name that an error quotes.
const NAME_BYTES: usize = 80;

/// State shared by the server's task and its callers.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: Arc<str>,
    pub(super) connect: Arc<dyn Connect>,
    pub(super) cache: Option<Cache>,
    /// True once the server was removed or the manager closed.
    pub(super) closing: watch::Sender<bool>,
    /// Signals that a caller waits for a connection.
    pub(super) asked: Notify,
    /// Signals that a caller wants a new connection at once.
    pub(super) restart: Notify,
    /// Signals that a request failed in a way that casts doubt on the connection.
    pub(super) suspected: Notify,
    suspicion: Mutex<Option<Suspicion>>,
    snapshot: watch::Sender<Snapshot>,
}

/// A snapshot of the server, published by its task.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) state: ServerState,
    /// Earliest time of the next attempt if a caller asks for one; set while the server is unavailable.
    pub(super) next: Option<Instant>,
    pub(super) open: Option<Open>,
    pub(super) tools: Option<Tools>,
    pub(super) list_failure: Option<Arc<str>>,
    /// Reason for which the last attempt failed or the last connection ended; `None` while one is open.
    pub(super) last_failure: Option<Arc<str>>,
    pub(super) attempts: u64,
}

/// An open connection.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) connection: Connection,
    /// Number of this connection among all connections to the server.
    pub(super) generation: u64,
    /// Number of times a suspected connection passed its check.
    pub(super) checks_passed: u64,
}

/// The tool list of a server.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) list: Arc<[Arc<ListedTool>]>,
    pub(super) freshness: Freshness,
    /// Number of tools beyond the limit on listed tools.
    pub(super) unlisted: usize,
}

/// A failure that casts doubt on a connection.
#[derive(Clone, Debug)]
pub(super) struct Suspicion {
    pub(super) generation: u64,
    pub(super) reason: Error,
    /// True if the failure proves that the connection is unusable, so that no check is needed.
    pub(super) is_certain: bool,
}

impl Snapshot {
    /// Returns the best known reason for which the server is unavailable.
    fn reason<'a>(&'a self, otherwise: &'a str) -> &'a str {
        self.state.reason().or(self.last_failure.as_deref()).unwrap_or(otherwise)
    }
}

impl Member {
    pub(super) fn new(
        name: &str,
        connect: Arc<dyn Connect>,
        cache: Option<Cache>,
        state: ServerState,
    ) -> Self {
        let snapshot = Snapshot {
            state,
            next: None,
            open: None,
            tools: None,
            list_failure: None,
            last_failure: None,
            attempts: 0,
        };
        Self {
            name: name.into(),
            connect,
            cache,
            closing: watch::Sender::new(false),
            asked: Notify::new(),
            restart: Notify::new(),
            suspected: Notify::new(),
            suspicion: Mutex::new(None),
            snapshot: watch::Sender::new(snapshot),
        }
    }

    pub(super) fn snapshot(&self) -> watch::Ref<'_, Snapshot> {
        self.snapshot.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Snapshot> {
        self.snapshot.subscribe()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        self.snapshot.send_modify(change);
    }

    /// Changes the snapshot without waking watchers; [`announce`](Self::announce) wakes them.
    pub(super) fn change_silently(&self, change: impl FnOnce(&mut Snapshot)) {
        // Returns false, so that the watchers sleep on.
        self.snapshot.send_if_modified(|snapshot| {
            change(snapshot);
            false
        });
    }

    pub(super) fn announce(&self) {
        self.snapshot.send_modify(|_| {});
    }

    pub(super) fn status(&self) -> ServerStatus {
        let snapshot = self.snapshot();
        ServerStatus {
            server: Arc::clone(&self.name),
            state: snapshot.state.clone(),
            tools: snapshot.tools.as_ref().map(|it| (it.list.len(), it.freshness)),
            list_failure: snapshot.list_failure.clone(),
            last_failure: snapshot.last_failure.clone(),
            unlisted: snapshot.tools.as_ref().map_or(0, |it| it.unlisted),
            attempts: snapshot.attempts,
        }
    }

    /// Returns the name, escaped for a terminal.
    pub(super) fn display_name(&self) -> String {
        Excerpt::new(self.name.as_bytes(), NAME_BYTES).to_string()
    }

    pub(super) fn away(&self, reason: impl Into<String>) -> Error {
        Error::Away { server: self.display_name(), reason: reason.into(), needs_login: false }
    }

    /// Returns the error for a request that `snapshot` gives no chance. `otherwise` is the reason if none is
    /// known.
    fn away_because(&self, snapshot: &Snapshot, otherwise: &str) -> Error {
        Error::Away {
            server: self.display_name(),
            reason: snapshot.reason(otherwise).to_owned(),
            needs_login: matches!(snapshot.state, ServerState::LoginNeeded { .. }),
        }
    }

    /// Resolves once the server was removed or the manager closed.
    pub(super) async fn closed(&self) {
        // The sender is in `self`, so this does not fail.
        let _ = self.closing.subscribe().wait_for(|is_closing| *is_closing).await;
    }

    /// Records a failed request on a connection that may be broken. Returns true if the caller should wait for
    /// the check of the connection, and then retry or fail.
    pub(super) fn report_failure(&self, generation: u64, failure: &Error) -> bool {
        let Error::Transport(error) = failure else { return false };
        let (is_certain, is_final) = match error {
            TransportError::Unreachable(_) | TransportError::SessionEnded => (true, false),
            TransportError::Closed(_) | TransportError::Interrupted(_) => (false, false),
            // New credentials apply to the next connection. For this call the refusal is the answer.
            TransportError::Login(_) => (true, true),
            TransportError::Http(error) if error.status == 401 => (true, true),
            _ => return false,
        };
        // Another call has already caused the replacement of that connection.
        if self.snapshot().open.as_ref().is_none_or(|it| it.generation != generation) {
            return !is_final;
        }
        let mut suspicion = self.suspicion.lock().unwrap_or_else(PoisonError::into_inner);
        // A mere suspicion must not overwrite a proven failure.
        let is_known =
            suspicion.as_ref().is_some_and(|it| it.generation == generation && it.is_certain);
        if !is_known {
            *suspicion = Some(Suspicion { generation, reason: failure.clone(), is_certain });
        }
        drop(suspicion);
        self.suspected.notify_one();
        !is_final
    }

    /// Takes the suspicion against the connection of this generation, if there is one.
    pub(super) fn take_suspicion(&self, generation: u64) -> Option<Suspicion> {
        let suspicion = self.suspicion.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Taken by the task even if it is about an earlier connection, so that it is checked only once.
        suspicion.filter(|it| it.generation == generation)
    }

    /// Waits until a suspected connection has passed its check or was replaced.
    pub(super) async fn wait_until_checked(&self, suspected: &Open, deadline: Instant) {
        let mut watch = self.watch();
        let was_checked = |open: &Open| {
            (open.generation, open.checks_passed) != (suspected.generation, suspected.checks_passed)
        };
        let checked = watch.wait_for(|snapshot| snapshot.open.as_ref().is_none_or(was_checked));
        let _ = tokio::time::timeout_at(deadline, checked).await;
    }

    /// Returns true if the server has listed its tools in this run.
    pub(super) fn has_listed(&self) -> bool {
        self.snapshot().tools.as_ref().is_some_and(|it| it.freshness != Freshness::Cached)
    }

    /// Waits until the server has listed its tools in this run, or failed to, at most until `deadline`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Away`] if the server is not connected in time, or cannot list its tools.
    pub(super) async fn wait_until_listed(&self, deadline: Instant) -> Result<(), Error> {
        self.connected(deadline).await?;
        let mut watch = self.watch();
        let is_decided = |snapshot: &Snapshot| {
            let is_listed =
                snapshot.tools.as_ref().is_some_and(|it| it.freshness != Freshness::Cached);
            is_listed || snapshot.list_failure.is_some() || snapshot.open.is_none()
        };
        let decided = tokio::time::timeout_at(deadline, watch.wait_for(is_decided)).await;
        if self.has_listed() {
            return Ok(());
        }
        // Cloned, so that no borrow of the snapshot is alive when the next one is taken.
        let failure = self.snapshot().list_failure.clone();
        Err(match (failure, decided) {
            (Some(failure), _) => self.away(format!("it cannot list its tools: {failure}")),
            (None, Err(_)) => self.away("it has not listed its tools yet"),
            (None, Ok(_)) => self.away_because(&self.snapshot(), "its connection was lost"),
        })
    }

    /// Asks for a connection and waits until it is open, at most until `deadline`.
    pub(super) async fn connected(&self, deadline: Instant) -> Result<Open, Error> {
        let mut watch = self.watch();
        loop {
            {
                let snapshot = watch.borrow_and_update();
                let now = Instant::now();
                if let Some(open) = &snapshot.open
                    && open.connection.is_connected()
                {
                    return Ok(open.clone());
                }
                // Fail now rather than at the deadline if no attempt can succeed before it.
                let is_hopeless = match &snapshot.state {
                    ServerState::Connecting | ServerState::Connected { .. } => deadline <= now,
                    ServerState::Waiting { .. } => snapshot.next.is_none_or(|next| deadline < next),
                    ServerState::Broken { .. } | ServerState::LoginNeeded { .. } => {
                        snapshot.next.is_none_or(|next| now < next)
                    }
                    ServerState::Disabled | ServerState::Closed => true,
                };
                if is_hopeless {
                    return Err(self.away_because(&snapshot, "it is not connected yet"));
                }
            }
            // Repeated after each change, because a failed attempt discards earlier signals.
            self.asked.notify_one();
            // At the deadline, the latest snapshot has the best reason for the error.
            let changed = tokio::time::timeout_at(deadline, watch.changed()).await;
            if changed.is_err() {
                return Err(self.away_because(&self.snapshot(), "it is still being connected to"));
            }
        }
    }
}
