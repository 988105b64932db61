//! The task that has the connection: what is handed to it goes out, what comes in goes to whoever waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::Message;
use tokio::sync::{mpsc, watch};

use super::super::{Answer, BoxFuture, Event, TransportError};
use super::{Command, Reply, Shared};
use crate::endpoint::rule;
use crate::{Connection, Failure, Incoming, SendError, Unfit};

/// How long what was sent may take to be read when the session is closed. A process has a time of its own.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// Waits until more may be sent.
type Room = BoxFuture<'static, Result<(), SendError>>;

/// Who is at the other end.
pub(super) enum Peer {
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
                let _: Result<(), SendError> = connection.close_within(CLOSE_TIME).await;
            }
            #[cfg(unix)]
            Self::Child(child) => {
                child.close().await;
            }
        }
    }
}

/// The task that reads and writes.
pub(super) struct Driver {
    pub(super) orders: mpsc::Receiver<Command>,
    pub(super) shared: Arc<Shared>,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) waiting: HashMap<i64, Reply>,
    /// An event that finds no room.
    pub(super) undelivered: Option<Event>,
    /// Dropped when it is done with the peer.
    pub(super) ending: watch::Sender<()>,
}

/// A message that arrived, taken out of the buffer that it was read into.
enum Arrival {
    Answer(i64, Answer),
    Event(Event),
}

impl Driver {
    pub(super) async fn run(mut self, mut peer: Peer) {
        let mut room: Option<Room> = None;
        let (shared, events) = (Arc::clone(&self.shared), self.events.clone());
        let is_told = loop {
            tokio::select! {
                biased;
                // Whether the peer reads or not: what is to be sent may wait for ever.
                () = shared.end.notified() => match shared.is_dropped.load(Ordering::Acquire) {
                    true => return,
                    false => break true,
                },
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
                    Some(order) => room = self.obey(order, peer.connection()),
                },
                incoming = peer.connection().receive_with(take), if self.undelivered.is_none() => {
                    match incoming {
                        None => break false,
                        Some(incoming) => self.handle(incoming),
                    }
                }
            }
        };
        self.finish(peer, is_told).await;
    }

    /// Sends what was handed over. Returns what to wait for before more is taken.
    fn obey(&mut self, order: Command, connection: &mut Connection) -> Option<Room> {
        match order {
            Command::Request(request, reply) => {
                // Whoever gave up before it was sent need not be served.
                if reply.is_closed() {
                    return None;
                }
                let text = request.text.into();
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
                let text = notice.text.into();
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
                    let _ = reply.send(Err(lost(&failure)));
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
    async fn finish(mut self, mut peer: Peer, is_told: bool) {
        let reason = match is_told {
            true => "the connection was closed on this side".to_owned(),
            false => peer.farewell().await,
        };
        self.shared.close(&reason);
        self.orders.close();
        for (_, reply) in self.waiting.drain() {
            let _ = reply.send(Err(self.shared.error()));
        }
        // Whoever handed something over meanwhile is told by the end of its channel.
        drop(self.orders);
        peer.close().await;
        drop(self.ending);
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
            match message.id().and_then(Id::as_i64).zip(Answer::copy(message, whole)) {
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

fn lost(failure: &Failure) -> TransportError {
    // The error says by itself what it is about.
    let reason = failure.reason.strip_prefix("the answer cannot be used: ");
    let reason = reason.unwrap_or(&failure.reason).to_owned();
    match failure.rule {
        rule::CLOSED => TransportError::Closed(reason),
        rule::MISTYPED => TransportError::Mistyped(reason),
        _ => TransportError::Answer(reason),
    }
}
