//! Transport over a stream of lines: a process, a socket, a pipe.
//!
//! One task owns the [`Endpoint`] and does all reading and writing. Callers send it their
//! messages and wait for the outcome. A line that is not a message, such as a log line or one that
//! is too long, is lost, and so is the request that it was meant for if that is known.
//!
//! Invariants:
//! - Every request that was passed to the task gets an outcome, even if the task ends.
//! - The task never waits for a caller, and it reads while messages wait to be sent.
//! - Reading stops while the event queue is full, so at most one event is held outside of it.

mod driver;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hardline_wire::version::Version;
use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(unix)]
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::{
    Answer, BoxFuture, MAX_EVENTS, MAX_REFUSED_BYTES, OneWayMessage, OutgoingRequest, Transport,
    TransportError, TransportEvent, TransportEvents, TransportKind,
};
use crate::endpoint::CLOSED;
use crate::event::EndpointEvent;
use crate::{Endpoint, EndpointSettings, Role};
use driver::{Driver, Peer};

/// Capacity of the queue to the task. Callers wait while it is full.
const MAX_COMMANDS: usize = 64;

/// Carries a session over a stream of lines.
pub struct LineTransport {
    commands: mpsc::Sender<Command>,
    shared: Arc<Shared>,
    events: Mutex<Option<TransportEvents>>,
    /// Closed by the task once the peer is closed.
    ended: watch::Receiver<()>,
}

/// State shared by the task and its callers.
#[derive(Debug, Default)]
struct Shared {
    /// Requests that callers gave up and that the task has not removed yet.
    forgotten: Mutex<Vec<i64>>,
    is_forgotten: Notify,
    /// Signals the task to end the session, even if messages wait to be sent.
    end: Notify,
    /// True if the transport was dropped, so no caller waits for the end.
    is_dropped: AtomicBool,
    is_closed: AtomicBool,
    /// Reason of the end.
    reason: Mutex<Option<String>>,
}

type AnswerSender = oneshot::Sender<Result<Answer, TransportError>>;

enum Command {
    Request(OutgoingRequest, AnswerSender),
    Notify(OneWayMessage, oneshot::Sender<Result<(), TransportError>>),
    Agree(Version),
}

impl LineTransport {
    /// Opens a session over a pair of streams, such as the halves of a socket. Must be called
    /// inside a tokio runtime.
    pub fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        settings: EndpointSettings,
    ) -> Self {
        Self::start(settings, |settings| {
            Ok::<_, std::convert::Infallible>(Peer::Streams(Box::new(Endpoint::new(
                Role::Client,
                input,
                output,
                settings,
            ))))
        })
        .unwrap_or_else(|never| match never {})
    }

    /// Starts a server and opens a session with it. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`SpawnError`](crate::process::SpawnError), if the server cannot be started.
    #[cfg(unix)]
    pub fn spawn(
        command: &crate::process::Command,
        settings: EndpointSettings,
    ) -> Result<Self, crate::process::SpawnError> {
        Self::spawn_through(command, settings, |output, input| (output, input))
    }

    /// Like [`spawn`](Self::spawn), with an adapter between the server and the session: see
    /// [`ChildEndpoint::spawn_through`](crate::ChildEndpoint::spawn_through).
    ///
    /// # Errors
    ///
    /// [`SpawnError`](crate::process::SpawnError), if the server cannot be started.
    #[cfg(unix)]
    pub fn spawn_through<R, W>(
        command: &crate::process::Command,
        settings: EndpointSettings,
        through: impl FnOnce(Receiver, Sender) -> (R, W),
    ) -> Result<Self, crate::process::SpawnError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::start(settings, |settings| {
            let child = crate::ChildEndpoint::spawn_through(command, settings, through)?;
            Ok(Peer::Child(Box::new(child)))
        })
    }

    fn start<E>(
        settings: EndpointSettings,
        connect: impl FnOnce(EndpointSettings) -> Result<Peer, E>,
    ) -> Result<Self, E> {
        let (events, receiver) = mpsc::channel(MAX_EVENTS);
        let observer = settings.observer.clone();
        let told = events.clone();
        // Signals belong to the program, not to one of its client connections.
        let settings = settings.without_signals().with_observer(move |event| {
            if let Some(observer) = &observer {
                observer(event);
            }
            if let Some((reason, raw)) = unusable(event) {
                // Reports of noise may be lost: they must not block the connection.
                let _ = told.try_send(TransportEvent::Error { reason, raw });
            }
        });
        let peer = connect(settings)?;
        let (commands, orders) = mpsc::channel(MAX_COMMANDS);
        let shared = Arc::new(Shared::default());
        let (ending, ended) = watch::channel(());
        let driver = Driver {
            orders,
            shared: Arc::clone(&shared),
            events,
            waiting: HashMap::new(),
            undelivered: None,
            ending,
        };
        tokio::spawn(driver.run(peer));
        Ok(Self { commands, shared, events: Mutex::new(Some(receiver)), ended })
    }

    fn closed(&self) -> TransportError {
        self.shared.error()
    }
}

