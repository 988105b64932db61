//! Sends cancellations for requests that the caller has abandoned.

use std::sync::{Arc, Weak};
use std::time::Duration;

use hardline_transport::client::{OneWayMessage, TransportKind};

use tokio::sync::watch;

use super::Inner;
use super::message::{self, Params};
use super::session::NegotiatedSession;

/// Time limit for sending one cancellation.
const SEND_TIME: Duration = Duration::from_secs(5);
/// Time that the end of a session waits for pending cancellations.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// Cancels a request at the server when dropped, unless it was disarmed before.
pub(super) struct Cancel {
    inner: Weak<Inner>,
    id: i64,
    pub(super) reason: &'static str,
    is_armed: bool,
}

impl Cancel {
    pub(super) fn new(
        inner: &Arc<Inner>,
        session: &NegotiatedSession,
        id: i64,
        method: &str,
    ) -> Self {
        // A stateless HTTP request has a stream of its own, and closing the stream cancels it. The protocol
        // forbids cancelling `initialize`.
        let is_implied = session.is_stateless() && inner.transport.kind() == TransportKind::Http;
        let is_armed = !is_implied && method != "initialize";
        Self {
            inner: Arc::downgrade(inner),
            id,
            reason: "the caller abandoned the request",
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
        let text = message::notification("notifications/cancelled", Some(&params), "");
        let transport = Arc::clone(&inner.transport);
        let pending = inner.cancellations.begin();
        inner.runtime.spawn(async move {
            let sending = transport.notify(OneWayMessage::notification(text));
            if !matches!(tokio::time::timeout(SEND_TIME, sending).await, Ok(Ok(()))) {
                tracing::debug!("could not send a cancellation to the server");
            }
            drop(pending);
        });
    }
}

/// Tracks cancellations that are being sent, so that the end of a session can wait for them.
pub(super) struct PendingCancellations(watch::Sender<()>);

impl PendingCancellations {
    /// Registers a cancellation, which stays pending until the receiver is dropped.
    fn begin(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }

    /// Waits until no cancellation is pending, at most [`FLUSH_TIME`].
    pub(super) async fn flush(&self) {
        let _ = tokio::time::timeout(FLUSH_TIME, self.0.closed()).await;
    }
}

impl Default for PendingCancellations {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}
