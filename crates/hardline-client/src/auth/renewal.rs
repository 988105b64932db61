//! New tokens for old ones: one attempt at a time, whose outcome is everybody's.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::time::Instant;

use super::challenge::{Challenge, MAX_SCOPES};
use super::credentials::{Credentials, Held, Tokens, union};
use super::discovery::{Discovered, discover, parse, still_names};
use super::error::{AuthError, shown};
use super::grant;
use super::state::Inner;
use super::token::TokenRequest;

/// How long what failed is not tried again, if it may work a little later.
const SHORT_PAUSE: Duration = Duration::from_secs(1);
/// How long a browser is not opened again of its own accord after a login that failed.
const LONG_PAUSE: Duration = Duration::from_secs(60);
/// How often a further scope is asked for between two logins.
pub(super) const MAX_STEP_UPS: u32 = 8;

/// Why new tokens are wanted.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    pub(super) kind: Kind,
    /// The token that is not good any more, if there was one.
    pub(super) sent: Option<String>,
    pub(super) challenge: Challenge,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// It is about to expire.
    Expiring,
    /// The server refused it.
    Refused,
    /// It does not permit enough.
    StepUp,
}

/// How a renewal failed.
#[derive(Clone)]
pub(super) struct Failure {
    cause: Cause,
    error: AuthError,
    at: Instant,
    /// How long the same is not tried again.
    pause: Duration,
}

impl Inner {
    /// Sees to it that another token is held than the one that was sent.
    ///
    /// The work goes on even if nobody waits for it any more: a refresh token that was used is worth
    /// nothing, and the new one must not be lost.
    pub(super) async fn renew(self: Arc<Self>, cause: Cause) -> Result<(), AuthError> {
        let entered = Instant::now();
        let task = tokio::spawn(async move { self.renew_alone(&cause, entered).await });
        let lost = |_| Err(AuthError::Login("it was interrupted".to_owned()));
        task.await.unwrap_or_else(lost)
    }

    async fn renew_alone(&self, cause: &Cause, entered: Instant) -> Result<(), AuthError> {
        let _flight = self.flight.lock().await;
        let failure = self.state().failure.clone().filter(|it| it.is_near(cause, entered));
        if self.has_other_than(cause) {
            return Ok(());
        }
        if let Some(failure) = failure.as_ref().filter(|it| it.covers(cause)) {
            return Err(failure.error.clone());
        }
        if failure.is_some_and(|it| it.pause == LONG_PAUSE) {
            return self.put_off(cause).await;
        }
        let outcome = self.renew_now(cause).await;
        self.state().failure = outcome.clone().err().map(|error| {
            let opened = cause.kind != Kind::Expiring && self.settings.browser.is_some();
            let is_last = opened && !error.is_passing();
            Failure {
                cause: cause.clone(),
                error,
                at: Instant::now(),
                pause: if is_last { LONG_PAUSE } else { SHORT_PAUSE },
            }
        });
        outcome
    }

    /// Whether a token is held that is another one than that which was sent.
    fn has_other_than(&self, cause: &Cause) -> bool {
        let state = self.state();
        let access = state.held.as_ref().and_then(|it| it.access());
        access.is_some() && access != cause.sent.as_deref()
    }

    /// Leaves a further permission to the next login, as somebody has just said no to another one.
    async fn put_off(&self, cause: &Cause) -> Result<(), AuthError> {
        let _lock = self.lock().await?;
        self.load().await?;
        if self.has_other_than(cause) {
            return Ok(());
        }
        self.remember(&cause.challenge.scopes).await;
        Err(self.required(cause))
    }

