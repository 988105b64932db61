//! Handles what the server sends unprompted: notifications, and requests to the client.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::{OneWayMessage, TransportEvent, TransportEvents};
use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;

use super::{Inner, Progress, message};
use crate::RpcError;
use crate::broadcast::BroadcastEvent;
use crate::handler::{Canceller, Handler, RequestContext};

/// Limit on server requests that handlers work on concurrently. Further requests get an error.
const MAX_SERVING: usize = 64;
/// Limit on answers that are being sent concurrently. Further answers wait.
const MAX_SENDERS: usize = 64;
/// Limit on answers that are not sent yet. Further answers are dropped: the server does not read them.
const MAX_ANSWERS: usize = 1024;
/// Time limit for sending one answer.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// An event from the server, or a problem with what it sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A notification.
    Notification(ServerNotification),
    /// The server sent something that the client cannot use and has ignored. The text is safe for a terminal.
    Trouble(Arc<str>),
    /// The connection has ended for this reason. The text is safe for a terminal.
    Closed(Arc<str>),
    /// Number of events that the receiver missed because it was too slow.
    Missed(u64),
}

impl BroadcastEvent for ServerEvent {
    fn len(&self) -> usize {
        match self {
            Self::Notification(it) => {
                it.method.len() + it.params.as_ref().map_or(0, |params| params.get().len())
            }
            Self::Trouble(text) | Self::Closed(text) => text.len(),
            Self::Missed(_) => 0,
        }
    }

    fn missed(count: u64) -> Self {
        Self::Missed(count)
    }
}

/// A notification from the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerNotification {
    /// Method of the notification.
    pub method: Arc<str>,
    /// Parameters of the notification, as JSON.
    pub params: Option<Arc<RawValue>>,
    /// Values that the connection hid when the notification arrived.
    secrets: Secrets,
}

impl ServerNotification {
    /// Replaces secret values in `text` with `[redacted]`: those of the connection that delivered this
    /// notification, see [`Connection::hide`](super::Connection::hide). Works after that connection has ended.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.secrets.hide(text).into_owned()
    }
}

/// Events that have arrived but were not delivered yet.
///
/// Two callers deliver: a background task, and each request that has just received its answer, so that
/// earlier events come before the answer. The lock keeps the events in order.
pub(super) struct Inbox(Mutex<Option<TransportEvents>>);

impl Inbox {
    pub(super) fn new(events: Option<TransportEvents>) -> Self {
        Self(Mutex::new(events))
    }

    /// Delivers the events that have arrived so far.
    pub(super) fn drain(&self, inner: &Arc<Inner>) {
        let mut events = self.lock();
        // Bounded by the current length: a server that keeps sending could otherwise hold the caller here.
        for _ in 0..events.as_ref().map_or(0, TransportEvents::len) {
            let Some(event) = events.as_mut().and_then(|it| it.try_recv().ok()) else { return };
            inner.deliver(event);
        }
    }

    /// Delivers one event. Returns false once no more events can come.
    fn poll(&self, inner: &Weak<Inner>, context: &mut Context<'_>) -> Poll<bool> {
        let mut events = self.lock();
        let Some(receiver) = events.as_mut() else { return Poll::Ready(false) };
        // The lock is held during delivery, which keeps this task and `drain` from reordering events.
        receiver.poll_recv(context).map(|event| match (event, inner.upgrade()) {
            (Some(event), Some(inner)) => {
                inner.deliver(event);
                true
            }
            _ => false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<TransportEvents>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Delivers events as they arrive, for as long as the connection exists.
pub(super) async fn deliver_events(inner: Weak<Inner>, inbox: Arc<Inbox>) {
    while poll_fn(|context| inbox.poll(&inner, context)).await {}
}

/// Tracks the requests in flight that influence deadlines, in both directions.
pub(super) struct Activity {
    /// Requests from the client that watch for progress, by progress token.
    progress: Mutex<HashMap<i64, Arc<ProgressWatch>>>,
    /// Requests from the server that handlers work on.
    serving: Mutex<HashMap<Id<'static>, ServerRequest>>,
    /// Signals that one of them was answered or cancelled.
    answered: Notify,
    /// Permits for answers that are not sent yet, and for those that are being sent.
    answers: Arc<Semaphore>,
    senders: Arc<Semaphore>,
}

/// A request from the server that a handler works on.
struct ServerRequest {
    /// Task of the handler, once it has started.
    task: Option<AbortHandle>,
    canceller: Canceller,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            progress: Mutex::default(),
            serving: Mutex::default(),
            answered: Notify::new(),
            answers: Arc::new(Semaphore::new(MAX_ANSWERS)),
            senders: Arc::new(Semaphore::new(MAX_SENDERS)),
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        // Handlers of a dropped connection have no one to answer.
        for task in lock(&self.serving).drain().filter_map(|(_, serving)| serving.task) {
            task.abort();
        }
    }
}

/// Watches for the progress of one request.
pub(super) struct ProgressWatch {
    reported: Notify,
    listener: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl ProgressWatch {
    /// Waits for the next progress notification, forever if the request does not watch for progress.
    pub(super) async fn next(watch: Option<&Self>) {
        match watch {
            Some(watch) => watch.reported.notified().await,
            None => std::future::pending().await,
        }
    }
}

/// Ends the progress watch when the request ends.
pub(super) struct ProgressGuard<'a> {
    activity: &'a Activity,
    id: i64,
    watch: Arc<ProgressWatch>,
}

impl std::ops::Deref for ProgressGuard<'_> {
    type Target = ProgressWatch;

    fn deref(&self) -> &ProgressWatch {
        &self.watch
    }
}

impl Drop for ProgressGuard<'_> {
    fn drop(&mut self) {
        lock(&self.activity.progress).remove(&self.id);
    }
}

impl Activity {
    /// Watches for the progress of request `id` until the returned guard is dropped.
    pub(super) fn watch_progress(
        &self,
        id: i64,
        listener: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    ) -> ProgressGuard<'_> {
        let watch = Arc::new(ProgressWatch { reported: Notify::new(), listener });
        lock(&self.progress).insert(id, Arc::clone(&watch));
        ProgressGuard { activity: self, id, watch }
    }

