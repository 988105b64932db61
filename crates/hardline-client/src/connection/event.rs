//! What the server sends of its own accord: notifications, and requests of its own.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::{Event, Events, Notice};
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
use crate::board::Post;

/// How many requests of the server are worked on at once. More are answered with an error.
const MAX_SERVING: usize = 64;
/// How many answers to them are on their way at once. More wait.
const MAX_SENDERS: usize = 64;
/// How many answers there may be that have not left. A server that takes none gets no more.
const MAX_ANSWERS: usize = 1024;
/// How long an answer may take to leave.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Something that the server sent of its own accord, or that went wrong with what it sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A notification.
    Notification(Notification),
    /// Something arrived that could not be used. It cost nothing else. Fit for a terminal.
    Trouble(Arc<str>),
    /// The connection is at its end: why. Fit for a terminal.
    Closed(Arc<str>),
    /// As many events were not taken in time, and are lost.
    Missed(u64),
}

impl Post for ServerEvent {
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

/// A notification of the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notification {
    /// Its method.
    pub method: Arc<str>,
    /// Its parameters, as JSON.
    pub params: Option<Arc<RawValue>>,
    /// What the connection kept secret when this came.
    secrets: Secrets,
}

impl Notification {
    /// The text with `[hidden]` in place of what the connection that this came on keeps secret: see
    /// [`Connection::hide`](super::Connection::hide). It works after the end of that connection too.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.secrets.hide(text).into_owned()
    }
}

/// What has arrived and is not yet delivered.
///
/// Two deliver: a task, for when nothing else happens, and whoever has got an answer, so that what came
/// before it is seen before it. The lock keeps them in order.
pub(super) struct Inbox(Mutex<Option<Events>>);

impl Inbox {
    pub(super) fn new(events: Option<Events>) -> Self {
        Self(Mutex::new(events))
    }

    /// Delivers what has arrived so far.
    pub(super) fn drain(&self, inner: &Arc<Inner>) {
        let mut events = self.lock();
        // No more than that: what a server sends meanwhile may have no end.
        for _ in 0..events.as_ref().map_or(0, Events::len) {
            let Some(event) = events.as_mut().and_then(|it| it.try_recv().ok()) else { return };
            inner.take(event);
        }
    }

    /// Delivers one event, and tells whether there may be more.
    fn poll(&self, inner: &Weak<Inner>, context: &mut Context<'_>) -> Poll<bool> {
        let mut events = self.lock();
        let Some(receiver) = events.as_mut() else { return Poll::Ready(false) };
        receiver.poll_recv(context).map(|event| match (event, inner.upgrade()) {
            (Some(event), Some(inner)) => {
                inner.take(event);
                true
            }
            _ => false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Events>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Delivers what arrives for as long as the connection exists.
pub(super) async fn deliver(inner: Weak<Inner>, inbox: Arc<Inbox>) {
    while poll_fn(|context| inbox.poll(&inner, context)).await {}
}

/// Which requests are under way in both directions, as far as their time is concerned.
pub(super) struct Pulse {
    /// Requests of ours whose progress is reported, by their token.
    beats: Mutex<HashMap<i64, Arc<Beat>>>,
    /// Requests of the server that are worked on.
    serving: Mutex<HashMap<Id<'static>, Option<AbortHandle>>>,
    served: Notify,
    /// Room for answers that have not left, and for those that are leaving.
    answers: Arc<Semaphore>,
    senders: Arc<Semaphore>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            beats: Mutex::default(),
            serving: Mutex::default(),
            served: Notify::new(),
            answers: Arc::new(Semaphore::new(MAX_ANSWERS)),
            senders: Arc::new(Semaphore::new(MAX_SENDERS)),
        }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        for task in lock(&self.serving).drain().filter_map(|(_, task)| task) {
            task.abort();
        }
    }
}

/// A request of ours whose progress is reported.
pub(super) struct Beat {
    beaten: Notify,
    listener: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Beat {
    /// Waits for progress, for ever if there will be none.
    pub(super) async fn next(beat: Option<&Self>) {
        match beat {
            Some(beat) => beat.beaten.notified().await,
            None => std::future::pending().await,
        }
    }
}

/// Ends the reporting of progress with the request.
pub(super) struct Beating<'a> {
    pulse: &'a Pulse,
    id: i64,
    beat: Arc<Beat>,
}

impl std::ops::Deref for Beating<'_> {
    type Target = Beat;

    fn deref(&self) -> &Beat {
        &self.beat
    }
}

impl Drop for Beating<'_> {
    fn drop(&mut self) {
        lock(&self.pulse.beats).remove(&self.id);
    }
}

