//! A session over a stream of lines: a process, a socket, a pipe.
//!
//! One task has the [`Connection`] and does all reading and writing; callers hand it what is to be
//! sent and wait for what comes. A line that is no message, a log line or one that is too long costs
//! that line, and the request that it was meant for if that can be told.
//!
//! Invariants:
//! - Every request that was handed over gets an outcome, also when the task ends.
//! - The task never waits for whoever sends, nor for one message to leave before others are read.
//! - Reading stops while nobody takes the events, so that no more of them than the channel holds and
//!   one are kept.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::Message;
use hardline_wire::version::Version;
use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(unix)]
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{Notify, mpsc, oneshot};

use super::{
    Answer, BoxFuture, Event, Events, Kind, MAX_EVENTS, MAX_REFUSED_BYTES, Notice, Request,
    Transport, TransportError,
};
use crate::connection::CLOSED;
use crate::endpoint::rule;
use crate::{Config, Connection, Failure, Incoming, Role, SendError, Unfit};

/// Messages on their way to the task. More wait with their senders.
const MAX_COMMANDS: usize = 64;

/// Carries a session over a stream of lines.
pub struct Stream {
    commands: mpsc::Sender<Command>,
    shared: Arc<Shared>,
    events: Mutex<Option<Events>>,
}

/// What the task and its callers both see.
#[derive(Debug, Default)]
struct Shared {
    /// Requests that nobody waits for any more, and that the task has not forgotten yet.
    forgotten: Mutex<Vec<i64>>,
    is_forgotten: Notify,
    is_closed: AtomicBool,
    /// Why it is closed.
    reason: Mutex<Option<String>>,
}

/// Waits until more may be sent.
type Room = BoxFuture<'static, Result<(), SendError>>;

type Reply = oneshot::Sender<Result<Answer, TransportError>>;

enum Command {
    Request(Request, Reply),
    Notice(Notice, oneshot::Sender<Result<(), TransportError>>),
    Agree(Version),
    Close(oneshot::Sender<()>),
}

impl Stream {
    /// A session over a pair of streams, such as the halves of a socket. Must be called inside a
    /// runtime.
    pub fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        config: Config,
    ) -> Self {
        Self::start(config, |config| {
            Ok::<_, std::convert::Infallible>(Peer::Stream(Box::new(Connection::new(
                Role::Client,
                input,
                output,
                config,
            ))))
        })
        .unwrap_or_else(|never| match never {})
    }

    /// Starts a server for the session. Must be called inside a runtime.
    ///
    /// # Errors
    ///
    /// [`SpawnError`](crate::process::SpawnError), if it cannot be started.
    #[cfg(unix)]
    pub fn spawn(
        command: &crate::process::Command,
        config: Config,
    ) -> Result<Self, crate::process::SpawnError> {
        Self::spawn_through(command, config, |output, input| (output, input))
    }

    /// The same, with something between the server and the session: see
    /// [`ChildConnection::spawn_through`](crate::ChildConnection::spawn_through).
    ///
    /// # Errors
    ///
    /// [`SpawnError`](crate::process::SpawnError), if it cannot be started.
    #[cfg(unix)]
    pub fn spawn_through<R, W>(
        command: &crate::process::Command,
        config: Config,
        through: impl FnOnce(Receiver, Sender) -> (R, W),
    ) -> Result<Self, crate::process::SpawnError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::start(config, |config| {
            let child = crate::ChildConnection::spawn_through(command, config, through)?;
            Ok(Peer::Child(Box::new(child)))
        })
    }

    fn start<E>(
        config: Config,
        connect: impl FnOnce(Config) -> Result<Peer, E>,
    ) -> Result<Self, E> {
        let (events, receiver) = mpsc::channel(MAX_EVENTS);
        let observer = config.observer.clone();
        let told = events.clone();
        let config = config.without_signals().with_observer(move |event| {
            if let Some(observer) = &observer {
                observer(event);
            }
            if let Some((reason, raw)) = unusable(event) {
                // What was only noise is not worth holding anybody up.
                let _ = told.try_send(Event::Error { reason, raw });
            }
        });
        let peer = connect(config)?;
        let (commands, orders) = mpsc::channel(MAX_COMMANDS);
        let shared = Arc::new(Shared::default());
        let driver = Driver {
            orders,
            shared: Arc::clone(&shared),
            events,
            waiting: HashMap::new(),
            undelivered: None,
        };
        tokio::spawn(driver.run(peer));
        Ok(Self { commands, shared, events: Mutex::new(Some(receiver)) })
    }

    fn closed(&self) -> TransportError {
        self.shared.error()
    }
}

