//! Streamable HTTP: one POST for each message, answered by a body or a stream.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_wire::version::Version;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::body;
use super::error;
use super::event_stream::EventStream;
use super::link::Link;
use super::listener::listen;
use super::session::Session;
use super::settings::{HttpSettings, HttpSettingsError};
use crate::Secrets;
use crate::client::{
    Answer, BoxFuture, OneWayMessage, OutgoingRequest, Transport, TransportError, TransportEvent,
    TransportEvents, TransportKind,
};

/// Limit on streams that are read after their answers at the same time. Further ones are closed.
const MAX_DRAINS: usize = 64;
/// Limit on the bytes read of such a stream.
const MAX_DRAIN_BYTES: u64 = 1 << 20;
/// Time limit for reading such a stream.
const DRAIN_WAIT: Duration = Duration::from_secs(10);

/// Transport to a server over Streamable HTTP, 2025-03-26 and later.
///
/// A request runs in its caller's task. Only listening and reading after an answer have separate
/// tasks, which end with the transport. It needs no session: requests can be sent before
/// [`agree`](Transport::agree), with only their own headers.
#[derive(Debug)]
pub struct Streamable {
    link: Arc<Link>,
    session: Session,
    listener: Mutex<JoinSet<()>>,
    drains: Mutex<JoinSet<()>>,
}

impl Streamable {
    /// Creates the transport without sending anything.
    ///
    /// # Errors
    ///
    /// [`HttpSettingsError`], if TLS cannot be set up.
    pub fn new(settings: HttpSettings) -> Result<Self, HttpSettingsError> {
        Ok(Self {
            link: Arc::new(Link::new(settings)?),
            session: Session::default(),
            listener: Mutex::default(),
            drains: Mutex::default(),
        })
    }

    /// Reads the rest of a stream after the answer, so that the connection can be reused.
    async fn drain(&self, mut stream: EventStream) {
        // Most streams end with the answer, and their end has usually arrived already.
        let first = tokio::select! {
            biased;
            first = stream.next() => first,
            () = std::future::ready(()) => {
                self.drain_later(stream, None);
                return;
            }
        };
        if let Ok(Some(item)) = first {
            self.drain_later(stream, Some(item.into_event()));
        }
    }

    fn drain_later(&self, mut stream: EventStream, first: Option<TransportEvent>) {
        let mut drains = self.drains.lock().unwrap_or_else(PoisonError::into_inner);
        while drains.try_join_next().is_some() {}
        if drains.len() >= MAX_DRAINS {
            return;
        }
        let link = Arc::clone(&self.link);
        drains.spawn(async move {
            let most = stream.received().saturating_add(MAX_DRAIN_BYTES);
            let reading = async {
                if let Some(event) = first {
                    link.events.put(event).await;
                }
                while let Ok(Some(item)) = stream.next().await {
                    link.events.put(item.into_event()).await;
                    if stream.received() > most {
                        return;
                    }
                }
            };
            let _ = tokio::time::timeout(DRAIN_WAIT, reading).await;
        });
    }

    async fn send(&self, message: OneWayMessage) -> Result<(), TransportError> {
        let stamp = self.session.stamp();
        let address = &self.link.settings.url;
        let response = self.link.post(address, message.text, &message.headers, &stamp).await?;
        let status = response.status();
        if status.is_success() {
            body::discard(response).await;
            return Ok(());
        }
        // The protocol: 404 for a request with a session id means that the session is gone.
        if status == 404 && stamp.id.is_some() {
            return Err(TransportError::SessionEnded);
        }
        Err(error::refusal(response, &self.link.settings.limits).await)
    }

    fn stop_listening(&self) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = JoinSet::new();
    }
}

impl Transport for Streamable {
    fn request(&self, request: OutgoingRequest) -> BoxFuture<'_, Result<Answer, TransportError>> {
        Box::pin(self.link.events.unless_closed(async {
            let (answer, rest) = self.link.exchange(&self.session, request).await?;
            if let Some(stream) = rest {
                self.drain(stream).await;
            }
            Ok(answer)
        }))
    }

    fn notify(&self, message: OneWayMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.link.events.unless_closed(self.send(message)))
    }

    fn agree(&self, version: Version) -> BoxFuture<'_, ()> {
        self.session.agree(version);
        Box::pin(async move {
            // Versions without a handshake have no listening stream.
            if !version.has_handshake() || self.link.events.is_closed() {
                return;
            }
            let (started, start) = oneshot::channel();
            let listening = listen(Arc::clone(&self.link), self.session.stamp(), started);
            {
                let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
                // Dropping the old set aborts the listener of a previous session.
                *listener = JoinSet::new();
                listener.spawn(listening);
            }
            let _ = tokio::time::timeout(self.link.settings.listener_start, start).await;
        })
    }

    fn forget_session(&self) {
        self.session.forget();
        self.stop_listening();
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let events = &self.link.events;
            if !events.close(TransportError::Closed("the connection was closed".to_owned())) {
                return;
            }
            // The last event must be sent even if the caller drops this future.
            let _last = Last(&self.link);
            self.stop_listening();
            self.drains.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
            let stamp = self.session.stamp();
            if stamp.id.is_some() {
                let goodbye = self.link.delete(&stamp);
                // The server's timeout ends the session too, so a failure has no consequence.
                let _ = tokio::time::timeout(self.link.settings.close_wait, goodbye).await;
            }
        })
    }

    fn is_connected(&self) -> bool {
        !self.link.events.is_closed()
    }

    fn take_events(&self) -> Option<TransportEvents> {
        self.link.events.take_events()
    }

    fn kind(&self) -> TransportKind {
        TransportKind::Http
    }

    fn secrets(&self) -> Secrets {
        self.link.secrets()
    }
}

struct Last<'a>(&'a Link);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        self.0.events.finish();
    }
}
