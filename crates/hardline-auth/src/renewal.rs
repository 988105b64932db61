//! Token renewal: one attempt at a time, whose outcome all waiting requests share.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::time::Instant;

use crate::challenge::{Challenge, MAX_SCOPES};
use crate::credentials::{ActiveCredentials, Credentials, Tokens, union};
use crate::discovery::{Discovered, discover, parse, still_names};
use crate::error::{AuthError, shown};
use crate::grant;
use crate::state::Inner;
use crate::token::TokenRequest;

/// Pause after a failure that may be temporary.
const SHORT_PAUSE: Duration = Duration::from_secs(1);
/// Pause after a failed interactive login, before a browser is opened again without being asked.
const LONG_PAUSE: Duration = Duration::from_secs(60);
/// Limit on requests for further scopes between two logins.
pub(crate) const MAX_STEP_UPS: u32 = 8;

/// The reason for a renewal.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    pub(crate) kind: CauseKind,
    /// Token that is no longer valid, if there was one.
    pub(crate) sent: Option<String>,
    pub(crate) challenge: Challenge,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CauseKind {
    /// The token is about to expire.
    Expiring,
    /// The server rejected the token.
    Refused,
    /// The token lacks a scope.
    StepUp,
}

/// A failed renewal.
#[derive(Clone)]
pub(crate) struct RenewalFailure {
    cause: Cause,
    error: AuthError,
    at: Instant,
    /// Time during which the same renewal is not attempted again.
    pause: Duration,
}

impl Inner {
    /// Replaces the token that was sent with a new one.
    ///
    /// The work continues even if the caller stops waiting. A refresh token is often valid only once, so
    /// dropping the response would lose the login.
    pub(crate) async fn renew(self: Arc<Self>, cause: Cause) -> Result<(), AuthError> {
        let entered = Instant::now();
        // In a task: a caller that gives up must not abort a refresh that may have spent the token.
        let task = tokio::spawn(async move { self.renew_exclusively(&cause, entered).await });
        let interrupted = |_| Err(AuthError::Login("the renewal was interrupted".to_owned()));
        task.await.unwrap_or_else(interrupted)
    }

    async fn renew_exclusively(&self, cause: &Cause, entered: Instant) -> Result<(), AuthError> {
        let _update = self.update.lock().await;
        let failure = self.state().failure.clone().filter(|it| it.is_near(cause, entered));
        // Another request may have renewed the token while this one waited for the lock.
        if self.has_other_than(cause) {
            return Ok(());
        }
        if let Some(failure) = failure.as_ref().filter(|it| it.covers(cause)) {
            return Err(failure.error.clone());
        }
        // The user has just declined a login for other scopes; do not open another page right away.
        if failure.is_some_and(|it| it.pause == LONG_PAUSE) {
            return self.defer_step_up(cause).await;
        }
        let outcome = self.renew_now(cause).await;
        self.state().failure = outcome.clone().err().map(|error| {
            let opened = cause.kind != CauseKind::Expiring && self.settings.browser.is_some();
            // A page that the user has just closed should not open again with the next request.
            let was_declined = opened && !error.is_passing();
            RenewalFailure {
                cause: cause.clone(),
                error,
                at: Instant::now(),
                pause: if was_declined { LONG_PAUSE } else { SHORT_PAUSE },
            }
        });
        outcome
    }

    /// Returns true if the token in use differs from the one that was sent.
    fn has_other_than(&self, cause: &Cause) -> bool {
        let state = self.state();
        let access = state.held.as_ref().and_then(|it| it.access());
        access.is_some() && access != cause.sent.as_deref()
    }

    /// Leaves a further scope to the next login, because the user has just declined a login.
    async fn defer_step_up(&self, cause: &Cause) -> Result<(), AuthError> {
        let _lock = self.lock().await?;
        self.load().await?;
        if self.has_other_than(cause) {
            return Ok(());
        }
        self.remember_scopes(&cause.challenge.scopes).await;
        Err(self.required(cause))
    }