    /// Returns true if a handler works on a request from the server.
    pub(super) fn is_serving(&self) -> bool {
        !lock(&self.serving).is_empty()
    }

    /// Returns a future that completes when the next server request is answered or cancelled.
    pub(super) fn answered(&self) -> Notified<'_> {
        self.answered.notified()
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reported {
    progress_token: i64,
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled<'a> {
    #[serde(borrow)]
    request_id: &'a RawValue,
}

impl Inner {
    /// Delivers an event without waiting. A panic in a callback loses only that event.
    fn deliver(self: &Arc<Self>, event: TransportEvent) {
        // Observers and listeners are foreign code; their panic must not end the reader task.
        if catch_unwind(AssertUnwindSafe(|| self.handle(event))).is_err() {
            tracing::warn!("a callback panicked on an event from the server");
        }
    }

    fn handle(self: &Arc<Self>, event: TransportEvent) {
        match event {
            TransportEvent::Notification { method, text } => {
                self.handle_notification(&method, &text);
            }
            TransportEvent::Request { id, method, text } => self.handle_request(id, &method, &text),
            TransportEvent::Error { reason, .. } => self.trouble(&reason),
            TransportEvent::Closed(error) => {
                let reason = self.secret_source().secrets().hide(&error.to_string()).into();
                self.publish(ServerEvent::Closed(reason));
            }
            _ => {}
        }
    }

    fn handle_notification(&self, method: &str, text: &str) {
        let params = params(text);
        match method {
            // Progress and cancellations of known requests are consumed; unknown ones may concern the
            // caller.
            "notifications/progress" if self.handle_progress(params) => return,
            "notifications/cancelled" if self.handle_cancelled(params) => return,
            _ => {}
        }
        let params = params.map(|params| params.to_owned().into());
        let secrets = self.secret_source().secrets();
        let notification = ServerNotification { method: method.into(), params, secrets };
        self.publish(ServerEvent::Notification(notification));
    }

    /// Returns true if the notification is about a request in flight.
    fn handle_progress(&self, params: Option<&RawValue>) -> bool {
        let reported: Option<Reported> = params.and_then(|it| serde_json::from_str(it.get()).ok());
        let Some(reported) = reported else { return false };
        // A token of the caller's own, or of a finished request, is not ours to interpret.
        let Some(watch) = lock(&self.activity.progress).get(&reported.progress_token).cloned()
        else {
            return false;
        };
        // The timeout restarts even if the listener below panics.
        watch.reported.notify_one();
        if let Some(listener) = &watch.listener {
            let Reported { progress, total, message, .. } = reported;
            listener(Progress { progress, total, message });
        }
        true
    }

