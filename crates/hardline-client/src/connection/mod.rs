//! A session with one server: message shape, ids, method order, deadlines.
//!
//! Framing, streams, processes and teardown are the [`Transport`]'s.
//!
//! Invariants:
//! - Every request ends: with an answer, an error, or its deadline.
//! - A request that the caller or its deadline gave up is cancelled at the server, once; its answer, should
//!   it come, reaches nobody.
//! - A request is sent again only if it is certain that the server has not taken it.
//! - What the server sent before an answer was seen by whoever listens before the caller gets the answer.
//! - No error, and nothing that is told of trouble, holds a value that the settings say is secret.
//! - Nothing waits for whoever listens: what is not taken in time is dropped, and counted by the listener.

mod call;
mod cancel;
mod event;
mod lenient;
mod message;
mod opening;
mod renewal;
mod round;
mod session;
mod tools;
mod typed;

#[cfg(unix)]
mod spawn;
mod url;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hardline_transport::client::{Transport, TransportError};
use hardline_wire::version::Version;
use rmcp::model::{Implementation, ServerCapabilities};
use tokio::sync::Semaphore;

use crate::board::{Board, EventReceiver};
use crate::guard::Guarded;
use crate::{Error, Settings};
use cancel::Cancelling;
use event::{Inbox, Pulse};
use renewal::Renewal;
use session::{Memory, Session};
use tools::ToolHeaders;

pub use call::{Options, RawResult};
pub use event::{Notification, ServerEvent};
pub use typed::Progress;

/// A session with one server. Clones are the same session; it ends when the last is dropped.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

/// What is known of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The version that is spoken.
    pub version: Version,
    /// What the server says it can do.
    pub capabilities: ServerCapabilities,
    /// What it says it is, if it does.
    pub implementation: Option<Implementation>,
    /// How to use it, if it says so. Unescaped.
    pub instructions: Option<String>,
}

struct Inner {
    transport: Arc<dyn Transport>,
    settings: Settings,
    next_id: AtomicI64,
    session: RwLock<Arc<Session>>,
    renewal: Renewal,
    memory: Mutex<Memory>,
    tools: ToolHeaders,
    turns: Semaphore,
    pulse: Pulse,
    cancelling: Cancelling,
    inbox: Arc<Inbox>,
    events: Board<ServerEvent>,
    is_closed: AtomicBool,
    runtime: tokio::runtime::Handle,
}

impl Connection {
    /// Opens a session over a transport: finds out which version the server speaks, and greets it as
    /// that version wants.
    ///
    /// # Errors
    ///
    /// [`Error`], if the server cannot be reached, does not answer in time, or speaks no version that
    /// the settings allow. The transport is closed then.
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime with time enabled.
    pub async fn open(transport: Arc<dyn Transport>, settings: Settings) -> Result<Self, Error> {
        Self::open_as(transport, settings, None).await
    }

    /// `name` is what the era of the server is remembered by.
    async fn open_as(
        transport: Arc<dyn Transport>,
        settings: Settings,
        name: Option<&str>,
    ) -> Result<Self, Error> {
        let connection = Self::start(transport, settings);
        let limit = connection.inner.settings.open_timeout;
        let opening = tokio::time::timeout(limit, Box::pin(connection.inner.open(name)));
        let opened = tokio::select! {
            opened = opening => opened.unwrap_or_else(|_| {
                Err(Error::Timeout { method: "the opening of the session".into(), after: limit })
            }),
            () = connection.inner.settings.closed() => Err(closed()),
        };
        if let Err(error) = opened {
            connection.close().await;
            return Err(error.hidden(&connection.inner.hidden().secrets()));
        }
        Ok(connection)
    }

    /// A session that needs no opening.
    pub(crate) fn assume(
        transport: Arc<dyn Transport>,
        settings: Settings,
        version: Version,
    ) -> Self {
        let connection = Self::start(transport, settings);
        {
            let inner = &connection.inner;
            let mut session = inner.session.write().unwrap_or_else(PoisonError::into_inner);
            let info = ServerInfo { version, ..session.info.clone() };
            *session = Arc::new(Session::new(1, info, &inner.settings));
        }
        connection
    }

    fn start(mut transport: Arc<dyn Transport>, settings: Settings) -> Self {
        if let Some(guard) = &settings.guard {
            transport = Arc::new(Guarded::new(transport, guard));
        }
        let inbox = Arc::new(Inbox::new(transport.take_events()));
        let inner = Arc::new(Inner {
            transport,
            next_id: AtomicI64::new(1),
            session: RwLock::new(Arc::new(Session::unopened())),
            renewal: Renewal::default(),
            memory: Mutex::default(),
            tools: ToolHeaders::default(),
            turns: Semaphore::new(settings.max_in_flight),
            pulse: Pulse::default(),
            cancelling: Cancelling::default(),
            inbox: Arc::clone(&inbox),
            events: Board::default(),
            is_closed: AtomicBool::new(false),
            runtime: tokio::runtime::Handle::current(),
            settings,
        });
        tokio::spawn(event::deliver(Arc::downgrade(&inner), inbox));
        Self { inner }
    }

    /// What is known of the server.
    pub fn server(&self) -> ServerInfo {
        self.inner.session().info.clone()
    }

    /// The version that is spoken.
    pub fn version(&self) -> Version {
        self.inner.session().info.version
    }

    /// Whether requests can be sent. `false` after [`close`](Self::close) and once the server is gone.
    pub fn is_connected(&self) -> bool {
        self.inner.transport.is_connected()
    }

    /// What the server sends of its own accord, from now on: notifications, and trouble with what it
    /// sends. A listener that is slow loses the oldest, and is told how many.
    pub fn events(&self) -> EventReceiver {
        self.inner.events.listen()
    }

    /// The text with `[hidden]` in place of what is secret here: what the settings name, and what the
    /// transport told the server lately to be let in, such as a token. For whatever the server wrote and
    /// somebody is to see; [`Notification::hide`] does the same for what may be seen later.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.inner.hidden().secrets().hide(text).into_owned()
    }

    /// Ends the session, in bounded time. Requests under way fail; a process that was started is gone
    /// afterwards, with all that it started.
    pub async fn close(&self) {
        self.inner.is_closed.store(true, std::sync::atomic::Ordering::Release);
        self.inner.cancelling.settle().await;
        self.inner.transport.close().await;
    }
}

impl Inner {
    fn session(&self) -> Arc<Session> {
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

/// What requests are told after [`Connection::close`].
fn closed() -> Error {
    Error::Transport(TransportError::Closed("the connection was closed on this side".into()))
}