    async fn renew_now(&self, cause: &Cause) -> Result<(), AuthError> {
        let lock = self.lock().await?;
        // Another process may have refreshed the token, or the user may have logged in there.
        self.load().await?;
        if self.has_other_than(cause) {
            return Ok(());
        }
        let held = self.state().held.clone();
        let is_interactive = self.settings.grant.is_interactive();
        if let Some(held) =
            held.as_ref().filter(|_| is_interactive && cause.kind != CauseKind::StepUp)
        {
            match self.refresh(held, cause).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if is_final(&error) => {
                    tracing::debug!(%error, "the refresh token is no longer valid");
                    // Forget the tokens, but keep the registered client and the scopes for the next login.
                    let emptied = Credentials { tokens: None, ..held.credentials.clone() };
                    self.save(emptied).await?;
                }
                Err(AuthError::Refused { server, what, code, reason }) => {
                    let reason = format!("{reason}; {}", self.settings.advice);
                    return Err(AuthError::Refused { server, what, code, reason });
                }
                Err(error) => return Err(error),
            }
        }
        if cause.kind == CauseKind::Expiring && is_interactive || !self.can_obtain() {
            if cause.kind == CauseKind::StepUp {
                self.remember_scopes(&cause.challenge.scopes).await;
            }
            return Err(self.required(cause));
        }
        // A login by a person takes longer than other processes should wait.
        let _lock = lock.filter(|_| !is_interactive);
        let before = held.map(|it| it.credentials.clone());
        self.obtain(&cause.challenge, before.as_ref()).await
    }

    /// Returns true if a token can be obtained here: with a browser, or without a person.
    pub(crate) fn can_obtain(&self) -> bool {
        self.settings.browser.is_some() || !self.settings.grant.is_interactive()
    }

    /// Remembers the scopes for which a call was refused, until the next login in any process. The caller must
    /// have loaded the credentials under the lock.
    async fn remember_scopes(&self, scopes: &[String]) {
        // Unsaved credentials are older than what another process may have saved since.
        if self.state().is_unsaved {
            return;
        }
        let Some(held) = self.state().held.clone() else { return };
        let credentials = &held.credentials;
        let mut wanted = union(&credentials.wanted, scopes);
        // Keeps the newest scopes if the union would grow without a bound.
        if wanted.len() > MAX_SCOPES {
            wanted = scopes.to_vec();
        }
        if wanted != credentials.wanted {
            self.save_scopes(&held, credentials.asked.clone(), wanted).await;
        }
    }

    /// Handles a rejected login: the scopes for which calls were refused may be the reason, so the next login
    /// does not request them. If there were none, the scopes of earlier logins may no longer exist.
    ///
    /// `before` are the credentials before the login, and `scopes` computes the scopes of a login that starts
    /// from given credentials. Another process may have changed the store since, so it is loaded again.
    async fn drop_rejected_scopes(
        &self,
        error: AuthError,
        before: &Credentials,
        scopes: impl Fn(&Credentials) -> Vec<String>,
    ) -> AuthError {
        let Ok(_lock) = self.lock().await else { return error };
        // Unsaved credentials are older than what another process may have saved since.
        if self.state().is_unsaved || self.load().await.is_err() {
            return error;
        }
        let held = self.state().held.clone();
        let Some(held) = held.filter(|it| it.credentials.issuer == before.issuer) else {
            return error;
        };
        let tried = scopes(before);
        let mut remaining = held.credentials.clone();
        // Scopes that were refused would fail the next login as well.
        remaining.wanted.retain(|it| !tried.contains(it));
        let is_outdated = before.wanted.is_empty() && error.has_code("invalid_scope");
        if is_outdated && remaining.asked == before.asked {
            remaining.asked.clear();
        }
        let next = scopes(&remaining);
        let dropped: Vec<_> = tried.into_iter().filter(|it| !next.contains(it)).collect();
        let Credentials { asked, wanted, .. } = remaining;
        if (&asked, &wanted) != (&held.credentials.asked, &held.credentials.wanted) {
            self.save_scopes(&held, asked, wanted).await;
        }
        if dropped.is_empty() {
            return error;
        }
        error.with_note(&format!(
            "the next login will not request {}, which this one requested because it was needed before",
            shown(&dropped.join(" "))
        ))
    }

    /// Refreshes the token. Returns false if there is no refresh token that may be used.
    async fn refresh(&self, held: &ActiveCredentials, cause: &Cause) -> Result<bool, AuthError> {
        let credentials = &held.credentials;
        let tokens = credentials.tokens.as_ref();
        let Some(refresh) = tokens.and_then(|it| it.refresh.clone()) else { return Ok(false) };
        // A server that has moved to another issuer must not get us to send a token to the old one.
        if cause.kind == CauseKind::Refused
            && let Some(issuer) = &credentials.issuer
            && !still_names(&self.fetcher, &self.server, &cause.challenge, issuer).await
        {
            return Ok(false);
        }
        let endpoint = parse(&self.server, &credentials.token_endpoint, "token endpoint")?;
        let request = TokenRequest {
            endpoint: &endpoint,
            client: credentials.client.as_ref(),
            key: held.key.as_ref(),
            what: "to refresh the login",
        };
        let form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh.reveal().to_owned()),
            ("resource", credentials.resource.clone()),
        ];
        let new = request.send(&self.fetcher, form).await?;
        let granted = new.granted.clone().or_else(|| tokens.and_then(|it| it.granted.clone()));
        // Servers without rotation return no new refresh token.
        let refresh = new.refresh.clone().or(Some(refresh));
        let tokens = Some(Tokens { refresh, granted, ..new });
        let saved = self.save(Credentials { tokens, ..credentials.clone() }).await;
        if let Err(error) = saved {
            // The new tokens are valid in this process nevertheless.
            tracing::warn!(%error, "could not save the refreshed tokens");
        }
        Ok(true)
    }

    /// Obtains new tokens with the grant in the settings, and saves them.
    pub(crate) async fn obtain(
        &self,
        challenge: &Challenge,
        before: Option<&Credentials>,
    ) -> Result<(), AuthError> {
        let known = before.and_then(|it| it.issuer.as_deref());
        let known = self.settings.issuer.as_deref().or(known);
        let (fetcher, settings) = (&self.fetcher, &self.settings);
        let found = discover(fetcher, &self.server, challenge, known).await?;
        self.check_issuer(&found, before)?;
        let credentials = if settings.grant.is_interactive() {
            match grant::login(fetcher, settings, &found, challenge, before).await {
                Ok(credentials) => credentials,
                Err(error) => {
                    let was_rejected =
                        matches!(error, AuthError::Refused { .. } | AuthError::Declined { .. });
                    let before = before.filter(|it| was_rejected && it.is_of(&found));
                    let Some(before) = before else { return Err(error) };
                    let scopes =
                        |it: &Credentials| grant::scopes(settings, &found, challenge, Some(it));
                    return Err(self.drop_rejected_scopes(error, before, scopes).await);
                }
            }
        } else {
            grant::fetch(fetcher, settings, &self.server, &found, challenge, before).await?
        };
        // A refresh that another process has started must not save its tokens after these.
        let _lock =
            if settings.grant.is_interactive() { self.lock().await.ok().flatten() } else { None };
        self.save(credentials).await
    }

    /// Refuses to send a client registration of one authorization server to another.
    fn check_issuer(
        &self,
        found: &Discovered,
        before: Option<&Credentials>,
    ) -> Result<(), AuthError> {
        let issuer = found.issuer.as_deref().unwrap_or_default();
        if let Some(wanted) = &self.settings.issuer
            // Some issuers are written with a slash at the end, some without.
            && wanted.trim_end_matches('/') != issuer.trim_end_matches('/')
        {
            return Err(AuthError::Metadata(format!(
                "{} wants a login at {}, but only {} is trusted with it",
                self.shown(),
                shown(issuer),
                shown(wanted)
            )));
        }
        // The client's own secret belongs to one issuer, and a server must not name another.
        let is_own = self.settings.client_id.is_some() || !self.settings.grant.is_interactive();
        let is_new = before.is_some_and(|it| !it.is_of(found));
        if is_own && is_new && self.settings.issuer.is_none() {
            return Err(AuthError::Metadata(format!(
                "{} wants a login at another authorization server than before, {}, and the client's credentials are not sent there; if the change is right, log out first",
                self.shown(),
                shown(issuer)
            )));
        }
        Ok(())
    }

    /// Creates the error that asks the user to log in.
    pub(crate) fn required(&self, cause: &Cause) -> AuthError {
        let (server, advice) = (self.shown(), &self.settings.advice);
        AuthError::Required(match (cause.kind, &cause.sent) {
            (CauseKind::StepUp, _) => {
                let scopes = shown(&cause.challenge.scopes.join(" "));
                format!("{server} wants the further permission {scopes}: {advice}")
            }
            (_, None) => format!("{server} wants a login: {advice}"),
            (_, Some(_)) => format!("the login at {server} has ended: {advice}"),
        })
    }
}

