//! One server of a manager: what is known of it, and who wants something of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_transport::client::TransportError;
use hardline_wire::excerpt::Excerpt;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::cache::Cache;
use super::catalog::{Freshness, ListedTool};
use super::connect::Connect;
use super::state::{State, Status};
use crate::{Connection, Error};

/// How much of a server's name is shown in an error.
const NAME_BYTES: usize = 80;

/// What all who deal with one server share.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: Arc<str>,
    pub(super) connect: Arc<dyn Connect>,
    /// How long a request may take, if the configuration says so.
    pub(super) timeout: Option<Duration>,
    pub(super) cache: Option<Cache>,
    /// True once the server is not wanted any more.
    pub(super) closing: watch::Sender<bool>,
    /// Somebody waits for the server.
    pub(super) asked: Notify,
    /// Somebody wants a new connection at once.
    pub(super) restart: Notify,
    /// Somebody doubts that the connection is of use.
    pub(super) doubted: Notify,
    doubt: Mutex<Option<Doubt>>,
    known: watch::Sender<Known>,
}

/// What is known of a server.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) state: State,
    /// When the next attempt could begin, if somebody asked for it now; for one that is away.
    pub(super) next: Option<Instant>,
    pub(super) open: Option<Open>,
    pub(super) tools: Option<Tools>,
    pub(super) list_failure: Option<Arc<str>>,
    /// Why the last attempt failed or the last connection ended, until one is open.
    pub(super) last_failure: Option<Arc<str>>,
    pub(super) attempts: u64,
}

/// A connection that can be used.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) connection: Connection,
    /// Which of all connections to the server this is.
    pub(super) generation: u64,
    /// How often it was doubted and found to be of use.
    pub(super) proofs: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) list: Arc<[Arc<ListedTool>]>,
    pub(super) freshness: Freshness,
    /// How many more there are than are listed.
    pub(super) unlisted: usize,
}

/// Why a connection may be of no use any more.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    pub(super) generation: u64,
    pub(super) reason: Error,
    /// Whether the server is known to be away, so that it need not be asked.
    pub(super) is_certain: bool,
}

impl Known {
    /// Why the server is away, as far as that is known.
    fn reason<'a>(&'a self, otherwise: &'a str) -> &'a str {
        self.state.reason().or(self.last_failure.as_deref()).unwrap_or(otherwise)
    }
}

impl Member {
    pub(super) fn new(
        name: &str,
        connect: Arc<dyn Connect>,
        timeout: Option<Duration>,
        cache: Option<Cache>,
        state: State,
    ) -> Self {
        let known = Known {
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
            timeout,
            cache,
            closing: watch::Sender::new(false),
            asked: Notify::new(),
            restart: Notify::new(),
            doubted: Notify::new(),
            doubt: Mutex::new(None),
            known: watch::Sender::new(known),
        }
    }

    pub(super) fn known(&self) -> watch::Ref<'_, Known> {
        self.known.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Known> {
        self.known.subscribe()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Known)) {
        self.known.send_modify(change);
    }

    /// Changes what is known without telling whoever waits for a change; [`announce`](Self::announce) does.
    pub(super) fn prepare(&self, change: impl FnOnce(&mut Known)) {
        self.known.send_if_modified(|known| {
            change(known);
            false
        });
    }

    pub(super) fn announce(&self) {
        self.known.send_modify(|_| {});
    }

    pub(super) fn status(&self) -> Status {
        let known = self.known();
        Status {
            server: Arc::clone(&self.name),
            state: known.state.clone(),
            tools: known.tools.as_ref().map(|it| (it.list.len(), it.freshness)),
            list_failure: known.list_failure.clone(),
            last_failure: known.last_failure.clone(),
            unlisted: known.tools.as_ref().map_or(0, |it| it.unlisted),
            attempts: known.attempts,
        }
    }

    /// The name, fit for a terminal.
    pub(super) fn shown(&self) -> String {
        Excerpt::new(self.name.as_bytes(), NAME_BYTES).to_string()
    }

    pub(super) fn away(&self, reason: impl Into<String>) -> Error {
        Error::Away { server: self.shown(), reason: reason.into() }
    }

    /// Resolves when the server is not wanted any more.
    pub(super) async fn closed(&self) {
        // The sender is in `self`, so this does not fail.
        let _ = self.closing.subscribe().wait_for(|is_closing| *is_closing).await;
    }

    /// Takes note of a failure on a connection that may be of no use any more. Returns whether the request
    /// that failed waits for what becomes of it.
    pub(super) fn suspect(&self, generation: u64, failure: &Error) -> bool {
        let Error::Transport(error) = failure else { return false };
        let (is_certain, is_of_use) = match error {
            TransportError::Unreachable(_) | TransportError::SessionEnded => (true, false),
            TransportError::Closed(_) | TransportError::Interrupted(_) => (false, false),
            // The credentials are looked up anew for the next connection; this call has its answer.
            TransportError::Login(_) => (true, true),
            TransportError::Http(error) if error.status == 401 => (true, true),
            _ => return false,
        };
        // What is said of a connection that is gone helps nobody.
        if self.known().open.as_ref().is_none_or(|it| it.generation != generation) {
            return !is_of_use;
        }
        let mut doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody's doubt takes away what somebody is certain of.
        let is_known =
            doubt.as_ref().is_some_and(|it| it.generation == generation && it.is_certain);
        if !is_known {
            *doubt = Some(Doubt { generation, reason: failure.clone(), is_certain });
        }
        drop(doubt);
        self.doubted.notify_one();
        !is_of_use
    }

    /// What was said of the connection with this number.
    pub(super) fn take_doubt(&self, generation: u64) -> Option<Doubt> {
        let doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner).take();
        doubt.filter(|it| it.generation == generation)
    }

    /// Waits until a connection that is doubted is found to be of use, or taken away.
    pub(super) async fn settled(&self, doubted: &Open, deadline: Instant) {
        let mut watch = self.watch();
        let is_settled =
            |open: &Open| (open.generation, open.proofs) != (doubted.generation, doubted.proofs);
        let settled = watch.wait_for(|known| known.open.as_ref().is_none_or(is_settled));
        let _ = tokio::time::timeout_at(deadline, settled).await;
    }

    /// Waits until there is a connection, asking for one, and no longer than until `deadline`.
    pub(super) async fn connected(&self, deadline: Instant) -> Result<Open, Error> {
        let mut watch = self.watch();
        loop {
            {
                let known = watch.borrow_and_update();
                let now = Instant::now();
                if let Some(open) = &known.open
                    && open.connection.is_connected()
                {
                    return Ok(open.clone());
                }
                let is_hopeless = match &known.state {
                    State::Connecting | State::Connected { .. } => deadline <= now,
                    State::Waiting { .. } => known.next.is_none_or(|next| deadline < next),
                    State::Broken { .. } | State::LoginNeeded { .. } => {
                        known.next.is_none_or(|next| now < next)
                    }
                    State::Disabled | State::Closed => true,
                };
                if is_hopeless {
                    return Err(self.away(known.reason("it is not there yet")));
                }
            }
            self.asked.notify_one();
            // At the deadline it is looked at once more, for the reason.
            let changed = tokio::time::timeout_at(deadline, watch.changed()).await;
            if changed.is_err() {
                let reason = self.known().reason("it is still being connected to").to_owned();
                return Err(self.away(reason));
            }
        }
    }
}
