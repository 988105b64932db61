//! The driver task: it owns the connection, sends the callers' messages, and routes incoming ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::Message;
use tokio::sync::{mpsc, watch};

use super::super::{Answer, BoxFuture, TransportError, TransportEvent};
use super::{AnswerSender, Command, Shared};
use crate::state::rule;
use crate::{Endpoint, Failure, Incoming, SendError, Unfit};

/// Time for the peer to read the remaining output when the session is closed. A process has its own
/// time.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// Waits until there is room for more output.
type Room = BoxFuture<'static, Result<(), SendError>>;

/// The other end of the stream.
pub(super) enum Peer {
    Streams(Box<Endpoint>),
    #[cfg(unix)]
    Child(Box<crate::ChildEndpoint>),
}

impl Peer {
    fn connection(&mut self) -> &mut Endpoint {
        match self {
            Self::Streams(connection) => connection,
            #[cfg(unix)]
            Self::Child(child) => child.connection(),
        }
    }

    /// Returns the reason why the peer ended the session.
    async fn farewell(&mut self) -> String {
        match self.connection().farewell().await {
            Some(reason) => reason.to_owned(),
            None => "the server has closed the connection".to_owned(),
        }
    }

    async fn close(&mut self) {
        match self {
            Self::Streams(connection) => {
                // The session ends even if the peer did not read the last messages.
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
    pub(super) events: mpsc::Sender<TransportEvent>,
    pub(super) waiting: HashMap<i64, AnswerSender>,
    /// An event that waits for room in the event queue.
    pub(super) undelivered: Option<TransportEvent>,
    /// Dropped once the peer is closed.
    pub(super) ending: watch::Sender<()>,
}

/// An incoming message, copied out of the read buffer.
enum Arrival {
    Answer(i64, Answer),
    Event(TransportEvent),
}

impl Driver {
    pub(super) async fn run(mut self, mut peer: Peer) {
        let mut room: Option<Room> = None;
        let (shared, events) = (Arc::clone(&self.shared), self.events.clone());
        let is_told = loop {
            tokio::select! {
                biased;
                // First, because waiting for room may take for ever if the peer does not read.
                () = shared.end.notified() => {
                    if shared.is_dropped.load(Ordering::Acquire) {
                        return;
                    }
                    break true;
                }
                () = shared.is_forgotten.notified() => self.forget(peer.connection()),
                sent = wait(&mut room) => {
                    room = None;
                    // A failed output also ends the input, and that reports the reason.
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
                // No reading while an event waits, so at most one is held outside of the queue.
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

    /// Sends a caller's message. Returns the wait for room, if the output is full.
    fn obey(&mut self, order: Command, connection: &mut Endpoint) -> Option<Room> {
        match order {
            Command::Request(request, reply) => {
                // The caller may have given up before the request was sent.
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
            Command::Notify(message, reply) => {
                let text = message.text.into();
                let sending = match &message.answers {
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

    fn forget(&mut self, connection: &mut Endpoint) {
        let forgotten = self.shared.forgotten.lock();
        let forgotten = std::mem::take(&mut *forgotten.unwrap_or_else(PoisonError::into_inner));
        for id in forgotten {
            if self.waiting.remove(&id).is_some() {
                connection.cancel(&Id::from_integer(id));
            }
        }
    }

    /// Ends the session, either on request of this side or after the peer did.
    async fn finish(mut self, mut peer: Peer, is_told: bool) {
        let reason = if is_told {
            "the connection was closed on this side".to_owned()
        } else {
            peer.farewell().await
        };
        self.shared.close(&reason);
        self.orders.close();
        for (_, reply) in self.waiting.drain() {
            let _ = reply.send(Err(self.shared.error()));
        }
        // Callers with messages still in this channel see it close and get the same error.
        drop(self.orders);
        // Requests fail before the peer is closed, because closing may take seconds.
        peer.close().await;
        drop(self.ending);
        for event in
            self.undelivered.into_iter().chain([TransportEvent::Closed(self.shared.error())])
        {
            if self.events.send(event).await.is_err() {
                break;
            }
        }
    }
}

/// Waits for room in the output. Never returns if there is nothing to wait for.
async fn wait(room: &mut Option<Room>) -> Result<(), SendError> {
    match room {
        Some(room) => room.await,
        None => std::future::pending().await,
    }
}

/// Copies a message out of the read buffer.
fn take(message: &Message<'_>, whole: Value<'_>) -> Result<Arrival, Unfit> {
    Ok(match message {
        Message::Notification(notification) => Arrival::Event(TransportEvent::Notification {
            method: notification.method.as_ref().into(),
            text: whole.text().into(),
        }),
        Message::Request(request) => Arrival::Event(TransportEvent::Request {
            id: request.id.clone().into_owned(),
            method: request.method.as_ref().into(),
            text: whole.text().into(),
        }),
        Message::Response(_) | Message::Error(_) => {
            match message.id().and_then(Id::as_i64).zip(Answer::copy(message, whole)) {
                Some((id, answer)) => Arrival::Answer(id, answer),
                None => return Err(Unfit::params("no request has this id")),
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
    // `TransportError` adds this prefix itself.
    let reason = failure.reason.strip_prefix("the answer cannot be used: ");
    let reason = reason.unwrap_or(&failure.reason).to_owned();
    match failure.rule {
        rule::CLOSED => TransportError::Closed(reason),
        rule::MISTYPED => TransportError::Mistyped(reason),
        _ => TransportError::Answer(reason),
    }
}