impl RenewalFailure {
    /// Returns true if the failure was recent and concerned the same token.
    fn is_near(&self, cause: &Cause, entered: Instant) -> bool {
        let is_same = self.cause.kind == cause.kind && self.cause.sent == cause.sent;
        is_same && (entered <= self.at || self.at.elapsed() < self.pause)
    }

    /// Returns true if the failure also answers this cause: it needs no scope beyond those already tried.
    fn covers(&self, cause: &Cause) -> bool {
        let tried = &self.cause.challenge.scopes;
        cause.kind != CauseKind::StepUp
            || cause.challenge.scopes.iter().all(|it| tried.contains(it))
    }
}

/// Returns true if the refresh token is no longer valid.
fn is_final(error: &AuthError) -> bool {
    ["invalid_grant", "invalid_client", "unauthorized_client"].iter().any(|it| error.has_code(it))
}

/// Asks the authorization server to revoke the token, if it supports that. Failures are only logged.
pub(crate) async fn revoke(inner: &Inner, credentials: &Credentials) {
    let (Some(endpoint), Some(tokens)) = (&credentials.revocation_endpoint, &credentials.tokens)
    else {
        return;
    };
    let Ok(endpoint): Result<Url, _> = parse(&inner.server, endpoint, "revocation endpoint") else {
        return;
    };
    // The refresh token lives longer, and its end ends the tokens made from it.
    let (token, hint) = match &tokens.refresh {
        Some(refresh) => (refresh, "refresh_token"),
        None => (&tokens.access, "access_token"),
    };
    let client = credentials.client.as_ref();
    let request = TokenRequest { endpoint: &endpoint, client, key: None, what: "to log out" };
    let form = vec![("token", token.reveal().to_owned()), ("token_type_hint", hint.to_owned())];
    if let Err(error) = request.send_for(&inner.fetcher, form, "").await {
        tracing::debug!(%error, "could not confirm that the authorization server revoked the token");
    }
}
