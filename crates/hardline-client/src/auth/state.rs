//! What is known at the moment, and the way to the store.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Url;
use tokio::time::Instant;

use super::address::Policy;
use super::credentials::{Credentials, Held};
use super::discovery::canonical;
use super::error::AuthError;
use super::fetch::Fetcher;
use super::lock::{Lock, lock};
use super::renewal::Failure;
use super::secret::Secret;
use super::settings::AuthSettings;
use super::store::{Key, TokenStore};

/// How long a store may take: a keyring may ask a person for a password.
const STORE_WAIT: Duration = Duration::from_secs(60);

/// The credentials for the server at one URL. Clones are the same.
///
/// It is not to be used where an `Authorization` header is configured: its own would take that one's
/// place.
#[derive(Clone)]
pub struct Auth {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) server: Url,
    pub(super) key: Key,
    pub(super) settings: AuthSettings,
    pub(super) fetcher: Fetcher,
    pub(super) created: Instant,
    /// Held by whoever changes what is known, from the look at it to the end of the change.
    pub(super) flight: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

/// What is known at the moment.
#[derive(Default)]
pub(super) struct State {
    /// Whether the store was asked.
    pub(super) is_loaded: bool,
    pub(super) held: Option<Arc<Held>>,
    /// The number that the server wants to see in proofs.
    pub(super) nonce: Option<String>,
    /// How the last renewal failed, if it did.
    pub(super) failure: Option<Failure>,
    /// Whether what is held could not be kept, so that the store has something older.
    pub(super) is_unsaved: bool,
    /// How often a further scope was asked for since the last login.
    pub(super) step_ups: u32,
}

impl Auth {
    /// Credentials for the server at `url`. Nothing is sent and nothing is read yet.
    ///
    /// # Errors
    ///
    /// [`AuthError::Settings`], if it is no URL, or TLS cannot be set up.
    pub fn new(url: &str, settings: AuthSettings) -> Result<Self, AuthError> {
        let wrong =
            || AuthError::Settings("a server's URL begins with http:// or https://".to_owned());
        let mut server = Url::parse(url.trim()).map_err(|_| wrong())?;
        if !matches!(server.scheme(), "http" | "https") || server.host_str().is_none() {
            return Err(wrong());
        }
        server.set_fragment(None);
        let policy = Policy::new(&server, settings.allows_private);
        let fetcher = Fetcher::new(&server, policy)?;
        let inner = Inner {
            key: Key::new(&server),
            server,
            settings,
            fetcher,
            created: Instant::now(),
            flight: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}

impl Inner {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's address, as it is shown.
    pub(super) fn shown(&self) -> String {
        canonical(&self.server)
    }

    /// What is held, after the store was asked once.
    pub(super) async fn held(&self) -> Result<Option<Arc<Held>>, AuthError> {
        if !self.state().is_loaded {
            let _flight = self.flight.lock().await;
            if !self.state().is_loaded {
                self.load().await?;
            }
        }
        Ok(self.state().held.clone())
    }

    /// Keeps other processes from changing what the store has, if that can be done.
    pub(super) async fn lock(&self) -> Result<Option<Lock>, AuthError> {
        let path = self.with_store(|store, key| Ok(store.lock_file(key))).await?;
        Ok(match &path {
            Some(path) => lock(path).await,
            None => None,
        })
    }

    /// Takes what the store has, in place of what is held.
    pub(super) async fn load(&self) -> Result<(), AuthError> {
        if self.state().is_unsaved {
            return Ok(());
        }
        let text = self.with_store(TokenStore::load).await?;
        // What cannot be read any more is as good as nothing: a login replaces it.
        let kept = text.and_then(|it| serde_json::from_str::<Credentials>(it.reveal()).ok());
        let mut state = self.state();
        state.is_loaded = true;
        let access = |it: &Credentials| it.tokens.as_ref().map(|it| it.access.clone());
        let held = state.held.as_ref();
        let is_same = held.map(|it| access(&it.credentials)) == kept.as_ref().map(access);
        let notes = |it: &Credentials| (it.asked.clone(), it.wanted.clone());
        let is_noted =
            |kept: &Credentials| held.is_some_and(|it| notes(&it.credentials) == notes(kept));
        if !is_same || kept.as_ref().is_some_and(|it| !is_noted(it)) {
            let since = held.filter(|_| is_same).map_or(self.created, |it| it.since);
            state.held = kept.and_then(|it| Held::new(it, since).ok()).map(Arc::new);
        }
        Ok(())
    }

    /// The same, but what is damaged counts as nothing, as it is about to be replaced or removed.
    pub(super) async fn load_if_whole(&self) -> Result<(), AuthError> {
        let Err(error) = self.load().await else { return Ok(()) };
        if !self.with_store(|store, key| Ok(store.is_damaged(key))).await? {
            return Err(error);
        }
        tracing::warn!(%error, "what was kept about the login is lost");
        let mut state = self.state();
        state.held = None;
        state.is_loaded = true;
        Ok(())
    }

    /// Holds credentials, and keeps them.
    ///
    /// # Errors
    ///
    /// If they cannot be kept. They are held all the same.
    pub(super) async fn keep(&self, credentials: Credentials) -> Result<(), AuthError> {
        let unwritable = |_| AuthError::Store("cannot write JSON".to_owned());
        let text = Secret::new(serde_json::to_string(&credentials).map_err(unwritable)?);
        let held = Held::new(credentials, Instant::now())?;
        {
            let mut state = self.state();
            state.held = Some(Arc::new(held));
            state.is_loaded = true;
        }
        let saved = self.with_store(move |store, key| store.save(key, &text)).await;
        self.state().is_unsaved = saved.is_err();
        saved
    }

    /// Changes what the next login is to ask for, here and in the store. The tokens stay as they are, so
    /// that it does no harm if that cannot be kept. Whoever calls it has loaded `held` under the lock.
    pub(super) async fn note(&self, held: &Held, asked: Vec<String>, wanted: Vec<String>) {
        let credentials = Credentials { asked, wanted, ..held.credentials.clone() };
        let Ok(text) = serde_json::to_string(&credentials).map(Secret::new) else { return };
        let Ok(held) = Held::new(credentials, held.since) else { return };
        self.state().held = Some(Arc::new(held));
        match self.with_store(move |store, key| store.save(key, &text)).await {
            Ok(()) => self.state().is_unsaved = false,
            Err(error) => tracing::warn!(%error, "the scopes for the next login are not kept"),
        }
    }

    /// Does something with the store where blocking does no harm, in bounded time.
    pub(super) async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn TokenStore, &Key) -> Result<T, String> + Send + 'static,
    ) -> Result<T, AuthError> {
        let (store, key) = (Arc::clone(&self.settings.store), self.key.clone());
        let task = tokio::task::spawn_blocking(move || work(&*store, &key));
        match tokio::time::timeout(STORE_WAIT, task).await {
            Ok(Ok(outcome)) => outcome.map_err(AuthError::Store),
            Ok(Err(_)) => Err(AuthError::Store("the store of tokens failed".to_owned())),
            Err(_) => Err(AuthError::Store("the store of tokens does not answer".to_owned())),
        }
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Auth").field("server", &self.inner.shown()).finish_non_exhaustive()
    }
}