    async fn renew_now(&self, cause: &Cause) -> Result<(), AuthError> {
        let lock = self.lock().await?;
        // Another process may have been faster, or a person have logged in.
        self.load().await?;
        if self.has_other_than(cause) {
            return Ok(());
        }
        let held = self.state().held.clone();
        let is_person = self.settings.grant.needs_a_person();
        if let Some(held) = held.as_ref().filter(|_| is_person && cause.kind != Kind::StepUp) {
            match self.refresh(held, cause).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if is_final(&error) => {
                    tracing::debug!(%error, "the refresh token is not good any more");
                    let emptied = Credentials { tokens: None, ..held.credentials.clone() };
                    self.keep(emptied).await?;
                }
                Err(AuthError::Refused { server, what, code, reason }) => {
                    let reason = format!("{reason}; {}", self.settings.advice);
                    return Err(AuthError::Refused { server, what, code, reason });
                }
                Err(error) => return Err(error),
            }
        }
        if cause.kind == Kind::Expiring && is_person || !self.can_obtain() {
            if cause.kind == Kind::StepUp {
                self.remember(&cause.challenge.scopes).await;
            }
            return Err(self.required(cause));
        }
        // A person takes longer than another process may be kept waiting.
        let _lock = lock.filter(|_| !is_person);
        let before = held.map(|it| it.credentials.clone());
        self.obtain(&cause.challenge, before.as_ref()).await
    }

    /// Whether tokens can be got here: by a person in front of a browser, or without one.
    pub(super) fn can_obtain(&self) -> bool {
        self.settings.browser.is_some() || !self.settings.grant.needs_a_person()
    }

    /// Keeps in mind what a call was refused for, until somebody logs in, in whatever process. What is held
    /// was loaded under the lock.
    async fn remember(&self, scopes: &[String]) {
        // What could not be kept is older than what somebody else may have kept.
        if self.state().is_unsaved {
            return;
        }
        let Some(held) = self.state().held.clone() else { return };
        let credentials = &held.credentials;
        let mut wanted = union(&credentials.wanted, scopes);
        if MAX_SCOPES < wanted.len() {
            wanted = scopes.to_vec();
        }
        if wanted != credentials.wanted {
            self.note(&held, credentials.asked.clone(), wanted).await;
        }
    }

    /// After a login that failed: what calls were refused for may be why, so the next one does without. If
    /// there was nothing of that, scopes that were given before may be gone.
    ///
    /// `before` is what the login began with, and `scopes` what one asks for that begins with something.
    /// Others may have changed what the store has since then, so it is looked at again.
    async fn forget_wanted(
        &self,
        error: AuthError,
        before: &Credentials,
        scopes: impl Fn(&Credentials) -> Vec<String>,
    ) -> AuthError {
        let Ok(_lock) = self.lock().await else { return error };
        // What could not be kept is older than what somebody else may have kept.
        if self.state().is_unsaved || self.load().await.is_err() {
            return error;
        }
        let held = self.state().held.clone();
        let Some(held) = held.filter(|it| it.credentials.issuer == before.issuer) else {
            return error;
        };
        let tried = scopes(before);
        let mut kept = held.credentials.clone();
        kept.wanted.retain(|it| !tried.contains(it));
        let is_gone = before.wanted.is_empty() && error.has_code("invalid_scope");
        if is_gone && kept.asked == before.asked {
            kept.asked.clear();
        }
        let next = scopes(&kept);
        let dropped: Vec<_> = tried.into_iter().filter(|it| !next.contains(it)).collect();
        let Credentials { asked, wanted, .. } = kept;
        if (&asked, &wanted) != (&held.credentials.asked, &held.credentials.wanted) {
            self.note(&held, asked, wanted).await;
        }
        if dropped.is_empty() {
            return error;
        }
        error.with_note(&format!(
            "the next login does not ask for {}, which this one asked for because it was wanted before",
            shown(&dropped.join(" "))
        ))
    }

    /// Refreshes what is held. `false` if that cannot be done.
    async fn refresh(&self, held: &Held, cause: &Cause) -> Result<bool, AuthError> {
        let credentials = &held.credentials;
        let tokens = credentials.tokens.as_ref();
        let Some(refresh) = tokens.and_then(|it| it.refresh.clone()) else { return Ok(false) };
        if cause.kind == Kind::Refused
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
        // Not every server gives out a new one.
        let refresh = new.refresh.clone().or(Some(refresh));
        let tokens = Some(Tokens { refresh, granted, ..new });
        let kept = self.keep(Credentials { tokens, ..credentials.clone() }).await;
        if let Err(error) = kept {
            // They are good for this process all the same.
            tracing::warn!(%error, "refreshed tokens are not kept");
        }
        Ok(true)
    }

    /// Gets tokens anew, in the way that the settings name.
    pub(super) async fn obtain(
        &self,
        challenge: &Challenge,
        before: Option<&Credentials>,
    ) -> Result<(), AuthError> {
        let known = before.and_then(|it| it.issuer.as_deref());
        let known = self.settings.issuer.as_deref().or(known);
        let (fetcher, settings) = (&self.fetcher, &self.settings);
        let found = discover(fetcher, &self.server, challenge, known).await?;
        self.check_issuer(&found, before)?;
        let credentials = if settings.grant.needs_a_person() {
            match grant::login(fetcher, settings, &found, challenge, before).await {
                Ok(credentials) => credentials,
                Err(error) => {
                    let is_no =
                        matches!(error, AuthError::Refused { .. } | AuthError::Declined { .. });
                    let before = before.filter(|it| is_no && it.is_of(&found));
                    let Some(before) = before else { return Err(error) };
                    let scopes =
                        |it: &Credentials| grant::scopes(settings, &found, challenge, Some(it));
                    return Err(self.forget_wanted(error, before, scopes).await);
                }
            }
        } else {
            grant::fetch(fetcher, settings, &self.server, &found, challenge, before).await?
        };
        // A refresh that another process has begun before is not to end after this.
        let _lock = match settings.grant.needs_a_person() {
            true => self.lock().await.ok().flatten(),
            false => None,
        };
        self.keep(credentials).await
    }

    /// Refuses to show to a new authorization server what was registered with another one.
    fn check_issuer(
        &self,
        found: &Discovered,
        before: Option<&Credentials>,
    ) -> Result<(), AuthError> {
        let issuer = found.issuer.as_deref().unwrap_or_default();
        if let Some(wanted) = &self.settings.issuer
            && wanted.trim_end_matches('/') != issuer.trim_end_matches('/')
        {
            return Err(AuthError::Metadata(format!(
                "{} wants a login at {}, but only {} is trusted with it",
                self.shown(),
                shown(issuer),
                shown(wanted)
            )));
        }
        let is_own = self.settings.client_id.is_some() || !self.settings.grant.needs_a_person();
        let is_new = before.is_some_and(|it| !it.is_of(found));
        if is_own && is_new && self.settings.issuer.is_none() {
            return Err(AuthError::Metadata(format!(
                "{} wants a login at another authorization server than before, {}, which is not shown what this client is known by: if that is right, log out first",
                self.shown(),
                shown(issuer)
            )));
        }
        Ok(())
    }

    /// Says that a person must do something.
    pub(super) fn required(&self, cause: &Cause) -> AuthError {
        let (server, advice) = (self.shown(), &self.settings.advice);
        AuthError::Required(match (cause.kind, &cause.sent) {
            (Kind::StepUp, _) => {
                let scopes = shown(&cause.challenge.scopes.join(" "));
                format!("{server} wants the further permission {scopes}: {advice}")
            }
            (_, None) => format!("{server} wants a login: {advice}"),
            (_, Some(_)) => format!("the login at {server} has ended: {advice}"),
        })
    }
}

