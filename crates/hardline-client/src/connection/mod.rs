//! A session with one server: message format, request ids, method order, deadlines.
//!
//! Framing, streams, processes and teardown belong to the [`Transport`].
//!
//! Invariants:
//! - Every request ends with an answer, an error, or its deadline.
//! - When the caller or the deadline abandons a request, the client sends the server one cancellation and
//!   drops a late answer.
//! - A request is sent again only if the server certainly has not processed it.
//! - Events that the server sent before an answer are delivered before the caller gets the answer.
//! - No error and no report of a problem contains a value that the settings mark as secret.
//! - Delivery never waits for an event receiver: a receiver that falls behind loses events and learns how
//!   many.

mod call;
mod cancel;
mod event;
mod input;
mod lenient;
mod message;
mod opening;
mod renewal;
mod session;
mod tools;
mod typed;

#[cfg(unix)]
mod spawn;
mod url;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use hardline_transport::client::{Transport, TransportError};
use hardline_wire::version::Version;
use rmcp::model::{Implementation, ServerCapabilities};
use tokio::sync::Semaphore;

use crate::broadcast::{Broadcast, EventReceiver};
use crate::guard::Guarded;
use crate::{ConnectionSettings, Error};
use cancel::PendingCancellations;
use event::{Activity, Inbox};
use renewal::Renewal;
use session::{NegotiatedSession, Restorable};
use tools::ToolHeaders;

pub use call::{RawResult, RequestOptions};
pub use event::{ServerEvent, ServerNotification};
pub(crate) use message::Params;
pub use typed::Progress;

/// A session with one server. Clones share the session, which ends when the last clone is dropped.
#[derive(Clone)]
pub struct Connection {
    pub(crate) inner: Arc<Inner>,
}

/// The server's side of the negotiated session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The negotiated protocol version.
    pub version: Version,
    /// Capabilities that the server declared.
    pub capabilities: ServerCapabilities,
    /// Name and version of the server, if it sent them.
    pub implementation: Option<Implementation>,
    /// The server's instructions for clients, if it sent any. Not escaped: do not print them to a terminal.
    pub instructions: Option<String>,
}

pub(crate) struct Inner {
    transport: Arc<dyn Transport>,
    settings: ConnectionSettings,
    next_id: AtomicI64,
    session: RwLock<Arc<NegotiatedSession>>,
    renewal: Renewal,
    restorable: Mutex<Restorable>,
    tools: ToolHeaders,
    slots: Semaphore,
    activity: Activity,
    cancellations: PendingCancellations,
    inbox: Arc<Inbox>,
    events: Broadcast<ServerEvent>,
    is_closed: AtomicBool,
    runtime: tokio::runtime::Handle,
}

impl Connection {
    /// Opens a session over a transport: negotiates the version with the server and performs the handshake, if
    /// that version has one.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the server cannot be reached, does not answer in time, or speaks no version that
    /// the settings allow. The transport is closed then.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with time enabled.
    pub async fn open(
        transport: Arc<dyn Transport>,
        settings: ConnectionSettings,
    ) -> Result<Self, Error> {
        Self::open_as(transport, settings, None).await
    }

    /// Opens a session and remembers the server's [`Era`](crate::settings::Era) under `name`.
    async fn open_as(
        transport: Arc<dyn Transport>,
        settings: ConnectionSettings,
        name: Option<&str>,
    ) -> Result<Self, Error> {
        let connection = Self::start(transport, settings);
        let limit = connection.inner.settings.open_timeout.unwrap_or(Duration::MAX);
        let opening = tokio::time::timeout(limit, Box::pin(connection.inner.open(name)));
        // The caller's request to abort wins even over a handshake that hangs.
        let opened = tokio::select! {
            opened = opening => opened.unwrap_or_else(|_| {
                Err(Error::Timeout { method: "the opening of the session".into(), after: limit })
            }),
            () = connection.inner.settings.closed() => Err(closed()),
        };
        // An abandoned transport would leave a server process behind.
        if let Err(error) = opened {
            connection.close().await;
            return Err(error.hidden(&connection.inner.secret_source().secrets()));
        }
        Ok(connection)
    }

