//! A transport with a guard on its messages.

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::{
    Answer, BoxFuture, Events, Kind, Notice, Request, Transport, TransportError,
};
use hardline_wire::version::Version;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::GuardSettings;
use super::shared::Shared;
use super::state::Outgoing;

/// How long an error may take on its way to the server.
const REPLY_TIME: Duration = Duration::from_secs(5);

/// A transport that shows a guard every message of both directions, and carries what the guard gives out.
///
/// A request that is stopped does not reach the server: it is answered at once, with the guard's error, and
/// so is one whose answer is stopped. A request of the server that is stopped is answered with an error. When
/// the policy ends the session, the transport is closed with the reason.
///
/// Whatever the transport does to frame messages comes before the guard. Where a server's lines can be had,
/// as from a process, [`lines`](super::lines()) sees more.
#[derive(Debug)]
pub struct Guarded {
    inner: Arc<dyn Transport>,
    shared: Arc<Shared>,
    events: Mutex<Option<Events>>,
    tasks: [AbortHandle; 2],
}

impl Guarded {
    /// Puts a guard on a transport, before anything is sent. Must be called inside a runtime with time
    /// enabled.
    pub fn new(inner: Arc<dyn Transport>, settings: &GuardSettings) -> Self {
        let (shared, events, replies) = Shared::new(settings, inner.take_events());
        let watching = tokio::spawn(watch(Arc::clone(&shared))).abort_handle();
        let replying = reply(Arc::clone(&inner), Arc::clone(&shared), replies);
        let tasks = [watching, tokio::spawn(replying).abort_handle()];
        Self { inner, shared, events: Mutex::new(Some(events)), tasks }
    }

    /// Judges the answer of a request after all that came before it, and gives what comes of it.
    async fn settle(
        &self,
        id: i64,
        outcome: Result<Answer, TransportError>,
    ) -> Result<(), TransportError> {
        let shared = &*self.shared;
        let arrived = shared.lock().arrived();
        let judged = loop {
            {
                let mut state = shared.lock();
                state.pump();
                if state.has_judged(arrived) {
                    match outcome {
                        Ok(answer) => state.take_answer(id, answer),
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
            shared.room().await;
        };
        while !shared.lock().has_sent(judged) {
            shared.room().await;
        }
        Ok(())
    }
}

impl Transport for Guarded {
    fn request(&self, mut request: Request) -> BoxFuture<'_, Result<Answer, TransportError>> {
        Box::pin(async move {
            let (reply, mut decided) = oneshot::channel();
            let id = request.id;
            let _wait = Wait { id, shared: &self.shared };
            let outgoing = {
                let mut state = self.shared.lock();
                if let Some(error) = state.closed() {
                    return Err(error);
                }
                state.wait_for(id, reply);
                state.take_outgoing(&request.text)
            };
            match outgoing {
                Outgoing::AsIs => {}
                Outgoing::Instead(text) => request.text = text.into(),
                Outgoing::Nothing => return decided.try_recv().unwrap_or_else(|_| Err(stopped())),
            }
            let outcome = tokio::select! {
                biased;
                outcome = &mut decided => return outcome.unwrap_or_else(|_| Err(stopped())),
                outcome = self.inner.request(request) => outcome,
            };
            self.settle(id, outcome).await?;
            decided.try_recv().unwrap_or_else(|_| Err(stopped()))
        })
    }

    fn notify(&self, mut message: Notice) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let outgoing = {
                let mut state = self.shared.lock();
                if let Some(error) = state.closed() {
                    return Err(error);
                }
                state.take_outgoing(&message.text)
            };
            match outgoing {
                Outgoing::AsIs => {}
                Outgoing::Instead(text) => message.text = text.into(),
                Outgoing::Nothing => return Ok(()),
            }
            self.inner.notify(message).await
        })
    }

    fn agree(&self, version: Version) -> BoxFuture<'_, ()> {
        self.inner.agree(version)
    }

    fn forget_session(&self) {
        self.shared.lock().forget_session();
        self.inner.forget_session();
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }

    fn is_connected(&self) -> bool {
        !self.shared.is_closed.load(Ordering::Acquire) && self.inner.is_connected()
    }

    fn take_events(&self) -> Option<Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn kind(&self) -> Kind {
        self.inner.kind()
    }

    fn secrets(&self) -> Secrets {
        self.inner.secrets()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Makes the guard forget a request that ended without an answer.
struct Wait<'a> {
    id: i64,
    shared: &'a Shared,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.shared.lock().forget(self.id);
    }
}

/// What a request is told whose message or answer goes nowhere.
fn stopped() -> TransportError {
    TransportError::Answer("the guard has kept it back".to_owned())
}

/// Judges what arrives while nobody else does, and tells the guard the time.
async fn watch(shared: Arc<Shared>) {
    loop {
        shared.room().await;
        let due = shared.lock().due();
        tokio::select! {
            biased;
            has_more = poll_fn(|context| shared.lock().poll_event(context)) => {
                if !has_more {
                    return;
                }
            }
            () = until(due) => shared.lock().keep_time(),
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

/// Sends the guard's errors to the server, and closes the transport when the policy wants it.
async fn reply(
    inner: Arc<dyn Transport>,
    shared: Arc<Shared>,
    mut replies: mpsc::Receiver<Notice>,
) {
    loop {
        tokio::select! {
            biased;
            () = shared.closing.notified() => return inner.close().await,
            Some(notice) = replies.recv() => {
                if !matches!(tokio::time::timeout(REPLY_TIME, inner.notify(notice)).await, Ok(Ok(()))) {
                    tracing::debug!("the server could not be told that its request was stopped");
                }
            }
        }
    }
}
