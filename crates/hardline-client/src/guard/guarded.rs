//! A transport that passes every message through a guard.

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::{
    Answer, BoxFuture, OneWayMessage, OutgoingRequest, Transport, TransportError, TransportEvents,
    TransportKind,
};
use hardline_wire::version::Version;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::GuardSettings;
use super::outgoing::Inner;
use super::shared::Shared;
use super::state::Owed;

/// Time limit for delivering one error answer to the server.
const REPLY_TIME: Duration = Duration::from_secs(5);

/// A transport that passes every message of both directions through a guard and carries the guard's output.
///
/// If the guard blocks a request or its answer, the caller gets the guard's error at once; a blocked request
/// never reaches the server. A blocked request from the server is answered with an error. When the policy
/// ends the session, the transport is closed with the reason.
///
/// The guard sees messages only after the inner transport has framed them. If the server's raw lines are
/// available, as they are for a process, [`lines`](super::lines()) can detect more.
#[derive(Debug)]
pub struct Guarded {
    inner: Inner,
    shared: Arc<Shared>,
    events: Mutex<Option<TransportEvents>>,
    tasks: [AbortHandle; 2],
}

impl Guarded {
    /// Wraps a transport before the first message is sent. Must be called inside a runtime with time enabled.
    pub fn new(inner: Arc<dyn Transport>, settings: &GuardSettings) -> Self {
        let inner = Inner::new(inner);
        let (shared, events, replies) = Shared::new(settings, inner.take_events());
        let watching = tokio::spawn(watch(Arc::clone(&shared))).abort_handle();
        let replying = reply(inner.clone(), Arc::clone(&shared), replies);
        let tasks = [watching, tokio::spawn(replying).abort_handle()];
        Self { inner, shared, events: Mutex::new(Some(events)), tasks }
    }

    /// Judges the answer to request `id`, after every event that the server sent before it.
    async fn settle(
        &self,
        id: i64,
        outcome: Result<Answer, TransportError>,
    ) -> Result<(), TransportError> {
        let shared = &*self.shared;
        // A fixed mark: a server that keeps sending events must not delay its answers forever.
        let arrived = shared.lock().arrived();
        // The lock is released while waiting for room, or the receiver could not make any.
        let judged = loop {
            {
                let mut state = shared.lock();
                state.pump();
                if state.has_judged(arrived) {
                    match outcome {
                        Ok(answer) => state.take_answer(id, answer),
                        // The body of an HTTP error may hold a message, which must not bypass the guard.
                        Err(TransportError::Http(mut error)) => {
                            let message = error.message.take();
                            error.message = message.and_then(|text| state.take_refusal(&text));
                            return Err(TransportError::Http(error));
                        }
                        Err(error) => return Err(error),
                    }
                    break state.judged();
                }
            }
            shared.wait_for_room().await;
        };
        // The client must see events from before the answer, such as progress, before the answer itself.
        while !shared.lock().flush_past(judged) {
            shared.wait_for_room().await;
        }
        Ok(())
    }
}

impl Transport for Guarded {
    fn request(&self, request: OutgoingRequest) -> BoxFuture<'_, Result<Answer, TransportError>> {
        Box::pin(async move {
            let (waiter, mut decided) = oneshot::channel();
            let id = request.id;
            // Also covers a dropped future: the guard would otherwise wait for the answer forever.
            let _wait = Wait { id, shared: &self.shared };
            let text = {
                let mut state = self.shared.lock();
                if let Some(error) = state.closed() {
                    return Err(error);
                }
                // Registered before the message is judged, because the guard may decide on it at once.
                state.wait_for(id, waiter);
                state.take_outgoing(&request.text)
            };
            let Some(text) = text else {
                return decided.try_recv().unwrap_or_else(|_| Err(stopped()));
            };
            // Biased: the guard may have decided already, for example because the policy ended the session.
            let outcome = tokio::select! {
                biased;
                outcome = &mut decided => return outcome.unwrap_or_else(|_| Err(stopped())),
                outcome = self.inner.request(request, text) => outcome,
            };
            self.settle(id, outcome).await?;
            decided.try_recv().unwrap_or_else(|_| Err(stopped()))
        })
    }

    fn notify(&self, message: OneWayMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let text = {
                let mut state = self.shared.lock();
                if let Some(error) = state.closed() {
                    return Err(error);
                }
                state.take_outgoing(&message.text)
            };
            match text {
                Some(text) => self.inner.notify(message, text).await,
                // A blocked notification has no one to tell; the observer has the finding.
                None => Ok(()),
            }
        })
    }

    fn agree(&self, version: Version) -> BoxFuture<'_, ()> {
        self.inner.agree(version)
    }

    fn forget_session(&self) {
        // The guard first, or it would take reused ids of the new session for forgeries.
        self.shared.lock().forget_session();
        self.inner.forget_session();
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }

    fn is_connected(&self) -> bool {
        !self.shared.is_closed.load(Ordering::Acquire) && self.inner.is_connected()
    }

    fn take_events(&self) -> Option<TransportEvents> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn kind(&self) -> TransportKind {
        self.inner.kind()
    }

    fn secrets(&self) -> Secrets {
        self.inner.secrets()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The tasks hold the inner transport, so they would keep it open.
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Removes a request from the guard's state when its future ends or is dropped.
struct Wait<'a> {
    id: i64,
    shared: &'a Shared,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.shared.lock().forget(self.id);
    }
}

/// Returns the error for a request that the guard blocked without an error of its own.
fn stopped() -> TransportError {
    TransportError::Answer("the guard blocked the message".to_owned())
}

/// Judges events while no request does, and calls the guard at its deadlines.
async fn watch(shared: Arc<Shared>) {
    loop {
        shared.wait_for_room().await;
        let due = shared.lock().due();
        tokio::select! {
            biased;
            has_more = poll_fn(|context| shared.lock().poll_event(context)) => {
                if !has_more {
                    return;
                }
            }
            () = until(due) => shared.lock().handle_timeout(),
            () = shared.changed.notified() => {}
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Sends the guard's errors to the server, and closes the transport when the policy ends the session.
async fn reply(inner: Inner, shared: Arc<Shared>, mut replies: mpsc::Receiver<Owed>) {
    loop {
        tokio::select! {
            biased;
            () = shared.closing.notified() => return inner.close().await,
            Some((id, text)) = replies.recv() => {
                let sending = tokio::time::timeout(REPLY_TIME, inner.answer(id, text));
                if !matches!(sending.await, Ok(Ok(()))) {
                    tracing::debug!("could not tell the server that its request was blocked");
                }
            }
        }
    }
}
