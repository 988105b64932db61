//! Errors of client transports.

use std::fmt;
use std::time::Duration;

use crate::Secrets;

/// Error returned when a request got no answer or a message was not sent.
///
/// Its text is safe for a log and a terminal: bytes from a peer are escaped and shortened. The text
/// includes the causes, and there is no `source()`: a source would be printed a second time, and
/// secrets in it could not be [hidden](Self::hidden).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// This side or the peer closed the connection. If the peer was a process, the text has its
    /// exit status and the last lines of its standard error.
    #[error("{0}")]
    Closed(String),
    /// The server no longer knows the session and did not process the request.
    #[error("the server has ended the session")]
    SessionEnded,
    /// The server answered with an HTTP error status, or with a body that is not an answer.
    #[error("{0}")]
    Http(Box<HttpError>),
    /// The server requires a login, and there is none or it was refused. Retrying is useless until
    /// a person acts; the text says how.
    #[error("{0}")]
    Login(String),
    /// The server could not be reached, so it did not receive the request.
    #[error("{0}")]
    Unreachable(String),
    /// The request was sent, but the stream ended or broke before the answer.
    #[error("{0}")]
    Interrupted(String),
    /// The answer cannot be used.
    #[error("the answer cannot be used: {0}")]
    Answer(String),
    /// The only answer has an id of another type than the request's, so it cannot be used. The
    /// server may still work on the request.
    #[error("the answer cannot be used: {0}")]
    Mistyped(String),
    /// The limit on requests in flight is reached.
    #[error("too many requests in flight")]
    TooMany,
    /// The message is larger than the limit.
    #[error("the message is longer than {limit} bytes")]
    TooLarge {
        /// The limit in force.
        limit: usize,
    },
}

impl TransportError {
    /// Returns true if the server certainly did not process the request, so that it can be sent
    /// again.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::SessionEnded
            | Self::Login(_)
            | Self::Unreachable(_)
            | Self::TooMany
            | Self::TooLarge { .. } => true,
            // With these statuses, a server states that it did not process the message.
            Self::Http(error) => matches!(error.status, 401 | 403 | 404 | 405 | 406 | 415 | 429),
            // The server may have processed the request before the answer was lost.
            Self::Closed(_) | Self::Interrupted(_) | Self::Answer(_) | Self::Mistyped(_) => false,
        }
    }
}

impl TransportError {
    /// Replaces secret values in the text of the error.
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
            // These have no text of the server.
            Self::SessionEnded | Self::TooMany | Self::TooLarge { .. } => {}
        }
        self
    }
}

/// An HTTP response that is not an answer to the request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpError {
    /// HTTP status.
    pub status: u16,
    /// Description of the problem and its solution, for people.
    pub reason: String,
    /// The first bytes of the body, escaped and shortened; empty without a body.
    pub excerpt: String,
    /// The body, if it is one strict JSON message: it may have error details that depend on the
    /// protocol version.
    pub message: Option<Box<str>>,
    /// Login information from the server.
    pub auth: AuthHints,
    /// Delay that the server requested before a retry.
    pub retry_after: Option<Duration>,
}

/// Information from a server on how to log in. Bounded, but not escaped: not safe for a terminal.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct AuthHints {
    /// The header `WWW-Authenticate`; several are joined with commas.
    pub www_authenticate: Option<String>,
    /// The header `Mcp-Auth-Server`.
    pub auth_server: Option<String>,
    /// The header `DPoP-Nonce`.
    pub dpop_nonce: Option<String>,
}

impl HttpError {
    /// Creates an error with a status and a description for people.
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
