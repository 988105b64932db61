//! The errors of connections and managers.

use std::fmt;
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::TransportError;
use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;

/// Number of bytes of server-written text that an error message quotes.
const EXCERPT_BYTES: usize = 500;

/// Error returned when a request has no result, or when a connection could not be opened.
///
/// The text is safe to print to a log or a terminal: text from the server is escaped and truncated.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered with an error.
    #[error("{0}")]
    Rpc(RpcError),
    /// No answer arrived before the deadline. The server was sent a cancellation.
    #[error("no answer to {method} within {}", Seconds(*.after))]
    Timeout {
        /// The method of the request.
        method: String,
        /// Time that the client waited.
        after: Duration,
    },
    /// The transport could not deliver the message, or the connection failed before the answer.
    #[error("{0}")]
    Transport(#[from] TransportError),
    /// The server could not be started, or the transport could not be set up.
    #[error("{0}")]
    Start(String),
    /// Client and server have no protocol version in common.
    #[error("{0}")]
    Version(String),
    /// The server's answer is not a valid result of the method.
    #[error("the answer to {method} is not what the protocol says: {reason}")]
    Unexpected {
        /// The method of the request.
        method: String,
        /// Description of the mismatch.
        reason: String,
    },
    /// The parameters cannot be serialized, or are not an object.
    #[error("the parameters cannot be sent: {0}")]
    Params(String),
    /// The server asked for input that this client does not provide, and gives no answer without it.
    #[error("{0}")]
    Input(String),
    /// A manager's server was not connected in time. The request was not sent.
    #[error("{server} is away, and the request was not made: {reason}")]
    Away {
        /// Name of the server, escaped for a terminal.
        server: String,
        /// Reason for which the server is unavailable.
        reason: String,
    },
    /// The connection to a manager's server was lost during the request. The server may have carried the
    /// request out, so the manager does not repeat it.
    #[error(
        "{server} went away during {what}, which may or may not have been done; it is not done again: \
         {reason}"
    )]
    Lost {
        /// Name of the server, escaped for a terminal.
        server: String,
        /// Description of the request, escaped for a terminal.
        what: String,
        /// Reason for which the connection was lost.
        reason: String,
    },
    /// The manager has no server or tool with the requested name.
    #[error("{0}")]
    Unknown(String),
}

impl Error {
    /// Returns the server's error, if the server answered with one.
    pub fn rpc(&self) -> Option<&RpcError> {
        match self {
            Self::Rpc(error) => Some(error),
            _ => None,
        }
    }

    /// Replaces these values in the error's text with `[redacted]`. [`RpcError::data`] is left unchanged.
    #[must_use]
    pub fn hidden(mut self, secrets: &Secrets) -> Self {
        match &mut self {
            Self::Rpc(RpcError { message: text, .. })
            | Self::Timeout { method: text, .. }
            | Self::Start(text)
            | Self::Version(text)
            | Self::Params(text)
            | Self::Input(text)
            | Self::Unknown(text) => secrets.hide_in(text),
            Self::Unexpected { method, reason } => {
                secrets.hide_in(method);
                secrets.hide_in(reason);
            }
            Self::Away { server, reason } => {
                secrets.hide_in(server);
                secrets.hide_in(reason);
            }
            Self::Lost { server, what, reason } => {
                secrets.hide_in(server);
                secrets.hide_in(what);
                secrets.hide_in(reason);
            }
            // `TransportError::hidden` takes the error by value, so it is handled below.
            Self::Transport(_) => {}
        }
        match self {
            Self::Transport(error) => Self::Transport(error.hidden(secrets)),
            error => error,
        }
    }

    /// Returns true if the connection is closed, so that only a new connection can succeed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Transport(TransportError::Closed(_)))
    }
}

/// A JSON-RPC error object: the server's answer to a request, or a handler's answer to the server.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RpcError {
    /// JSON-RPC error code.
    pub code: i64,
    /// Message as the peer wrote it. Not escaped: do not print it to a terminal.
    pub message: String,
    /// Additional data that the peer attached.
    pub data: Option<serde_json::Value>,
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A server controls this text, and terminals interpret control characters.
        let message = Excerpt::new(self.message.as_bytes(), EXCERPT_BYTES);
        write!(formatter, "the server answered with error {}: {message}", self.code)
    }
}

impl std::error::Error for RpcError {}

/// Displays a duration in milliseconds or seconds.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Short timeouts occur in tests and scripts, where `0.0 s` would be confusing.
        if self.0 < Duration::from_millis(100) {
            write!(formatter, "{} ms", self.0.as_millis())
        } else if self.0.subsec_millis() == 0 {
            write!(formatter, "{} s", self.0.as_secs())
        } else {
            write!(formatter, "{:.1} s", self.0.as_secs_f64())
        }
    }
}

impl RpcError {
    /// Creates an error with this code, for the answer to a request from the server.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Creates an "invalid params" error: the parameters do not fit the method.
    pub fn invalid_params(message: &str) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Creates an "internal error": the client failed to handle the request.
    pub fn internal(message: &str) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }
}
