//! The errors of connections and managers.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::TransportError;
use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;

/// Number of bytes of server-written text that an error message quotes.
const EXCERPT_BYTES: usize = 500;

/// Error returned when a request has no result, or when a connection could not be opened.
///
/// The text is safe to print to a log or a terminal: text from the server is escaped and truncated. It
/// contains the text of the errors below, so [`source`](StdError::source) skips those: `{error}` says all,
/// and a report of the whole chain says nothing twice.
///
/// ```
/// use hardline_client::{Error, TransportError};
///
/// let error = Error::from(TransportError::Unreachable("no server is listening".into()));
/// assert!(error.is_connect() && !error.may_have_run());
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered with an error.
    #[error(transparent)]
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
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server could not be started, or the transport could not be set up.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Client and server have no protocol version in common.
    #[error("{0}")]
    Version(String),
    /// The server's answer is not a valid result of the method.
    #[error("the answer to {method} violates the protocol: {reason}")]
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
    #[error("{server} is not connected; the request was not sent: {reason}")]
    Away {
        /// Name of the server, escaped for a terminal.
        server: String,
        /// Reason for which the server is unavailable.
        reason: String,
        /// True if only a login makes the server available.
        needs_login: bool,
    },
    /// The connection to a manager's server was lost during the request. The server may have carried the
    /// request out, so the manager does not repeat it.
    #[error(
        "lost the connection to {server} during {what}; it may have been executed, so it is not \
         repeated: {reason}"
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
            | Self::Version(text)
            | Self::Params(text)
            | Self::Input(text)
            | Self::Unknown(text) => secrets.hide_in(text),
            Self::Unexpected { method, reason } => {
                secrets.hide_in(method);
                secrets.hide_in(reason);
            }
            Self::Start(error) => error.hide(secrets),
            Self::Away { server, reason, .. } => {
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

    /// Returns true if the server did not answer within the time limit.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Returns true if there is no connection to the server: it could not be started or reached, or it speaks
    /// no version that the client allows. An attempt that runs out of time is a [timeout](Self::is_timeout).
    pub fn is_connect(&self) -> bool {
        matches!(
            self,
            Self::Start(_)
                | Self::Version(_)
                | Self::Away { .. }
                | Self::Transport(TransportError::Unreachable(_))
        )
    }

    /// Returns true if the server requires a login, or refuses the credentials that it got (401, 403).
    pub fn is_auth(&self) -> bool {
        match self {
            Self::Away { needs_login, .. } => *needs_login,
            Self::Transport(TransportError::Login(_)) => true,
            Self::Transport(TransportError::Http(error)) => matches!(error.status, 401 | 403),
            _ => false,
        }
    }

    /// Returns true if the server may have carried the request out, in full or in part. If it returns false,
    /// the server certainly did not, and the request can be sent again without harm.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Transport(error) => !error.is_refused(),
            Self::Start(_)
            | Self::Version(_)
            | Self::Params(_)
            | Self::Away { .. }
            | Self::Unknown(_) => false,
            // A server may act before it asks for input, and before it sends an error.
            Self::Rpc(_)
            | Self::Timeout { .. }
            | Self::Unexpected { .. }
            | Self::Input(_)
            | Self::Lost { .. } => true,
        }
    }
}

/// Error returned when a connection could not be set up: an invalid configuration, a process that does not
/// start, or missing TLS certificates.
///
/// ```no_run
/// # async fn run() {
/// use hardline_client::{Connection, ConnectionSettings, Error};
/// use hardline_transport::process::{Command, Environment, SpawnError};
///
/// let command = Command::new("my-server", Environment::Base);
/// if let Err(Error::Start(error)) = Connection::spawn(&command, ConnectionSettings::default()).await
///     && let Some(SpawnError::NotFound { program, .. }) = error.cause()
/// {
///     println!("install {program}");
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct StartError {
    text: String,
    /// Absent if the error was created from a text, or if the cause contains a secret value.
    cause: Option<Arc<dyn StdError + Send + Sync>>,
}

