//! Why a message was not carried, or not answered.

use std::fmt;
use std::time::Duration;

use crate::Secrets;

/// Why a request got no answer, or a message did not leave.
///
/// Its text is fit for a log and a terminal: what a peer wrote is in it escaped and shortened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The connection is closed, by us or by the peer: with the exit status and the last lines of
    /// standard error if the peer was a process.
    #[error("{0}")]
    Closed(String),
    /// The server does not know the session any more, and has not taken the request.
    #[error("the server has ended the session")]
    SessionEnded,
    /// The server answered with an HTTP status that is an error, or with something that is no answer.
    #[error("{0}")]
    Http(Box<HttpError>),
    /// The server lets in only who has logged in, and nobody has, or the login was refused. It stays so
    /// until somebody does something about it; the text says what.
    #[error("{0}")]
    Login(String),
    /// The server could not be reached, so the request was not taken.
    #[error("{0}")]
    Unreachable(String),
    /// The request was sent, but its answer did not come: the stream ended, or broke.
    #[error("{0}")]
    Interrupted(String),
    /// What came cannot be used as the answer.
    #[error("the answer cannot be used: {0}")]
    Answer(String),
    /// What came has an id of another type than the request's, so it is no answer, and nothing better
    /// followed. The server may still be at work on the request.
    #[error("the answer cannot be used: {0}")]
    Mistyped(String),
    /// More requests are under way than the limit allows.
    #[error("too many requests are under way")]
    TooMany,
    /// The message is larger than the limit.
    #[error("the message is longer than {limit} bytes")]
    TooLarge {
        /// The limit in force.
        limit: usize,
    },
}

impl TransportError {
    /// Whether it is certain that the server has not taken the request, so that it can be sent again.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::SessionEnded
            | Self::Login(_)
            | Self::Unreachable(_)
            | Self::TooMany
            | Self::TooLarge { .. } => true,
            Self::Http(error) => matches!(error.status, 401 | 403 | 404 | 405 | 406 | 415 | 429),
            Self::Closed(_) | Self::Interrupted(_) | Self::Answer(_) | Self::Mistyped(_) => false,
        }
    }
}

impl TransportError {
    /// The same without these values in its text.
    #[must_use]
    pub fn hidden(mut self, secrets: &Secrets) -> Self {
        match &mut self {
            Self::Closed(text)
            | Self::Login(text)
            | Self::Unreachable(text)
            | Self::Interrupted(text)
            | Self::Answer(text)
            | Self::Mistyped(text) => secrets.hide_in(text),
            Self::Http(error) => {
                secrets.hide_in(&mut error.reason);
                secrets.hide_in(&mut error.excerpt);
                if let Some(message) = &mut error.message {
                    *message = secrets.hide(message).into();
                }
            }
            Self::SessionEnded | Self::TooMany | Self::TooLarge { .. } => {}
        }
        self
    }
}

/// An HTTP answer that is no answer to the request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpError {
    /// The status.
    pub status: u16,
    /// What is wrong and what to do about it, in words for a person.
    pub reason: String,
    /// How the body starts, escaped and shortened; empty if there was none.
    pub excerpt: String,
    /// The body as it came, if it is one strict JSON message: what a version says about an error is
    /// in there.
    pub message: Option<Box<str>>,
    /// Where to log in, if the server said so.
    pub auth: AuthHints,
    /// When to try again, if the server said so.
    pub retry_after: Option<Duration>,
}

/// What a server says about how to be let in. As it came, but bounded: not fit for a terminal.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct AuthHints {
    /// The header `WWW-Authenticate`; several are one after another, with commas between them.
    pub www_authenticate: Option<String>,
    /// The header `Mcp-Auth-Server`.
    pub auth_server: Option<String>,
    /// The header `DPoP-Nonce`.
    pub dpop_nonce: Option<String>,
}

impl HttpError {
    /// An error with a status and words for a person.
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: reason.into(),
            excerpt: String::new(),
            message: None,
            auth: AuthHints::default(),
            retry_after: None,
        }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the server answered with HTTP status {}: {}", self.status, self.reason)?;
        if !self.excerpt.is_empty() {
            write!(formatter, " (it said: {})", self.excerpt)?;
        }
        Ok(())
    }
}
