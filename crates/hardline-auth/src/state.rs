//! The credentials in use, and access to the store.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Url;
use tokio::time::Instant;

use crate::address::AddressPolicy;
use crate::credentials::{ActiveCredentials, Credentials};
use crate::discovery::canonical;
use crate::error::AuthError;
use crate::fetch::Fetcher;
use crate::lock::{Lock, lock};
use crate::renewal::RenewalFailure;
use crate::secret::Secret;
use crate::settings::AuthSettings;
use crate::store::{TokenKey, TokenStore};

/// Time limit for an operation of the store. A keyring may ask the user for a password.
const STORE_WAIT: Duration = Duration::from_secs(60);

/// The credentials for the server at one URL. Clones share them.
///
/// Do not use it together with a configured `Authorization` header: its own header would replace that one.
#[derive(Clone)]
pub struct Auth {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) server: Url,
    pub(crate) key: TokenKey,
    pub(crate) settings: AuthSettings,
    pub(crate) fetcher: Fetcher,
    pub(crate) created: Instant,
    /// Serializes changes of the credentials, from reading the state to the end of the change.
    pub(crate) update: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

/// The credentials in use, and the state of renewing them.
#[derive(Default)]
pub(crate) struct State {
    /// True once the store was read.
    pub(crate) is_loaded: bool,
    pub(crate) held: Option<Arc<ActiveCredentials>>,
    /// Nonce that the server requires in DPoP proofs.
    pub(crate) nonce: Option<String>,
    /// The last failed renewal.
    pub(crate) failure: Option<RenewalFailure>,
    /// True if saving failed, so that the store has older credentials than `held`.
    pub(crate) is_unsaved: bool,
    /// Number of requests for further scopes since the last login.
    pub(crate) step_ups: u32,
}

