//! OAuth settings in a configuration file.

use std::fmt;
use std::sync::Arc;

use super::template::{Scope, Template};
use super::{ConfigError, Variables};

/// The registration of this client with a server's authorization server.
///
/// | client | block | keys |
/// |---|---|---|
/// | Claude Code | `oauth` | `clientId`, `clientSecret`, `scopes`, `callbackPort` |
/// | Cursor | `auth` | `CLIENT_ID`, `CLIENT_SECRET`, `scopes` |
/// | Gemini CLI | `oauth` | `clientId`, `clientSecret`, `scopes`, `redirectUri` |
/// | VS Code | `oauth` | `clientId` |
/// | Codex | `scopes`, and `oauth` | `client_id` |
#[derive(Clone)]
pub struct OAuthConfig {
    pub(super) scope: Arc<Scope>,
    pub(super) client_id: Option<Template>,
    pub(super) client_secret: Option<Template>,
    pub(super) scopes: Vec<String>,
    pub(super) callback_port: Option<u16>,
}

impl OAuthConfig {
    /// Creates empty settings.
    pub(super) fn new(scope: &Arc<Scope>) -> Self {
        Self {
            scope: Arc::clone(scope),
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
            callback_port: None,
        }
    }

    /// Returns the client id.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if a variable in it is not set.
    pub fn client_id(&self, variables: &dyn Variables) -> Result<Option<String>, ConfigError> {
        self.client_id.as_ref().map(|it| it.expand(&self.scope, variables)).transpose()
    }

    /// Returns the client secret.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if a variable in it is not set.
    pub fn client_secret(&self, variables: &dyn Variables) -> Result<Option<String>, ConfigError> {
        self.client_secret.as_ref().map(|it| it.expand(&self.scope, variables)).transpose()
    }

    /// Returns the scopes to request. Empty if the file names none.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns the port of the registered loopback redirect address, if the file names one.
    pub fn callback_port(&self) -> Option<u16> {
        self.callback_port
    }
}

impl fmt::Debug for OAuthConfig {
    /// Omits the client id and the client secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthConfig")
            .field("has_client_id", &self.client_id.is_some())
            .field("has_client_secret", &self.client_secret.is_some())
            .field("scopes", &self.scopes)
            .field("callback_port", &self.callback_port)
            .finish()
    }
}
