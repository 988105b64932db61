//! The client's side of a session, whatever carries it.
//!
//! A [`Transport`] moves whole messages: it frames, starts, fetches, listens and tears down. What the
//! messages say is not its business: ids are given by whoever makes a request, and so are method
//! order, deadlines and what becomes of a request that failed.
//!
//! Invariants:
//! - A request has one outcome, an [`Answer`] with its id or a [`TransportError`], and it comes in time:
//!   no transport waits for a peer that is gone.
//! - What arrived before an answer was put among the events before the answer was given out.
//! - Every text that is given out was checked: it is one strict JSON message.

mod answer;
mod error;
mod stream;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hardline_wire::header::Header;
use hardline_wire::id::Id;
use hardline_wire::version::Version;
use tokio::sync::mpsc;

use crate::Secrets;

pub use answer::{Answer, Outcome};
pub use error::{AuthHints, HttpError, TransportError};
pub use stream::Stream;

/// A future that is given out by a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How many events wait for whoever takes them, before the peer is read no further.
pub const MAX_EVENTS: usize = 256;

/// Carries the messages of a client's session.
///
/// Everything takes `&self`, and any number of requests may be under way at once.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends a request and waits for its answer, for ever if need be: deadlines are the caller's.
    ///
    /// Dropping the future gives the request up: its answer is not waited for any more, and where the
    /// stream of the answer is the request's own, it is closed. Telling the server is left to the
    /// caller.
    fn request(&self, request: Request) -> BoxFuture<'_, Result<Answer, TransportError>>;

    /// Sends what wants no answer: a notification, or the answer to a request of the server. Resolves
    /// when it is on its way.
    fn notify(&self, message: Notice) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Tells which version was agreed on, after the answer to the opening request and before anything
    /// else is sent. A transport that can listen for messages of the server begins to; that takes a
    /// second at most.
    fn agree(&self, version: Version) -> BoxFuture<'_, ()>;

    /// Forgets the session that the server has ended, so that a new one can be opened.
    fn forget_session(&self);

    /// Ends the session and all that belongs to it, in bounded time. Requests under way fail.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Whether messages can still be carried. `false` after [`close`](Self::close) and once the peer is
    /// gone.
    fn is_connected(&self) -> bool;

    /// Takes the events: what the server sends that is no answer. There is one stream of them, so
    /// this gives `None` the second time.
    fn take_events(&self) -> Option<Events>;

    /// What the transport is, for rules that differ.
    fn kind(&self) -> Kind;

    /// What it told the peer lately to be let in, which the peer may repeat: not to be shown to anybody.
    fn secrets(&self) -> Secrets {
        Secrets::default()
    }
}

/// What a transport is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// A stream of lines in both directions: cancelling takes a message.
    Stream,
    /// Streamable HTTP: requests may carry headers of their own, and each has a stream of its own.
    Http,
}

/// The text of a message on its way out. Clones are the same text, and none is copied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Text(Arc<String>);

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Text> for Vec<u8> {
    fn from(text: Text) -> Self {
        Arc::unwrap_or_clone(text.0).into_bytes()
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A request on its way out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// Its id, which no other request of the session has had.
    pub id: i64,
    /// Its method.
    pub method: Arc<str>,
    /// The whole message, strict JSON without a line break.
    pub text: Text,
    /// Headers that repeat parts of it, for HTTP.
    pub headers: Vec<Header>,
}

impl Request {
    /// A request without headers.
    pub fn new(id: i64, method: impl Into<Arc<str>>, text: impl Into<Text>) -> Self {
        Self { id, method: method.into(), text: text.into(), headers: Vec::new() }
    }

    /// Adds headers that repeat parts of the message.
    #[must_use]
    pub fn with_headers(mut self, headers: Vec<Header>) -> Self {
        self.headers = headers;
        self
    }
}

/// A message that wants no answer, on its way out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notice {
    /// The whole message, strict JSON without a line break.
    pub text: Text,
    /// The request of the server that it answers, if it is an answer.
    pub answers: Option<Id<'static>>,
    /// Headers that repeat parts of it, for HTTP.
    pub headers: Vec<Header>,
}

impl Notice {
    /// A notification.
    pub fn notification(text: impl Into<Text>) -> Self {
        Self { text: text.into(), answers: None, headers: Vec::new() }
    }

    /// The answer to a request of the server.
    pub fn answer(id: Id<'static>, text: impl Into<Text>) -> Self {
        Self { text: text.into(), answers: Some(id), headers: Vec::new() }
    }
}

/// What the server sends that is no answer, and what becomes of the transport.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A notification: the whole message.
    Notification {
        /// Its method.
        method: Box<str>,
        /// The whole message.
        text: Box<str>,
    },
    /// A request of the server: the whole message. It is to be answered with
    /// [`Transport::notify`].
    Request {
        /// Its id.
        id: Id<'static>,
        /// Its method.
        method: Box<str>,
        /// The whole message.
        text: Box<str>,
    },
    /// Something arrived that is no message, or could not be used. It cost nothing else.
    Error {
        /// What was wrong with it, in words for a person; what the peer wrote is escaped in it.
        reason: String,
        /// The start of it as it came, at most [`MAX_REFUSED_BYTES`].
        raw: Box<[u8]>,
    },
    /// Nothing arrives any more: the last event.
    Closed(TransportError),
}

/// How much of what could not be used goes into an event.
pub const MAX_REFUSED_BYTES: usize = 64 << 10;

/// The stream of a transport's events.
pub type Events = mpsc::Receiver<Event>;
