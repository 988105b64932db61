//! Errors of login and token refresh.

use hardline_transport::client::TransportError;
use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

/// Number of bytes of text from an authorization server that an error quotes.
const SHOWN_BYTES: usize = 200;

/// Error returned when there is no usable token. The text is meant for the user.
///
/// Text from a peer is escaped and truncated. Tokens, codes and keys never appear.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum AuthError {
    /// There is no login, or it has expired. The text says how to log in.
    #[error("{0}")]
    Required(String),
    /// The server or its authorization server could not be reached or reported an internal error. A later
    /// attempt may succeed.
    #[error("{0}")]
    Unreachable(String),
    /// The server requires no token, and does not say where one could be obtained.
    #[error("the server requests no login: without a token it answers with status {status}")]
    Unwanted {
        /// Status of its response to a request without a token.
        status: u16,
    },
    /// The metadata of the server or of its authorization server does not allow a login.
    #[error("{0}")]
    Metadata(String),
    /// The authorization server rejected a request.
    #[error("the authorization server {server} refuses {what}: {reason}")]
    Refused {
        /// Origin of the authorization server.
        server: String,
        /// Description of the request.
        what: &'static str,
        /// Error code, such as `invalid_grant`, escaped.
        code: String,
        /// Error code and description, escaped.
        reason: String,
    },
    /// The browser came back with an invalid response.
    #[error("the login failed: {0}")]
    Login(String),
    /// The login ended without a token: access was denied, or the login timed out.
    #[error("the login failed: {reason}")]
    Declined {
        /// Error code, such as `access_denied`, escaped. Empty after a timeout.
        code: String,
        /// Description, escaped.
        reason: String,
    },
    /// No browser could be started.
    #[error("cannot open a browser: {0}")]
    Browser(String),
    /// The token store failed.
    #[error("{0}")]
    Store(String),
    /// The settings are invalid.
    #[error("{0}")]
    Settings(String),
}

impl AuthError {
    /// Returns true if the same operation may succeed a little later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Store(_))
    }

    /// Returns true if the authorization server rejected the request with this code.
    pub(crate) fn has_code(&self, wanted: &str) -> bool {
        let (Self::Refused { code, .. } | Self::Declined { code, .. }) = self else { return false };
        code == wanted
    }

    /// Appends a note to the reason of a rejection. Other errors stay unchanged.
    pub(crate) fn with_note(mut self, note: &str) -> Self {
        if let Self::Refused { reason, .. } | Self::Declined { reason, .. } = &mut self {
            reason.push_str("; ");
            reason.push_str(note);
        }
        self
    }
}

impl From<AuthError> for TransportError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Unreachable(reason) => Self::Unreachable(reason),
            AuthError::Metadata(reason) => Self::Login(format!("cannot log in: {reason}")),
            error => Self::Login(error.to_string()),
        }
    }
}

/// Escapes and truncates text from a peer for display.
pub(crate) fn shown(text: &str) -> String {
    Excerpt::new(text.as_bytes(), SHOWN_BYTES).to_string()
}

pub(crate) fn metadata(reason: impl Into<String>) -> AuthError {
    AuthError::Metadata(reason.into())
}
