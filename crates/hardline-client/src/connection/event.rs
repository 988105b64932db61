//! What the server sends of its own accord: notifications, and requests of its own.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use hardline_transport::client::{Event, Events, Notice};
use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{Inner, Progress, message};
use crate::RpcError;

/// How many requests of the server are worked on at once. More are answered with an error.
const MAX_SERVING: usize = 64;

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
}

/// A notification of the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notification {
    /// Its method.
    pub method: Arc<str>,
    /// Its parameters, as JSON.
    pub params: Option<Arc<RawValue>>,
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
        while let Some(event) = events.as_mut().and_then(|events| events.try_recv().ok()) {
            inner.handle(event);
        }
    }

    /// Delivers one event, and tells whether there may be more.
    fn poll(&self, inner: &Weak<Inner>, context: &mut Context<'_>) -> Poll<bool> {
        let mut events = self.lock();
        let Some(receiver) = events.as_mut() else { return Poll::Ready(false) };
        receiver.poll_recv(context).map(|event| match (event, inner.upgrade()) {
            (Some(event), Some(inner)) => {
                inner.handle(event);
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
#[derive(Default)]
pub(super) struct Pulse {
    /// Requests of ours whose progress is reported, by their token.
    beats: Mutex<HashMap<i64, Arc<Beat>>>,
    /// Requests of the server that are worked on.
    serving: Mutex<HashMap<Id<'static>, Option<AbortHandle>>>,
    served: Notify,
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

    /// Waits until one of them is answered.
    pub(super) async fn served(&self) {
        self.served.notified().await;
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
    /// Delivers an event, without waiting.
    fn handle(self: &Arc<Self>, event: Event) {
        match event {
            Event::Notification { method, text } => self.handle_notification(&method, &text),
            Event::Request { id, method, text } => self.handle_request(id, &method, &text),
            Event::Error { reason, .. } => self.trouble(&reason),
            Event::Closed(error) => self.tell(ServerEvent::Closed(error.to_string().into())),
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
        self.tell(ServerEvent::Notification(Notification { method: method.into(), params }));
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
        let work = self.runtime.spawn(handler(params));
        if let Some(place) = lock(&self.pulse.serving).get_mut(&id) {
            *place = Some(work.abort_handle());
        }
        let inner = Arc::clone(self);
        self.runtime.spawn(async move {
            let outcome = match work.await {
                Ok(outcome) => outcome,
                // The server has cancelled it.
                Err(error) if error.is_cancelled() => return,
                Err(_) => Err(RpcError::internal("the client failed to handle the request")),
            };
            inner.finish(&id, &outcome);
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
        let transport = Arc::clone(&self.transport);
        self.runtime.spawn(async move {
            if let Err(error) = transport.notify(notice).await {
                tracing::debug!(%error, "a request of the server could not be answered");
            }
        });
    }

    fn trouble(&self, reason: &str) {
        tracing::debug!(reason, "trouble with what a server sent");
        if let Some(listener) = &self.settings.on_trouble {
            listener(reason);
        }
        self.tell(ServerEvent::Trouble(reason.into()));
    }

    fn tell(&self, event: ServerEvent) {
        // Nobody need listen.
        let _ = self.events.send(event);
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