impl Failure {
    /// Whether it is about the same token as this cause, and not long ago.
    fn is_near(&self, cause: &Cause, entered: Instant) -> bool {
        let is_same = self.cause.kind == cause.kind && self.cause.sent == cause.sent;
        is_same && (entered <= self.at || self.at.elapsed() < self.pause)
    }

    /// Whether one that is near is the answer to this cause too: no further permission is wanted.
    fn covers(&self, cause: &Cause) -> bool {
        let tried = &self.cause.challenge.scopes;
        cause.kind != Kind::StepUp || cause.challenge.scopes.iter().all(|it| tried.contains(it))
    }
}

/// Whether a refresh token is worth nothing any more.
fn is_final(error: &AuthError) -> bool {
    ["invalid_grant", "invalid_client", "unauthorized_client"].iter().any(|it| error.has_code(it))
}

/// Tells an authorization server to forget a token, if it can. What comes of it does not matter.
pub(super) async fn revoke(inner: &Inner, credentials: &Credentials) {
    let (Some(endpoint), Some(tokens)) = (&credentials.revocation_endpoint, &credentials.tokens)
    else {
        return;
    };
    let Ok(endpoint): Result<Url, _> = parse(&inner.server, endpoint, "revocation endpoint") else {
        return;
    };
    let (token, hint) = match &tokens.refresh {
        Some(refresh) => (refresh, "refresh_token"),
        None => (&tokens.access, "access_token"),
    };
    let client = credentials.client.as_ref();
    let request = TokenRequest { endpoint: &endpoint, client, key: None, what: "to log out" };
    let form = vec![("token", token.reveal().to_owned()), ("token_type_hint", hint.to_owned())];
    if let Err(error) = request.send_for(&inner.fetcher, form, "").await {
        tracing::debug!(%error, "the authorization server was told to forget the login");
    }
}
