//! Why there is no token.

use hardline_transport::client::TransportError;
use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

/// How much of what an authorization server says is shown.
const SHOWN_BYTES: usize = 200;

/// Why a server cannot be logged in to, in words for a person.
///
/// What a peer wrote is in it escaped and shortened; tokens, codes and keys are never in it.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum AuthError {
    /// Nobody has logged in, or the login has ended. The text says what to do.
    #[error("{0}")]
    Required(String),
    /// The server or its authorization server could not be reached, or has a failure of its own: it may
    /// work later.
    #[error("{0}")]
    Unreachable(String),
    /// The server asks for no token, and nothing about it says where one could be had.
    #[error("the server asks for no login: without one, it answers with status {status}")]
    Unwanted {
        /// The status of its answer to a request without a token.
        status: u16,
    },
    /// What the server and its authorization server say about themselves does not allow a login.
    #[error("{0}")]
    Metadata(String),
    /// The authorization server said no.
    #[error("the authorization server {server} refuses {what}: {reason}")]
    Refused {
        /// Its origin.
        server: String,
        /// What it was asked for.
        what: &'static str,
        /// The code of the error, such as `invalid_grant`, escaped.
        code: String,
        /// The code and what it says about it, escaped.
        reason: String,
    },
    /// The browser did not bring back what it should.
    #[error("the login failed: {0}")]
    Login(String),
    /// The login ended without a token: it was denied, or nobody logged in in time.
    #[error("the login failed: {reason}")]
    Declined {
        /// The code of the error, such as `access_denied`, escaped. Empty if nothing came back.
        code: String,
        /// What is said about it, escaped.
        reason: String,
    },
    /// The browser cannot be opened.
    #[error("cannot open a browser: {0}")]
    Browser(String),
    /// Tokens cannot be kept or found.
    #[error("{0}")]
    Store(String),
    /// The settings are not right.
    #[error("{0}")]
    Settings(String),
}

impl AuthError {
    /// Whether the same may work a little later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Store(_))
    }

    /// Whether the authorization server says no with this code.
    pub(super) fn has_code(&self, wanted: &str) -> bool {
        let (Self::Refused { code, .. } | Self::Declined { code, .. }) = self else { return false };
        code == wanted
    }

    /// Adds something to what a no says. Nothing else changes.
    pub(super) fn with_note(mut self, note: &str) -> Self {
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

/// What a peer wrote, fit to be shown.
pub(super) fn shown(text: &str) -> String {
    Excerpt::new(text.as_bytes(), SHOWN_BYTES).to_string()
}

pub(super) fn metadata(reason: impl Into<String>) -> AuthError {
    AuthError::Metadata(reason.into())
}