impl Auth {
    /// Creates the credentials for the server at `url`. Sends nothing and does not read the store yet.
    ///
    /// # Errors
    ///
    /// Returns [`AuthError::Settings`] if the URL is invalid or TLS cannot be set up.
    pub fn new(url: &str, settings: AuthSettings) -> Result<Self, AuthError> {
        let wrong =
            || AuthError::Settings("a server's URL begins with http:// or https://".to_owned());
        let mut server = Url::parse(url.trim()).map_err(|_| wrong())?;
        if !matches!(server.scheme(), "http" | "https") || server.host_str().is_none() {
            return Err(wrong());
        }
        // A fragment is never sent, and would make a second key for the same server.
        server.set_fragment(None);
        let policy = AddressPolicy::new(&server, settings.allows_private);
        let fetcher = Fetcher::new(&server, policy)?;
        let inner = Inner {
            key: TokenKey::new(&server),
            server,
            settings,
            fetcher,
            created: Instant::now(),
            update: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}

impl Inner {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the server's address for display, without its query.
    pub(crate) fn shown(&self) -> String {
        canonical(&self.server)
    }

    /// Returns the credentials in use. Reads the store on the first call.
    pub(crate) async fn held(&self) -> Result<Option<Arc<ActiveCredentials>>, AuthError> {
        if !self.state().is_loaded {
            let _update = self.update.lock().await;
            if !self.state().is_loaded {
                self.load().await?;
            }
        }
        Ok(self.state().held.clone())
    }

    /// Locks the store against changes by other processes, if it supports that.
    pub(crate) async fn lock(&self) -> Result<Option<Lock>, AuthError> {
        let path = self.with_store(|store, key| Ok(store.lock_file(key))).await?;
        Ok(match &path {
            Some(path) => lock(path).await,
            None => None,
        })
    }

    /// Replaces the credentials in use with those in the store.
    pub(crate) async fn load(&self) -> Result<(), AuthError> {
        // The store has older credentials than this process; loading them would lose the newer token.
        if self.state().is_unsaved {
            return Ok(());
        }
        let text = self.with_store(TokenStore::load).await?;
        // An unreadable entry counts as missing: the next login replaces it.
        let stored = text.and_then(|it| serde_json::from_str::<Credentials>(it.reveal()).ok());
        let mut state = self.state();
        state.is_loaded = true;
        let access = |it: &Credentials| it.tokens.as_ref().map(|it| it.access.clone());
        let held = state.held.as_ref();
        let is_same = held.map(|it| access(&it.credentials)) == stored.as_ref().map(access);
        // Another process may have changed the scopes alone.
        let scopes = |it: &Credentials| (it.asked.clone(), it.wanted.clone());
        let has_same_scopes =
            |it: &Credentials| held.is_some_and(|held| scopes(&held.credentials) == scopes(it));
        if !is_same || stored.as_ref().is_some_and(|it| !has_same_scopes(it)) {
            // The same token keeps its age, which decides whether the server has just rejected a new one.
            let since = held.filter(|_| is_same).map_or(self.created, |it| it.since);
            state.held = stored.and_then(|it| ActiveCredentials::new(it, since).ok()).map(Arc::new);
        }
        Ok(())
    }

    /// Like [`load`](Self::load), but ignores a damaged entry, which the caller will replace or remove.
    pub(crate) async fn load_or_discard(&self) -> Result<(), AuthError> {
        let Err(error) = self.load().await else { return Ok(()) };
        if !self.with_store(|store, key| Ok(store.is_damaged(key))).await? {
            return Err(error);
        }
        tracing::warn!(%error, "the stored login is damaged and was discarded");
        let mut state = self.state();
        state.held = None;
        state.is_loaded = true;
        Ok(())
    }

    /// Uses these credentials from now on, and saves them.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be saved. They are used nevertheless.
    pub(crate) async fn save(&self, credentials: Credentials) -> Result<(), AuthError> {
        let unwritable = |_| AuthError::Store("cannot write JSON".to_owned());
        let text = Secret::new(serde_json::to_string(&credentials).map_err(unwritable)?);
        let held = ActiveCredentials::new(credentials, Instant::now())?;
        {
            let mut state = self.state();
            // In use before it is stored: a token that cannot be stored is still valid.
            state.held = Some(Arc::new(held));
            state.is_loaded = true;
        }
        let saved = self.with_store(move |store, key| store.save(key, &text)).await;
        self.state().is_unsaved = saved.is_err();
        saved
    }

    /// Changes the scopes that the next login requests, here and in the store. A failure to save is harmless,
    /// because the tokens stay as they are. The caller must have loaded `held` under the lock.
    pub(crate) async fn save_scopes(
        &self,
        held: &ActiveCredentials,
        asked: Vec<String>,
        wanted: Vec<String>,
    ) {
        let credentials = Credentials { asked, wanted, ..held.credentials.clone() };
        let Ok(text) = serde_json::to_string(&credentials).map(Secret::new) else { return };
        let Ok(held) = ActiveCredentials::new(credentials, held.since) else { return };
        self.state().held = Some(Arc::new(held));
        match self.with_store(move |store, key| store.save(key, &text)).await {
            Ok(()) => self.state().is_unsaved = false,
            Err(error) => tracing::warn!(%error, "could not save the scopes for the next login"),
        }
    }

    /// Runs an operation of the store on a blocking thread, in bounded time.
    pub(crate) async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn TokenStore, &TokenKey) -> Result<T, String> + Send + 'static,
    ) -> Result<T, AuthError> {
        let (store, key) = (Arc::clone(&self.settings.store), self.key.clone());
        // A keyring may wait for a person to unlock it.
        let task = tokio::task::spawn_blocking(move || work(&*store, &key));
        match tokio::time::timeout(STORE_WAIT, task).await {
            Ok(Ok(outcome)) => outcome.map_err(AuthError::Store),
            Ok(Err(_)) => Err(AuthError::Store("the token store failed".to_owned())),
            Err(_) => Err(AuthError::Store("the token store does not respond".to_owned())),
        }
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Auth").field("server", &self.inner.shown()).finish_non_exhaustive()
    }
}
