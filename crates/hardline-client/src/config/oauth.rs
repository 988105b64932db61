//! What a configuration says about logging in.

use std::fmt;
use std::sync::Arc;

use super::template::{Scope, Template};
use super::{ConfigError, Variables};

/// What is registered with a server's authorization server beforehand, if anything.
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
    /// Nothing.
    pub(super) fn new(scope: &Arc<Scope>) -> Self {
        Self {
            scope: Arc::clone(scope),
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
            callback_port: None,
        }
    }

    /// The id of the client.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], if a variable in it is not set.
    pub fn client_id(&self, variables: &dyn Variables) -> Result<Option<String>, ConfigError> {
        self.client_id.as_ref().map(|it| it.expand(&self.scope, variables)).transpose()
    }

    /// Its secret.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], if a variable in it is not set.
    pub fn client_secret(&self, variables: &dyn Variables) -> Result<Option<String>, ConfigError> {
        self.client_secret.as_ref().map(|it| it.expand(&self.scope, variables)).transpose()
    }

    /// What may be asked for. Empty if the file does not say.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The port of the loopback address that the browser comes back to, if it is registered with one.
    pub fn callback_port(&self) -> Option<u16> {
        self.callback_port
    }
}

impl fmt::Debug for OAuthConfig {
    /// Leaves out the id and the secret.
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