impl Transport for Stream {
    fn request(&self, request: Request) -> BoxFuture<'_, Result<Answer, TransportError>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
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

    fn notify(&self, message: Notice) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let (reply, sent) = oneshot::channel();
            if self.commands.send(Command::Notice(message, reply)).await.is_err() {
                return Err(self.closed());
            }
            sent.await.unwrap_or_else(|_| Err(self.closed()))
        })
    }

    fn agree(&self, version: Version) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _ = self.commands.send(Command::Agree(version)).await;
        })
    }

    fn forget_session(&self) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (reply, done) = oneshot::channel();
            if self.commands.send(Command::Close(reply)).await.is_ok() {
                let _ = done.await;
            }
        })
    }

    fn is_connected(&self) -> bool {
        !self.shared.is_closed.load(Ordering::Acquire)
    }

    fn take_events(&self) -> Option<Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn kind(&self) -> Kind {
        Kind::Stream
    }
}

/// Makes the task forget a request that is not waited for any more.
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
        reason.get_or_insert_with(|| why.to_owned());
        self.is_closed.store(true, Ordering::Release);
    }
}

/// Who is at the other end.
enum Peer {
    Stream(Box<Connection>),
    #[cfg(unix)]
    Child(Box<crate::ChildConnection>),
}

impl Peer {
    fn connection(&mut self) -> &mut Connection {
        match self {
            Self::Stream(connection) => connection,
            #[cfg(unix)]
            Self::Child(child) => child.connection(),
        }
    }

    /// Why it has ended.
    async fn farewell(&mut self) -> String {
        match self.connection().farewell().await {
            Some(reason) => reason.to_owned(),
            None => "the server has closed the connection".to_owned(),
        }
    }

    async fn close(&mut self) {
        match self {
            Self::Stream(connection) => {
                // Whether the last of it is read or not, this is the end.
                let _: Result<(), SendError> = connection.close().await;
            }
            #[cfg(unix)]
            Self::Child(child) => {
                child.close().await;
            }
        }
    }
}

/// The task that reads and writes.
struct Driver {
    orders: mpsc::Receiver<Command>,
    shared: Arc<Shared>,
    events: mpsc::Sender<Event>,
    waiting: HashMap<i64, Reply>,
    /// An event that finds no room.
    undelivered: Option<Event>,
}

/// A message that arrived, taken out of the buffer that it was read into.
enum Arrival {
    Answer(i64, Answer),
    Event(Event),
}

impl Driver {
    async fn run(mut self, mut peer: Peer) {
        let mut room: Option<Room> = None;
        let (shared, events) = (Arc::clone(&self.shared), self.events.clone());
        let close = loop {
            tokio::select! {
                biased;
                () = shared.is_forgotten.notified() => self.forget(peer.connection()),
                sent = wait(&mut room) => {
                    room = None;
                    // What cannot be written ends the reading too, which tells why.
                    let _: Result<(), SendError> = sent;
                }
                permit = events.reserve(), if self.undelivered.is_some() => {
                    if let (Ok(permit), Some(event)) = (permit, self.undelivered.take()) {
                        permit.send(event);
                    }
                }
                order = self.orders.recv(), if room.is_none() => match order {
                    None => return,
                    Some(Command::Close(reply)) => break Some(reply),
                    Some(order) => room = self.obey(order, peer.connection()),
                },
                incoming = peer.connection().receive_with(take), if self.undelivered.is_none() => {
                    match incoming {
                        None => break None,
                        Some(incoming) => self.handle(incoming),
                    }
                }
            }
        };
        self.finish(peer, close).await;
    }

    /// Sends what was handed over. Returns what to wait for before more is taken.
    fn obey(&mut self, order: Command, connection: &mut Connection) -> Option<Room> {
        match order {
            Command::Request(request, reply) => {
                // Whoever gave up before it was sent need not be served.
                if reply.is_closed() {
                    return None;
                }
                let text = request.text.as_bytes().to_vec();
                let id = Id::from_integer(request.id);
                let sending = connection.send_request(id, &request.method, text);
                if let Some(error) = sending.error() {
                    let _ = reply.send(Err(unsent(error)));
                    return None;
                }
                self.waiting.insert(request.id, reply);
                sending.is_waiting().then(|| -> Room { Box::pin(sending.room()) })
            }
            Command::Notice(notice, reply) => {
                let text = notice.text.as_bytes().to_vec();
                let sending = match &notice.answers {
                    Some(id) => connection.send_answer(id, text),
                    None => connection.send_notification(text),
                };
                let _ = reply.send(sending.error().map_or(Ok(()), |error| Err(unsent(error))));
                sending.is_waiting().then(|| -> Room { Box::pin(sending.room()) })
            }
            Command::Agree(version) => {
                connection.set_version(version);
                None
            }
            Command::Close(_) => None,
        }
    }