impl StartError {
    /// Creates an error that has the text of its cause.
    pub fn new(cause: impl StdError + Send + Sync + 'static) -> Self {
        Self { text: cause.to_string(), cause: Some(Arc::new(cause)) }
    }

    /// Creates an error without a cause.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { text: text.into(), cause: None }
    }

    /// Returns the cause if it has this type, for example
    /// [`SpawnError`](hardline_transport::process::SpawnError) or
    /// [`ConfigError`](crate::config::ConfigError). A cause whose text contains a secret value is dropped.
    pub fn cause<E: StdError + 'static>(&self) -> Option<&E> {
        self.cause.as_deref()?.downcast_ref()
    }

    fn hide(&mut self, secrets: &Secrets) {
        // An error cannot be edited, so one that shows a secret must not be reachable.
        let mut next = self.cause.as_deref().map(|it| it as &(dyn StdError + 'static));
        while let Some(error) = next {
            let shown = format!("{error} {error:?}");
            if secrets.hide(&shown) != shown {
                self.cause = None;
                break;
            }
            next = error.source();
        }
        secrets.hide_in(&mut self.text);
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the cause, which could show values that were hidden in the text.
        formatter.debug_tuple("StartError").field(&self.text).finish()
    }
}

impl StdError for StartError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        // The text is that of the cause, so the chain goes on below it.
        self.cause.as_deref()?.source()
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

impl StdError for RpcError {}

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

#[cfg(all(test, unix))]
mod tests {
    use hardline_transport::process::SpawnError;

    use super::*;

    fn missing(path: &str) -> Error {
        StartError::new(SpawnError::NoSuchFile { path: path.into() }).into()
    }

    #[test]
    fn says_nothing_twice_and_keeps_the_cause_of_a_failed_start() {
        let errors =
            [missing("/no/server"), TransportError::Closed("the server has exited".into()).into()];
        for error in errors {
            // The text is that of the error below, so a report of the chain must not go there.
            assert!(error.source().is_none_or(|it| !error.to_string().contains(&it.to_string())));
        }
        let Error::Start(error) = missing("/no/server") else { panic!("it is a start error") };
        assert!(matches!(error.cause(), Some(SpawnError::NoSuchFile { .. })));
        assert!(error.to_string().contains("/no/server"), "{error}");
    }

    #[test]
    fn drops_a_cause_that_shows_a_secret() {
        let secrets = Secrets::new(["s3cr3t-value"]);
        let Error::Start(error) = missing("/no/s3cr3t-value").hidden(&secrets) else {
            panic!("it is a start error")
        };
        assert!(error.cause::<SpawnError>().is_none());
        assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error:?}");
    }

    #[test]
    fn says_what_a_caller_can_do_about_it() {
        let login = || TransportError::Login("run `hardline login`".into()).into();
        let timeout = Error::Timeout { method: "tools/call".into(), after: Duration::from_secs(1) };
        let lost = || Error::Transport(TransportError::Interrupted("the stream ended".into()));
        let rpc = Error::Rpc(RpcError::new(-32602, "no"));
        let flags = |it: &Error| {
            [it.is_timeout(), it.is_connect(), it.is_auth(), it.may_have_run()].map(u8::from)
        };
        let check = |error: Error, expected: [u8; 4]| {
            assert_eq!(flags(&error), expected, "{error:?}");
        };
        check(timeout, [1, 0, 0, 1]);
        check(missing("/x"), [0, 1, 0, 0]);
        check(login(), [0, 0, 1, 0]);
        check(lost(), [0, 0, 0, 1]);
        check(rpc, [0, 0, 0, 1]);
        let away =
            |needs_login| Error::Away { server: "far".into(), reason: "gone".into(), needs_login };
        check(away(false), [0, 1, 0, 0]);
        check(away(true), [0, 1, 1, 0]);
        check(Error::Params("a list".into()), [0, 0, 0, 0]);
    }
}
