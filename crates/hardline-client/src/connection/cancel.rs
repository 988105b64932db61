//! Telling the server that a request is not waited for any more.

use std::sync::{Arc, Weak};
use std::time::Duration;

use hardline_transport::client::{Kind, Notice};

use tokio::sync::watch;

use super::Inner;
use super::message::{self, Params};
use super::session::Session;

/// How long telling the server may take.
const TIME: Duration = Duration::from_secs(5);
/// How long it may take at the end of a session.
const LAST_TIME: Duration = Duration::from_secs(1);

/// Cancels a request at the server when it is dropped before it is disarmed.
pub(super) struct Cancel {
    inner: Weak<Inner>,
    id: i64,
    pub(super) reason: &'static str,
    is_armed: bool,
}

impl Cancel {
    pub(super) fn new(inner: &Arc<Inner>, session: &Session, id: i64, method: &str) -> Self {
        // Where a request has a stream of its own, closing that says it. An `initialize` cannot be taken
        // back.
        let is_said_otherwise = session.is_stateless() && inner.transport.kind() == Kind::Http;
        let is_armed = !is_said_otherwise && method != "initialize";
        Self {
            inner: Arc::downgrade(inner),
            id,
            reason: "the caller gave the request up",
            is_armed,
        }
    }

    pub(super) fn disarm(&mut self) {
        self.is_armed = false;
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        let inner = self.inner.upgrade().filter(|it| self.is_armed && it.transport.is_connected());
        let Some(inner) = inner else { return };
        let params = serde_json::json!({ "requestId": self.id, "reason": self.reason });
        let Ok(params) = Params::new(&params) else { return };
        let line = message::notification("notifications/cancelled", Some(&params), "");
        let transport = Arc::clone(&inner.transport);
        let under_way = inner.cancelling.begin();
        inner.runtime.spawn(async move {
            let told = transport.notify(Notice::notification(line));
            if !matches!(tokio::time::timeout(TIME, told).await, Ok(Ok(()))) {
                tracing::debug!("the server could not be told that a request was cancelled");
            }
            drop(under_way);
        });
    }
}

/// The cancellations that are under way: the end of a session waits a moment for them.
pub(super) struct Cancelling(watch::Sender<()>);

impl Cancelling {
    fn begin(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }

    pub(super) async fn settle(&self) {
        let _ = tokio::time::timeout(LAST_TIME, self.0.closed()).await;
    }
}

impl Default for Cancelling {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}