    fn handle(&mut self, incoming: Incoming<Arrival>) {
        match incoming {
            Incoming::Message(Arrival::Answer(id, answer)) => {
                if let Some(reply) = self.waiting.remove(&id) {
                    let _ = reply.send(Ok(answer));
                }
            }
            Incoming::Message(Arrival::Event(event)) => {
                if let Err(mpsc::error::TrySendError::Full(event)) = self.events.try_send(event) {
                    self.undelivered = Some(event);
                }
            }
            Incoming::Failed(failure) => {
                let reply = failure.id.as_i64().and_then(|id| self.waiting.remove(&id));
                if let Some(reply) = reply {
                    let _ = reply.send(Err(lost(failure)));
                }
            }
            Incoming::Abandoned(_) => {}
        }
    }

    fn forget(&mut self, connection: &mut Connection) {
        let forgotten = self.shared.forgotten.lock();
        let forgotten = std::mem::take(&mut *forgotten.unwrap_or_else(PoisonError::into_inner));
        for id in forgotten {
            if self.waiting.remove(&id).is_some() {
                connection.cancel(&Id::from_integer(id));
            }
        }
    }

    /// Ends the session: because we are told to, or because the peer did.
    async fn finish(mut self, mut peer: Peer, close: Option<oneshot::Sender<()>>) {
        let reason = match &close {
            Some(_) => "the connection was closed on this side".to_owned(),
            None => peer.farewell().await,
        };
        self.shared.close(&reason);
        self.orders.close();
        for (_, reply) in self.waiting.drain() {
            let _ = reply.send(Err(self.shared.error()));
        }
        // Whoever handed something over meanwhile is told by the end of its channel.
        drop(self.orders);
        peer.close().await;
        if let Some(close) = close {
            let _ = close.send(());
        }
        for event in self.undelivered.into_iter().chain([Event::Closed(self.shared.error())]) {
            if self.events.send(event).await.is_err() {
                break;
            }
        }
    }
}

/// Waits for room, for ever if nobody does.
async fn wait(room: &mut Option<Room>) -> Result<(), SendError> {
    match room {
        Some(room) => room.await,
        None => std::future::pending().await,
    }
}

/// Takes a message out of the buffer that it was read into.
fn take(message: &Message<'_>, whole: Value<'_>) -> Result<Arrival, Unfit> {
    Ok(match message {
        Message::Notification(notification) => Arrival::Event(Event::Notification {
            method: notification.method.as_ref().into(),
            text: whole.text().into(),
        }),
        Message::Request(request) => Arrival::Event(Event::Request {
            id: request.id.clone().into_owned(),
            method: request.method.as_ref().into(),
            text: whole.text().into(),
        }),
        Message::Response(_) | Message::Error(_) => {
            let id = message.id().and_then(|id| id.as_i64().or_else(|| id.as_str()?.parse().ok()));
            match id.zip(Answer::copy(message, whole)) {
                Some((id, answer)) => Arrival::Answer(id, answer),
                None => return Err(Unfit::params("it has an id that was not given out")),
            }
        }
    })
}

fn unsent(error: &SendError) -> TransportError {
    match error {
        SendError::TooManyInFlight => TransportError::TooMany,
        error => TransportError::Closed(error.to_string()),
    }
}

fn lost(failure: Failure) -> TransportError {
    if failure.rule == rule::CLOSED {
        TransportError::Closed(failure.reason)
    } else {
        TransportError::Answer(failure.reason)
    }
}

/// What arrived and could not be used, if that is what the event is about.
fn unusable(event: &crate::event::Event<'_>) -> Option<(String, Box<[u8]>)> {
    use crate::event::Event as Observed;
    let raw = match event {
        Observed::Malformed { excerpt, .. } | Observed::TooLarge { excerpt, .. } => {
            let bytes = excerpt.bytes();
            bytes.get(..MAX_REFUSED_BYTES).unwrap_or(bytes).into()
        }
        Observed::Refused { .. } | Observed::Dropped { .. } => Box::default(),
        _ => return None,
    };
    Some((event.to_string(), raw))
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stream").field("shared", &self.shared).finish_non_exhaustive()
    }
}
