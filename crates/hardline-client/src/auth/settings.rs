//! How logging in is done.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::browser::{AuthorizationUrl, Browser};
use super::grant::Grant;
use super::secret::Secret;
use super::store::{MemoryStore, TokenStore};

/// The settings of an [`Auth`](super::Auth).
///
/// The default logs in as whoever registers a client at the authorization server, keeps tokens in memory
/// alone and never opens a browser.
#[derive(Clone, Debug)]
pub struct AuthSettings {
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) client_name: String,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
    pub(super) issuer: Option<String>,
    pub(super) client_metadata_url: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) callback_port: u16,
    pub(super) login_wait: Duration,
    pub(super) browser: Option<Arc<dyn Browser>>,
    pub(super) on_url: OnUrl,
    pub(super) advice: String,
    pub(super) grant: Grant,
    pub(super) allows_private: bool,
    pub(super) uses_dpop: bool,
}

/// Is shown the address that a person is to open.
#[derive(Clone, Default)]
pub(super) struct OnUrl(pub(super) Option<Arc<Listener>>);

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
            callback_port: 0,
            login_wait: Duration::from_secs(300),
            browser: None,
            on_url: OnUrl::default(),
            advice: "log in to it first".to_owned(),
            grant: Grant::person(),
            allows_private: false,
            uses_dpop: true,
        }
    }
}

impl AuthSettings {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps tokens there.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn TokenStore>) -> Self {
        self.store = store;
        self
    }

    /// The name that a person sees when asked whether this client may be let in. Default: Hardline.
    #[must_use]
    pub fn with_client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// Logs in as a client that was registered at the authorization server beforehand.
    #[must_use]
    pub fn with_client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        self.client_id = Some(id.into());
        self.client_secret = secret;
        self
    }

    /// Takes tokens from this issuer alone, whatever the server says. A client that was registered
    /// beforehand is known to one issuer, and its secret is nobody else's business.
    #[must_use]
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// The `https://` address of a document that describes this client, which is its id wherever the
    /// authorization server knows such documents.
    #[must_use]
    pub fn with_client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client_metadata_url = Some(url.into());
        self
    }

    /// Asks for these scopes, in place of those that the server names.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The port that the browser comes back to, for clients that are registered with one. Default: any.
    #[must_use]
    pub fn with_callback_port(mut self, port: u16) -> Self {
        self.callback_port = port;
        self
    }

    /// How long is waited for a person in front of the browser. Default: five minutes.
    #[must_use]
    pub fn with_login_wait(mut self, wait: Duration) -> Self {
        self.login_wait = wait;
        self
    }

    /// Opens this browser when a login is needed, also in the middle of a request.
    ///
    /// Without one nothing is ever opened: a request that needs a login fails, and says so.
    #[must_use]
    pub fn with_browser(mut self, browser: Arc<dyn Browser>) -> Self {
        self.browser = Some(browser);
        self
    }

    /// Is shown the address that is to be opened, before the browser is: so that it can be printed.
    #[must_use]
    pub fn on_authorization_url(
        mut self,
        listener: impl Fn(&AuthorizationUrl) + Send + Sync + 'static,
    ) -> Self {
        self.on_url = OnUrl(Some(Arc::new(listener)));
        self
    }

    /// What a person is told to do when a login is needed, such as ``run `hardline login NAME` ``.
    #[must_use]
    pub fn with_login_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// Gets tokens in another way than by a person who logs in.
    #[must_use]
    pub fn with_grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// Lets a server name an authorization server in a private network, such as `10.0.0.9`, though its
    /// own URL does not say that it is in one.
    #[must_use]
    pub fn danger_allow_private_addresses(mut self) -> Self {
        self.allows_private = true;
        self
    }

    /// Takes plain bearer tokens even if the server wants them to be bound to a key (DPoP).
    #[must_use]
    pub fn danger_without_dpop(mut self) -> Self {
        self.uses_dpop = false;
        self
    }
}
