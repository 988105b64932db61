//! Explicit login and logout, and the status of a login.

use crate::challenge::Challenge;
use crate::error::AuthError;
use crate::renewal::revoke;
use crate::state::Auth;
use crate::store::TokenStore;

/// The status of a login. Contains no secrets.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LoginStatus {
    /// True if there is a token that can be used or refreshed.
    pub is_logged_in: bool,
    /// Issuer of the token, as it writes its name. Not escaped: do not print it to a terminal.
    pub issuer: Option<String>,
    /// Scopes of the token, if known. Not escaped: do not print them to a terminal.
    pub scopes: Vec<String>,
    /// Expiry time in seconds since 1970, if known.
    pub expires: Option<u64>,
    /// True if the token can be refreshed without a person.
    pub can_refresh: bool,
}

impl Auth {
    /// Logs in again, even if there is a valid token: opens the browser in the settings, or uses their grant.
    /// Also requests scopes for which calls were refused, in this process or another with the same store.
    ///
    /// # Errors
    ///
    /// Returns an [`AuthError`] if the login fails. The previous credentials stay in use then.
    pub async fn login(&self) -> Result<LoginStatus, AuthError> {
        let inner = &self.inner;
        if inner.settings.grant.is_interactive() && inner.settings.browser.is_none() {
            return Err(AuthError::Settings("no browser is configured for the login".to_owned()));
        }
        {
            let _update = inner.update.lock().await;
            inner.load_or_discard().await?;
            let before = inner.state().held.as_ref().map(|it| it.credentials.clone());
            let challenge: Challenge = inner.fetcher.challenge(&inner.server).await?;
            inner.obtain(&challenge, before.as_ref()).await?;
            let mut state = inner.state();
            state.failure = None;
            state.step_ups = 0;
        }
        self.status().await
    }

    /// Discards the login, here and in the store, and asks the authorization server to revoke the token.
    /// Returns false if there was no login.
    ///
    /// # Errors
    ///
    /// Returns [`AuthError::Store`] if the store cannot remove it.
    pub async fn logout(&self) -> Result<bool, AuthError> {
        let inner = &self.inner;
        let _update = inner.update.lock().await;
        inner.load_or_discard().await?;
        let held = inner.state().held.take();
        inner.state().is_unsaved = false;
        let removed = inner.with_store(TokenStore::remove).await?;
        // Revoked last: the local copy must be gone even if the authorization server does not respond.
        if let Some(held) = held {
            revoke(inner, &held.credentials).await;
        }
        inner.state().failure = None;
        Ok(removed)
    }

    /// Returns the status of the login. Reads the store, unless a login or refresh is running.
    ///
    /// # Errors
    ///
    /// Returns [`AuthError::Store`] if the store cannot be read.
    pub async fn status(&self) -> Result<LoginStatus, AuthError> {
        let inner = &self.inner;
        if let Ok(_update) = inner.update.try_lock() {
            inner.load().await?;
        }
        let Some(held) = inner.state().held.clone() else { return Ok(LoginStatus::default()) };
        let credentials = &held.credentials;
        let Some(tokens) = &credentials.tokens else { return Ok(LoginStatus::default()) };
        let can_refresh = tokens.refresh.is_some() || !inner.settings.grant.is_interactive();
        Ok(LoginStatus {
            is_logged_in: can_refresh || !tokens.is_expired(),
            issuer: credentials.issuer.clone(),
            scopes: tokens.granted.clone().unwrap_or_else(|| credentials.asked.clone()),
            expires: tokens.expires(),
            can_refresh,
        })
    }
}
