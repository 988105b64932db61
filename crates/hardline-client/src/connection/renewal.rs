//! Reopens a session that the server has ended.
//!
//! Invariants:
//! - All requests that need the new session wait for the same attempt and share its outcome.
//! - An attempt runs to its end even if no request waits for it any more, so no session stays half open.
//! - New requests wait for a running attempt, because there is no session to send them in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hardline_transport::client::OutgoingRequest;
use tokio::sync::watch;

use super::Inner;
use super::message::{self, Params};
use crate::Error;

/// The last attempt, unless it succeeded.
#[derive(Default)]
pub(super) struct Renewal(Mutex<Option<Attempt>>);

struct Attempt {
    /// Generation of the session that the server has ended.
    ended: u64,
    /// Outcome of the attempt, once it is known.
    outcome: Outcome,
}

type Outcome = watch::Receiver<Option<Result<(), Error>>>;

impl Attempt {
    fn is_running(&self) -> bool {
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

    /// Reopens the session of generation `ended`. Concurrent calls share one attempt.
    pub(super) async fn renew(self: &Arc<Self>, ended: u64) -> Result<(), Error> {
        let mut outcome = {
            let mut last = self.renewal.lock();
            match &*last {
                // Another request may have renewed the session since this one failed.
                Some(attempt) if attempt.is_running() => attempt.outcome.clone(),
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
        tracing::debug!("the server ended the session; opening a new one");
        let (sender, outcome) = watch::channel(None);
        let inner = Arc::clone(self);
        self.runtime.spawn(async move {
            let limit = inner.settings.open_timeout.unwrap_or(Duration::MAX);
            let opened = tokio::time::timeout(limit, inner.reopen()).await;
            let opened = opened.unwrap_or_else(|_| {
                Err(Error::Timeout { method: "initialize".into(), after: limit })
            });
            if opened.is_ok() {
                // A failed restore is tolerable: the new session works without it.
                let _ = tokio::time::timeout(limit, inner.restore()).await;
                *inner.renewal.lock() = None;
            }
            sender.send_replace(Some(opened));
        });
        outcome
    }

    async fn reopen(&self) -> Result<(), Error> {
        self.transport.forget_session();
        let info = self.initialize(self.session().info.version).await?;
        self.establish(info).await
    }

    /// Repeats the log level and the subscriptions of the old session in the new one.
    async fn restore(&self) {
        let (level, subscriptions) = {
            let restorable = self.restorable.lock().unwrap_or_else(PoisonError::into_inner);
            (restorable.level, restorable.subscriptions.clone())
        };
        let level = level.map(|level| ("logging/setLevel", serde_json::json!({ "level": level })));
        let uris = subscriptions.into_iter();
        let uris = uris.map(|uri| ("resources/subscribe", serde_json::json!({ "uri": uri })));
        for (method, params) in level.into_iter().chain(uris) {
            let Ok(params) = Params::new(&params) else { continue };
            let id = self.new_id();
            let text = message::request(id, method, &params, "");
            // An error answer changes nothing: the server no longer offers this.
            let _ = self.transport.request(OutgoingRequest::new(id, method, text)).await;
        }
    }
}