    /// Aborts the handler of a cancelled request. Returns true if one was working on it.
    fn handle_cancelled(&self, params: Option<&RawValue>) -> bool {
        let cancelled = params.and_then(|it| serde_json::from_str::<Cancelled<'_>>(it.get()).ok());
        let Some(cancelled) = cancelled else { return false };
        let mut serving = lock(&self.activity.serving);
        // Compared as JSON text, so that `1` and `"1"` stay different ids.
        let id = serving.keys().find(|id| id_text(id) == cancelled.request_id.get()).cloned();
        let Some(id) = id else { return false };
        if let Some(ServerRequest { task: Some(task), .. }) = serving.remove(&id) {
            task.abort();
        }
        self.activity.answered.notify_waiters();
        true
    }

    fn handle_request(self: &Arc<Self>, id: Id<'static>, method: &str, text: &str) {
        let session = self.session();
        if session.is_stateless() {
            let method = Excerpt::new(method.as_bytes(), 80);
            let version = session.info.version;
            self.trouble(&format!(
                "the server sent a request ({method}), which version {version} does not allow"
            ));
            return;
        }
        // Built-in answers do not count as work, so they cannot pause the timeouts of our own requests.
        if let Some(result) = self.settings.known_answer(method) {
            return self.answer(&id, &Ok(result));
        }
        let handler = self.settings.handler(method);
        let (context, canceller) = RequestContext::new(self.settings.server_name.clone());
        {
            let mut serving = lock(&self.activity.serving);
            if serving.len() >= MAX_SERVING {
                drop(serving);
                let reason = format!("{MAX_SERVING} requests are in progress already");
                self.answer(&id, &Err(RpcError::internal(&reason)));
                return;
            }
            // Registered before the handler starts, so that a cancellation in between finds it.
            serving.insert(id.clone(), ServerRequest { task: None, canceller });
        }
        let Some(handler) = handler else {
            // The standard code: servers probe for optional methods with it.
            let outcome = Err(RpcError::new(code::METHOD_NOT_FOUND, "method not found"));
            return self.finish(&id, &outcome);
        };
        self.serve(id, handler, params(text).map(ToOwned::to_owned), context);
    }

    /// Runs a handler in a task of its own, and answers with its outcome.
    fn serve(
        self: &Arc<Self>,
        id: Id<'static>,
        handler: Handler,
        params: Option<Box<RawValue>>,
        context: RequestContext,
    ) {
        let work = self.runtime.spawn(async move { handler(params, context).await });
        if let Some(serving) = lock(&self.activity.serving).get_mut(&id) {
            serving.task = Some(work.abort_handle());
        }
        // A weak reference: a slow handler must not keep a dropped connection alive.
        let inner = Arc::downgrade(self);
        self.runtime.spawn(async move {
            let outcome = match work.await {
                Ok(outcome) => outcome,
                // The server has cancelled it.
                Err(error) if error.is_cancelled() => return,
                Err(_) => Err(RpcError::internal("the client failed to handle the request")),
            };
            if let Some(inner) = inner.upgrade() {
                inner.finish(&id, &outcome);
            }
        });
    }

    /// Answers a request from the server, unless the server has cancelled it.
    fn finish(self: &Arc<Self>, id: &Id<'static>, outcome: &Result<String, RpcError>) {
        let serving = lock(&self.activity.serving).remove(id);
        if let Some(serving) = serving {
            serving.canceller.finish();
            self.answer(id, outcome);
            self.activity.answered.notify_waiters();
        }
    }

    /// Sends an answer in the background.
    fn answer(&self, id: &Id<'static>, outcome: &Result<String, RpcError>) {
        let message = OneWayMessage::answer(id.clone(), message::answer(id, outcome));
        let Ok(permit) = Arc::clone(&self.activity.answers).try_acquire_owned() else {
            self.trouble(
                "the server sends requests without reading the answers; an answer was dropped",
            );
            return;
        };
        let (transport, senders) =
            (Arc::clone(&self.transport), Arc::clone(&self.activity.senders));
        self.runtime.spawn(async move {
            let sending = async {
                // Bounds concurrent sends without dropping answers; the time limit below includes this
                // wait.
                let _permit = senders.acquire().await;
                transport.notify(message).await
            };
            if !matches!(tokio::time::timeout(ANSWER_TIME, sending).await, Ok(Ok(()))) {
                tracing::debug!("could not send the answer to a request from the server");
            }
            drop(permit);
        });
    }

    /// Reports a problem with what the server sent.
    fn trouble(&self, reason: &str) {
        let secrets = self.secret_source().secrets();
        let reason = &*secrets.hide(reason);
        tracing::debug!(reason, "problem with a message from the server");
        if let Some(listener) = &self.settings.on_trouble {
            listener(reason);
        }
        self.publish(ServerEvent::Trouble(reason.into()));
    }

    fn publish(&self, event: ServerEvent) {
        self.events.send(event);
    }
}

/// Returns the parameters of a message.
fn params(text: &str) -> Option<&RawValue> {
    serde_json::from_str::<Envelope<'_>>(text).ok()?.params
}

fn id_text(id: &Id<'_>) -> String {
    let mut text = String::new();
    hardline_wire::encode::push_id(&mut text, id);
    text
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Activity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Activity").finish_non_exhaustive()
    }
}
