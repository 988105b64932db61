//! Logging in and out because somebody wants to, and what there is to show about it.

use super::challenge::Challenge;
use super::error::AuthError;
use super::renewal::revoke;
use super::state::Auth;
use super::store::TokenStore;

/// What is known about a login. Nothing in it is secret.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// Whether there is a token that can be used, or refreshed.
    pub is_logged_in: bool,
    /// Who gave it out. As it wrote itself: not fit for a terminal.
    pub issuer: Option<String>,
    /// What it permits, if that is known. As it came: not fit for a terminal.
    pub scopes: Vec<String>,
    /// When it ends, in seconds since 1970, if that is known.
    pub expires: Option<u64>,
    /// Whether it can be refreshed without a person.
    pub can_refresh: bool,
}

impl Auth {
    /// Logs in anew, whatever is held: by opening the browser that is set, or in the way of the grant. What
    /// calls were refused for, in this process or another with the same store, is asked for too.
    ///
    /// # Errors
    ///
    /// [`AuthError`], if it fails. What was held before is held still.
    pub async fn login(&self) -> Result<Status, AuthError> {
        let inner = &self.inner;
        if inner.settings.grant.needs_a_person() && inner.settings.browser.is_none() {
            return Err(AuthError::Settings("there is no browser set to log in with".to_owned()));
        }
        {
            let _flight = inner.flight.lock().await;
            inner.load_if_whole().await?;
            let before = inner.state().held.as_ref().map(|it| it.credentials.clone());
            let challenge: Challenge = inner.fetcher.challenge(&inner.server).await?;
            inner.obtain(&challenge, before.as_ref()).await?;
            let mut state = inner.state();
            state.failure = None;
            state.step_ups = 0;
        }
        self.status().await
    }

    /// Forgets the login, here and in the store, and asks the authorization server to do so too. Returns
    /// whether there was one.
    ///
    /// # Errors
    ///
    /// [`AuthError::Store`], if it cannot be forgotten.
    pub async fn logout(&self) -> Result<bool, AuthError> {
        let inner = &self.inner;
        let _flight = inner.flight.lock().await;
        inner.load_if_whole().await?;
        let held = inner.state().held.take();
        inner.state().is_unsaved = false;
        let removed = inner.with_store(TokenStore::remove).await?;
        if let Some(held) = held {
            revoke(inner, &held.credentials).await;
        }
        inner.state().failure = None;
        Ok(removed)
    }

    /// What is known about the login, after a look into the store unless somebody is logging in just now.
    ///
    /// # Errors
    ///
    /// [`AuthError::Store`], if it cannot be found out.
    pub async fn status(&self) -> Result<Status, AuthError> {
        let inner = &self.inner;
        if let Ok(_flight) = inner.flight.try_lock() {
            inner.load().await?;
        }
        let Some(held) = inner.state().held.clone() else { return Ok(Status::default()) };
        let credentials = &held.credentials;
        let Some(tokens) = &credentials.tokens else { return Ok(Status::default()) };
        let can_refresh = tokens.refresh.is_some() || !inner.settings.grant.needs_a_person();
        Ok(Status {
            is_logged_in: can_refresh || !tokens.is_expired(),
            issuer: credentials.issuer.clone(),
            scopes: tokens.granted.clone().unwrap_or_else(|| credentials.asked.clone()),
            expires: tokens.expires(),
            can_refresh,
        })
    }
}