impl Pulse {
    pub(super) fn start(
        &self,
        id: i64,
        listener: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    ) -> Beating<'_> {
        let beat = Arc::new(Beat { beaten: Notify::new(), listener });
        lock(&self.beats).insert(id, Arc::clone(&beat));
        Beating { pulse: self, id, beat }
    }

    /// Whether a request of the server is worked on.
    pub(super) fn is_serving(&self) -> bool {
        !lock(&self.serving).is_empty()
    }

    /// Waits until one of them is answered, from now on.
    pub(super) fn served(&self) -> Notified<'_> {
        self.served.notified()
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
    /// Delivers an event, without waiting. A callback that panics costs that event alone.
    fn take(self: &Arc<Self>, event: Event) {
        if catch_unwind(AssertUnwindSafe(|| self.handle(event))).is_err() {
            tracing::warn!("a callback panicked while something of the server's was delivered");
        }
    }

    fn handle(self: &Arc<Self>, event: Event) {
        match event {
            Event::Notification { method, text } => self.handle_notification(&method, &text),
            Event::Request { id, method, text } => self.handle_request(id, &method, &text),
            Event::Error { reason, .. } => self.trouble(&reason),
            Event::Closed(error) => {
                let reason = self.hidden().secrets().hide(&error.to_string()).into();
                self.tell(ServerEvent::Closed(reason));
            }
            _ => {}
        }
    }

    fn handle_notification(&self, method: &str, text: &str) {
        let params = params(text);
        match method {
            "notifications/progress" if self.handle_progress(params) => return,
            "notifications/cancelled" if self.handle_cancelled(params) => return,
            _ => {}
        }
        let params = params.map(|params| params.to_owned().into());
        let secrets = self.hidden().secrets();
        let notification = Notification { method: method.into(), params, secrets };
        self.tell(ServerEvent::Notification(notification));
    }

    /// Returns whether it was about a request of ours.
    fn handle_progress(&self, params: Option<&RawValue>) -> bool {
        let reported: Option<Reported> = params.and_then(|it| serde_json::from_str(it.get()).ok());
        let Some(reported) = reported else { return false };
        let Some(beat) = lock(&self.pulse.beats).get(&reported.progress_token).cloned() else {
            return false;
        };
        beat.beaten.notify_one();
        if let Some(listener) = &beat.listener {
            let Reported { progress, total, message, .. } = reported;
            listener(Progress { progress, total, message });
        }
        true
    }

    /// Returns whether it was about a request that is worked on.
    fn handle_cancelled(&self, params: Option<&RawValue>) -> bool {
        let cancelled = params.and_then(|it| serde_json::from_str::<Cancelled<'_>>(it.get()).ok());
        let Some(cancelled) = cancelled else { return false };
        let mut serving = lock(&self.pulse.serving);
        let id = serving.keys().find(|id| id_text(id) == cancelled.request_id.get()).cloned();
        let Some(id) = id else { return false };
        if let Some(Some(task)) = serving.remove(&id) {
            task.abort();
        }
        self.pulse.served.notify_waiters();
        true
    }

    fn handle_request(self: &Arc<Self>, id: Id<'static>, method: &str, text: &str) {
        if self.session().is_stateless() {
            let method = Excerpt::new(method.as_bytes(), 80);
            self.trouble(&format!(
                "the server sent a request ({method}), which version 2026-07-28 does not allow"
            ));
            return;
        }
        // No work, so that no request of ours may take longer for it.
        if let Some(result) = self.settings.known_answer(method) {
            return self.answer(&id, &Ok(result));
        }
        let handler = self.settings.handler(method);
        let params = params(text).map(ToOwned::to_owned);
        {
            let mut serving = lock(&self.pulse.serving);
            if MAX_SERVING <= serving.len() {
                drop(serving);
                let reason = format!("{MAX_SERVING} requests are being worked on already");
                self.answer(&id, &Err(RpcError::internal(&reason)));
                return;
            }
            serving.insert(id.clone(), None);
        }
        let Some(handler) = handler else {
            let outcome = Err(RpcError::new(code::METHOD_NOT_FOUND, "method not found"));
            return self.finish(&id, &outcome);
        };
        let work = self.runtime.spawn(async move { handler(params).await });
        if let Some(place) = lock(&self.pulse.serving).get_mut(&id) {
            *place = Some(work.abort_handle());
        }
        // It does not keep the connection that it is for.
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

    /// Answers a request of the server, unless it was cancelled.
    fn finish(self: &Arc<Self>, id: &Id<'static>, outcome: &Result<String, RpcError>) {
        if lock(&self.pulse.serving).remove(id).is_some() {
            self.answer(id, outcome);
            self.pulse.served.notify_waiters();
        }
    }

    fn answer(&self, id: &Id<'static>, outcome: &Result<String, RpcError>) {
        let notice = Notice::answer(id.clone(), message::answer(id, outcome));
        let Ok(place) = Arc::clone(&self.pulse.answers).try_acquire_owned() else {
            self.trouble("the server asks without taking the answers: it gets no more for now");
            return;
        };
        let (transport, senders) = (Arc::clone(&self.transport), Arc::clone(&self.pulse.senders));
        self.runtime.spawn(async move {
            let sending = async {
                let _turn = senders.acquire().await;
                transport.notify(notice).await
            };
            if !matches!(tokio::time::timeout(ANSWER_TIME, sending).await, Ok(Ok(()))) {
                tracing::debug!("a request of the server could not be answered");
            }
            drop(place);
        });
    }

    fn trouble(&self, reason: &str) {
        let secrets = self.hidden().secrets();
        let reason = &*secrets.hide(reason);
        tracing::debug!(reason, "trouble with what a server sent");
        if let Some(listener) = &self.settings.on_trouble {
            listener(reason);
        }
        self.tell(ServerEvent::Trouble(reason.into()));
    }

    fn tell(&self, event: ServerEvent) {
        self.events.post(event);
    }
}

/// The parameters of a message.
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

impl fmt::Debug for Pulse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pulse").finish_non_exhaustive()
    }
}
