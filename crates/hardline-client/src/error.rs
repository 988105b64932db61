//! Why a request has no result.

use std::fmt;
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::TransportError;
use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;

/// How much of what a server wrote goes into an error's text.
const EXCERPT_BYTES: usize = 500;

/// Why a request has no result, or a connection could not be opened.
///
/// Its text is fit for a log and a terminal: what a server wrote is in it escaped and shortened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered with an error.
    #[error("{0}")]
    Rpc(RpcError),
    /// No answer came in time. The server was told that it is not waited for any more.
    #[error("no answer to {method} within {}", Seconds(*.after))]
    Timeout {
        /// The method.
        method: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The message was not carried, or not answered.
    #[error("{0}")]
    Transport(#[from] TransportError),
    /// What was to be started could not be.
    #[error("{0}")]
    Start(String),
    /// The two sides have no version of the protocol in common.
    #[error("{0}")]
    Version(String),
    /// The answer is no result of the method.
    #[error("the answer to {method} is not what the protocol says: {reason}")]
    Unexpected {
        /// The method.
        method: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The parameters cannot be sent.
    #[error("the parameters cannot be sent: {0}")]
    Params(String),
    /// The server asks for something before it answers that this client does not do.
    #[error("{0}")]
    Input(String),
    /// A server of a manager was not there in time. The request was not made.
    #[error("{server} is away, and the request was not made: {reason}")]
    Away {
        /// The server, fit for a terminal.
        server: String,
        /// Why it is away.
        reason: String,
    },
    /// A server of a manager went away while the request was under way. It may have been carried out, and
    /// is not made again.
    #[error(
        "{server} went away during {what}, which may or may not have been done; it is not done again: \
         {reason}"
    )]
    Lost {
        /// The server, fit for a terminal.
        server: String,
        /// The request, fit for a terminal.
        what: String,
        /// Why it went away.
        reason: String,
    },
    /// A manager has no server or tool of that name.
    #[error("{0}")]
    Unknown(String),
}

impl Error {
    /// The server's error, if it answered with one.
    pub fn rpc(&self) -> Option<&RpcError> {
        match self {
            Self::Rpc(error) => Some(error),
            _ => None,
        }
    }

    /// The same without these values in its text. What a server says beside its message is left alone.
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
            Self::Transport(_) => {}
        }
        match self {
            Self::Transport(error) => Self::Transport(error.hidden(secrets)),
            error => error,
        }
    }

    /// Whether the connection is at its end, so that only a new one helps.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Transport(TransportError::Closed(_)))
    }
}

/// An error that a server answered with.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RpcError {
    /// Its code.
    pub code: i64,
    /// What the server says, unescaped: not fit for a terminal.
    pub message: String,
    /// What else it says.
    pub data: Option<serde_json::Value>,
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = Excerpt::new(self.message.as_bytes(), EXCERPT_BYTES);
        write!(formatter, "the server answered with error {}: {message}", self.code)
    }
}

impl std::error::Error for RpcError {}

/// A time as a person writes it.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    /// An error with this code, for a request of the server.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Says that the parameters are not what the method takes.
    pub fn invalid_params(message: &str) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Says that something went wrong on this side.
    pub fn internal(message: &str) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }
}
