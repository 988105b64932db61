//! Settings of login and token refresh.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::browser::{AuthorizationUrl, Browser};
use crate::grant::Grant;
use crate::secret::Secret;
use crate::store::{MemoryStore, TokenStore};

/// The settings of an [`Auth`](crate::Auth).
///
/// By default, a login registers a client at the authorization server, tokens are stored in memory only, and
/// no browser is ever opened.
#[derive(Clone, Debug)]
pub struct AuthSettings {
    pub(crate) store: Arc<dyn TokenStore>,
    pub(crate) client_name: String,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    pub(crate) issuer: Option<String>,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) callback_port: u16,
    pub(crate) login_wait: Duration,
    pub(crate) browser: Option<Arc<dyn Browser>>,
    pub(crate) on_url: OnUrl,
    pub(crate) advice: String,
    pub(crate) grant: Grant,
    pub(crate) allows_private: bool,
    pub(crate) uses_dpop: bool,
}

/// Callback that receives the address of the login page.
#[derive(Clone, Default)]
pub(crate) struct OnUrl(pub(crate) Option<Arc<Listener>>);

type Listener = dyn Fn(&AuthorizationUrl) + Send + Sync;

impl fmt::Debug for OnUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "set" } else { "none" })
    }
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            store: Arc::new(MemoryStore::default()),
            client_name: "Hardline".to_owned(),
            client_id: None,
            client_secret: None,
            issuer: None,
            client_metadata_url: None,
            scopes: Vec::new(),
            // Port 0 lets the system choose a free port, which RFC 8252 expects of native clients.
            callback_port: 0,
            // Long enough for a password manager and a second factor.
            login_wait: Duration::from_secs(300),
            // A library must not open windows unless the program asks for it.
            browser: None,
            on_url: OnUrl::default(),
            advice: "log in to it first".to_owned(),
            grant: Grant::person(),
            allows_private: false,
            // Used only if both servers declare support, so it cannot break a login.
            uses_dpop: true,
        }
    }
}

impl AuthSettings {
    /// Creates the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores tokens in `store`.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn TokenStore>) -> Self {
        self.store = store;
        self
    }

    /// Sets the client's name, which the authorization server shows to the user. Default: Hardline.
    #[must_use]
    pub fn with_client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// Uses a client that was registered at the authorization server beforehand.
    #[must_use]
    pub fn with_client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        self.client_id = Some(id.into());
        self.client_secret = secret;
        self
    }

    /// Accepts tokens from this issuer only, even if the server names another. Set it together with a client
    /// secret, so that a server cannot redirect the secret to another issuer.
    #[must_use]
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets the `https://` URL of a client metadata document, which serves as the client id at authorization
    /// servers that support such documents.
    #[must_use]
    pub fn with_client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// Requests these scopes instead of those that the server names.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the loopback port for the browser's redirect, for clients registered with one. Default: any port.
    #[must_use]
    pub fn with_callback_port(mut self, port: u16) -> Self {
        self.callback_port = port;
        self
    }

    /// Sets the time limit for a login in the browser. Default: five minutes.
    #[must_use]
    pub fn with_login_wait(mut self, wait: Duration) -> Self {
        self.login_wait = wait;
        self
    }

    /// Opens the login page in this browser when a login is needed, even in the middle of a request.
    ///
    /// Without a browser, a request that needs a login fails with an error that says so.
    #[must_use]
    pub fn with_browser(mut self, browser: Arc<dyn Browser>) -> Self {
        self.browser = Some(browser);
        self
    }

    /// Calls `listener` with the address of the login page before the browser is opened, for printing it.
    #[must_use]
    pub fn on_authorization_url(
        mut self,
        listener: impl Fn(&AuthorizationUrl) + Send + Sync + 'static,
    ) -> Self {
        self.on_url = OnUrl(Some(Arc::new(listener)));
        self
    }

    /// Sets the advice in errors that require a login, such as ``run `hardline login NAME` ``.
    #[must_use]
    pub fn with_login_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// Obtains tokens with this grant instead of a login by a person.
    #[must_use]
    pub fn with_grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// Allows authorization servers in a private network, such as `10.0.0.9`, for a server whose own URL is not
    /// in one.
    #[must_use]
    pub fn danger_allow_private_addresses(mut self) -> Self {
        self.allows_private = true;
        self
    }

    /// Accepts plain bearer tokens even if the server asks for DPoP-bound ones.
    #[must_use]
    pub fn danger_without_dpop(mut self) -> Self {
        self.uses_dpop = false;
        self
    }
}