    /// Creates a connection that skips the opening and assumes this version.
    pub(crate) fn assume(
        transport: Arc<dyn Transport>,
        settings: ConnectionSettings,
        version: Version,
    ) -> Self {
        let connection = Self::start(transport, settings);
        {
            let inner = &connection.inner;
            let mut session = inner.session.write().unwrap_or_else(PoisonError::into_inner);
            let info = ServerInfo { version, ..session.info.clone() };
            *session = Arc::new(NegotiatedSession::new(1, info, &inner.settings));
        }
        connection
    }

    fn start(mut transport: Arc<dyn Transport>, settings: ConnectionSettings) -> Self {
        // Applied here, so that no way of opening a connection can forget it.
        if let Some(guard) = &settings.guard {
            transport = Arc::new(Guarded::new(transport, guard));
        }
        let inbox = Arc::new(Inbox::new(transport.take_events()));
        let inner = Arc::new(Inner {
            transport,
            // Starts at 1: some servers mistake the id 0 for an absent one.
            next_id: AtomicI64::new(1),
            session: RwLock::new(Arc::new(NegotiatedSession::unopened())),
            renewal: Renewal::default(),
            restorable: Mutex::default(),
            tools: ToolHeaders::default(),
            slots: Semaphore::new(settings.max_in_flight),
            activity: Activity::default(),
            cancellations: PendingCancellations::default(),
            inbox: Arc::clone(&inbox),
            events: Broadcast::default(),
            is_closed: AtomicBool::new(false),
            runtime: tokio::runtime::Handle::current(),
            settings,
        });
        // The task holds a weak reference, so it does not keep a connection alive that no caller uses.
        tokio::spawn(event::deliver_events(Arc::downgrade(&inner), inbox));
        Self { inner }
    }

    /// Returns what the server said of itself when the session was opened.
    pub fn server(&self) -> ServerInfo {
        self.inner.session().info.clone()
    }

    /// Returns the negotiated protocol version.
    pub fn version(&self) -> Version {
        self.inner.session().info.version
    }

    /// Returns true if requests can be sent: neither [`close`](Self::close) was called nor has the server gone.
    pub fn is_connected(&self) -> bool {
        self.inner.transport.is_connected()
    }

    /// Subscribes to notifications from the server and to reports of problems with its messages, from now on.
    /// A receiver that falls behind loses the oldest events and learns how many.
    pub fn events(&self) -> EventReceiver {
        self.inner.events.subscribe()
    }

    /// Replaces secret values in `text` with `[redacted]`: those that the settings name, and credentials that the
    /// transport recently sent to the server, such as a token. Use it on text from the server before showing
    /// it; [`ServerNotification::hide`] does the same after the connection has ended.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.inner.secret_source().secrets().hide(text).into_owned()
    }

    /// Closes the session, in bounded time. Requests in flight fail. A server process that this connection
    /// started has exited afterwards, with all its children.
    pub async fn close(&self) {
        // First, so that no new request starts while the transport shuts down.
        self.inner.is_closed.store(true, std::sync::atomic::Ordering::Release);
        // The server should learn of cancelled requests before its input is closed.
        self.inner.cancellations.flush().await;
        self.inner.transport.close().await;
    }
}

impl Inner {
    fn session(&self) -> Arc<NegotiatedSession> {
        Arc::clone(&self.session.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("transport", &self.inner.transport)
            .field("server", &self.inner.session().info)
            .finish_non_exhaustive()
    }
}

/// Returns the error for requests after [`Connection::close`].
fn closed() -> Error {
    Error::Transport(TransportError::Closed("the connection was closed on this side".into()))
}
