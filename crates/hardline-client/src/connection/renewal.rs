//! Opening a session again that the server has ended.
//!
//! Invariants:
//! - All that need the new session wait for one and the same attempt, and share its outcome.
//! - An attempt goes on to its end though nobody waits for it any more: no session is left half open.
//! - What is asked for meanwhile waits: there is no session that it could be sent in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hardline_transport::client::Request;
use tokio::sync::watch;

use super::Inner;
use super::message::{self, Params};
use crate::Error;

/// The last attempt, unless it succeeded.
#[derive(Default)]
pub(super) struct Renewal(Mutex<Option<Attempt>>);

struct Attempt {
    /// The session that the server has ended.
    ended: u64,
    /// What became of it, once that is known.
    outcome: Outcome,
}

type Outcome = watch::Receiver<Option<Result<(), Error>>>;

impl Attempt {
    fn is_under_way(&self) -> bool {
        self.outcome.borrow().is_none() && self.outcome.has_changed().is_ok()
    }
}

impl Renewal {
    fn lock(&self) -> MutexGuard<'_, Option<Attempt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Waits until there is a session to send requests in.
    pub(super) async fn ready(self: &Arc<Self>) -> Result<(), Error> {
        let ended = self.renewal.lock().as_ref().map(|attempt| attempt.ended);
        match ended {
            Some(ended) => self.renew(ended).await,
            None => Ok(()),
        }
    }

    /// Opens the session again after the server has ended it, once for all that wait for that.
    pub(super) async fn renew(self: &Arc<Self>, ended: u64) -> Result<(), Error> {
        let mut outcome = {
            let mut last = self.renewal.lock();
            match &*last {
                Some(attempt) if attempt.is_under_way() => attempt.outcome.clone(),
                _ if self.session().generation != ended => return Ok(()),
                _ => {
                    let outcome = self.begin_renewal();
                    *last = Some(Attempt { ended, outcome: outcome.clone() });
                    outcome
                }
            }
        };
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Err(super::closed()),
        }
    }

    fn begin_renewal(self: &Arc<Self>) -> Outcome {
        tracing::debug!("the server has ended the session: opening another");
        let (sender, outcome) = watch::channel(None);
        let inner = Arc::clone(self);
        self.runtime.spawn(async move {
            let limit = inner.settings.open_timeout;
            let opened = tokio::time::timeout(limit, inner.open_again()).await;
            let opened = opened.unwrap_or_else(|_| {
                Err(Error::Timeout { method: "initialize".into(), after: limit })
            });
            if opened.is_ok() {
                // Whoever misses it will notice; the session is worth more.
                let _ = tokio::time::timeout(limit, inner.remind()).await;
                *inner.renewal.lock() = None;
            }
            sender.send_replace(Some(opened));
        });
        outcome
    }

    async fn open_again(&self) -> Result<(), Error> {
        self.transport.forget_session();
        let info = self.greet(self.session().info.version).await?;
        self.settle(info).await
    }

    /// Tells a new session what the old one was told.
    async fn remind(&self) {
        let (level, subscriptions) = {
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            (memory.level, memory.subscriptions.clone())
        };
        let level = level.map(|level| ("logging/setLevel", serde_json::json!({ "level": level })));
        let uris = subscriptions.into_iter();
        let uris = uris.map(|uri| ("resources/subscribe", serde_json::json!({ "uri": uri })));
        for (method, params) in level.into_iter().chain(uris) {
            let Ok(params) = Params::new(&params) else { continue };
            let id = self.new_id();
            let line = message::request(id, method, &params, "");
            // What it says to that is its own affair.
            let _ = self.transport.request(Request::new(id, method, line)).await;
        }
    }
}
