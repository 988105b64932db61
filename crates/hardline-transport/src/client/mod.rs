//! Client transports: the client side of a session, independent of the medium.
//!
//! A [`Transport`] moves whole messages: it does the framing, starts processes, sends HTTP
//! requests, listens and tears down. It does not interpret the messages. The caller chooses ids,
//! method order and deadlines, and decides what to do after a failure.
//!
//! Invariants:
//! - A request has one outcome, an [`Answer`] with its id or a [`TransportError`], and no transport
//!   waits for a peer that is gone.
//! - Messages that arrived before an answer are in the event queue before the answer is returned.
//! - Every text that a transport returns was checked: it is one strict JSON message.

mod answer;
mod duplex;
mod error;
mod lines;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use hardline_wire::header::Header;
pub use hardline_wire::id::Id;
pub use hardline_wire::version::Version;
use tokio::sync::mpsc;

pub use crate::Secrets;
pub use answer::{Answer, AnswerOutcome};
pub use duplex::MessageDuplex;
pub use error::{AuthHints, HttpError, TransportError};
pub use lines::LineTransport;

/// A boxed future, as trait objects return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Capacity of the event queue. While it is full, the transport does not read from the peer.
pub const MAX_EVENTS: usize = 256;

/// Carries the messages of a client session.
///
/// All methods take `&self`, and any number of requests may be in flight at once.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends a request and waits for its answer without a time limit: deadlines are left to the
    /// caller.
    ///
    /// Dropping the future gives up the request: its answer will be ignored, and if the answer has
    /// its own stream, that stream is closed. Telling the server is left to the caller.
    fn request(&self, request: OutgoingRequest) -> BoxFuture<'_, Result<Answer, TransportError>>;

    /// Sends a message that needs no answer: a notification, or the answer to a request of the
    /// server. Resolves when the message is on its way.
    fn notify(&self, message: OneWayMessage) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Sets the negotiated version. Call it after the answer to the opening request and before
    /// sending anything else. A transport that can listen for messages of the server starts to;
    /// that takes at most one second.
    fn agree(&self, version: Version) -> BoxFuture<'_, ()>;

    /// Forgets a session that the server has ended, so that a new one can be opened.
    fn forget_session(&self);

    /// Ends the session and frees its resources, in bounded time. Requests in flight fail.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Returns true if messages can still be sent: false after [`close`](Self::close) and once the
    /// peer is gone.
    fn is_connected(&self) -> bool;

    /// Takes the event queue: messages of the server that are not answers. There is only one, so a
    /// second call returns `None`.
    fn take_events(&self) -> Option<TransportEvents>;

    /// Returns the kind of transport, for rules that depend on it.
    fn kind(&self) -> TransportKind;

    /// Returns the credentials that were recently sent to the peer. The peer may repeat them, so
    /// they must be hidden in every output.
    fn secrets(&self) -> Secrets {
        Secrets::default()
    }
}

/// Kind of a transport.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TransportKind {
    /// A stream of lines in both directions. Cancelling a request takes a message.
    Lines,
    /// Streamable HTTP. Each request may carry its own headers and has its own response stream.
    Http,
}

/// Text of an outgoing message. Clones share the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MessageText(Arc<String>);

impl From<String> for MessageText {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl From<&str> for MessageText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<MessageText> for Vec<u8> {
    fn from(text: MessageText) -> Self {
        // Usually the last reference, so that no copy is made.
        Arc::unwrap_or_clone(text.0).into_bytes()
    }
}

impl AsRef<[u8]> for MessageText {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::ops::Deref for MessageText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// An outgoing request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OutgoingRequest {
    /// Id of the request, unique in the session.
    pub id: i64,
    /// Method of the request.
    pub method: Arc<str>,
    /// The whole message: strict JSON without a line break.
    pub text: MessageText,
    /// HTTP headers that repeat parts of the message.
    pub headers: Vec<Header>,
}

impl OutgoingRequest {
    /// Creates a request without headers.
    pub fn new(id: i64, method: impl Into<Arc<str>>, text: impl Into<MessageText>) -> Self {
        Self { id, method: method.into(), text: text.into(), headers: Vec::new() }
    }

    /// Sets the headers that repeat parts of the message.
    #[must_use]
    pub fn with_headers(mut self, headers: Vec<Header>) -> Self {
        self.headers = headers;
        self
    }
}

/// An outgoing message that needs no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OneWayMessage {
    /// The whole message: strict JSON without a line break.
    pub text: MessageText,
    /// Id of the server's request, if this message answers one.
    pub answers: Option<Id<'static>>,
    /// HTTP headers that repeat parts of the message.
    pub headers: Vec<Header>,
}

impl OneWayMessage {
    /// Creates a notification.
    pub fn notification(text: impl Into<MessageText>) -> Self {
        Self { text: text.into(), answers: None, headers: Vec::new() }
    }

    /// Creates the answer to a request of the server.
    pub fn answer(id: Id<'static>, text: impl Into<MessageText>) -> Self {
        Self { text: text.into(), answers: Some(id), headers: Vec::new() }
    }
}

/// A message of the server that is not an answer, or a change of the transport.
#[derive(Debug)]
#[non_exhaustive]
pub enum TransportEvent {
    /// A notification.
    Notification {
        /// Method of the notification.
        method: Box<str>,
        /// The whole message.
        text: Box<str>,
    },
    /// A request of the server. Answer it with [`Transport::notify`].
    Request {
        /// Id of the request.
        id: Id<'static>,
        /// Method of the request.
        method: Box<str>,
        /// The whole message.
        text: Box<str>,
    },
    /// Input that is not a message or could not be used. It has no other effect.
    Error {
        /// Description of the problem for people. Bytes from the peer are escaped.
        reason: String,
        /// The first bytes of the input, unescaped, at most [`MAX_REFUSED_BYTES`].
        raw: Box<[u8]>,
    },
    /// The last event: no more messages will arrive.
    Closed(TransportError),
}

/// Limit on the bytes of unusable input in an event.
pub const MAX_REFUSED_BYTES: usize = 64 << 10;

/// The event queue of a transport.
pub type TransportEvents = mpsc::Receiver<TransportEvent>;