impl Transport for LineTransport {
    fn request(&self, request: OutgoingRequest) -> BoxFuture<'_, Result<Answer, TransportError>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            // Created before the request is sent, so that dropping the future at any point cleans
            // up.
            let mut wait = Wait { id: request.id, is_over: false, shared: &self.shared };
            if self.commands.send(Command::Request(request, reply)).await.is_err() {
                wait.is_over = true;
                return Err(self.closed());
            }
            let outcome = answer.await;
            wait.is_over = true;
            outcome.unwrap_or_else(|_| Err(self.closed()))
        })
    }

    fn notify(&self, message: OneWayMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let (reply, sent) = oneshot::channel();
            if self.commands.send(Command::Notify(message, reply)).await.is_err() {
                return Err(self.closed());
            }
            sent.await.unwrap_or_else(|_| Err(self.closed()))
        })
    }

    fn agree(&self, version: Version) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // If the task has ended, the next request reports it.
            let _ = self.commands.send(Command::Agree(version)).await;
        })
    }

    fn forget_session(&self) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.shared.end.notify_one();
            let mut ended = self.ended.clone();
            // The channel never changes; it only closes when the task has ended.
            while ended.changed().await.is_ok() {}
        })
    }

    fn is_connected(&self) -> bool {
        !self.shared.is_closed.load(Ordering::Acquire)
    }

    fn take_events(&self) -> Option<TransportEvents> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn kind(&self) -> TransportKind {
        TransportKind::Lines
    }
}

impl Drop for LineTransport {
    fn drop(&mut self) {
        // Stored first, because the task reads it when the notification arrives.
        self.shared.is_dropped.store(true, Ordering::Release);
        self.shared.end.notify_one();
    }
}

/// On drop, tells the task to forget a request that its caller gave up.
struct Wait<'a> {
    id: i64,
    is_over: bool,
    shared: &'a Shared,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let forgotten = self.shared.forgotten.lock();
            forgotten.unwrap_or_else(PoisonError::into_inner).push(self.id);
            self.shared.is_forgotten.notify_one();
        }
    }
}

impl Shared {
    fn error(&self) -> TransportError {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        TransportError::Closed(reason.clone().unwrap_or_else(|| CLOSED.to_owned()))
    }

    fn close(&self, why: &str) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        // The first reason is the cause; later ones are consequences.
        reason.get_or_insert_with(|| why.to_owned());
        self.is_closed.store(true, Ordering::Release);
    }
}

/// Returns the description and the bytes of unusable input, if the event is about that.
fn unusable(event: &EndpointEvent<'_>) -> Option<(String, Box<[u8]>)> {
    let raw = match event {
        EndpointEvent::Malformed { excerpt, .. }
        | EndpointEvent::TooLarge { excerpt, .. }
        | EndpointEvent::Mistyped { excerpt, .. } => {
            let bytes = excerpt.bytes();
            bytes.get(..MAX_REFUSED_BYTES).unwrap_or(bytes).into()
        }
        EndpointEvent::Refused { .. } | EndpointEvent::Dropped { .. } => Box::default(),
        _ => return None,
    };
    Some((event.to_string(), raw))
}

impl fmt::Debug for LineTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LineTransport")
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}
