//! Adds tokens to requests, and handles requests that the server rejects for lack of authorization.

use std::sync::Arc;

use hardline_transport::client::{BoxFuture, TransportError};
use hardline_transport::http::{HeaderRefusal, HeaderSource, Headers, Next, Target};
use reqwest::Url;

use crate::challenge::Challenge;
use crate::credentials::{ActiveCredentials, Tokens};
use crate::dpop;
use crate::error::{AuthError, shown};
use crate::renewal::{Cause, CauseKind, MAX_STEP_UPS};
use crate::state::{Auth, Inner};

impl HeaderSource for Auth {
    fn headers<'a>(&'a self, target: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>> {
        Box::pin(async move { Ok(self.inner.headers(target).await?) })
    }

    fn refused<'a>(
        &'a self,
        refusal: HeaderRefusal<'a>,
    ) -> BoxFuture<'a, Result<Next, TransportError>> {
        Box::pin(async move {
            let challenge = Challenge::parse(refusal.hints.www_authenticate.as_deref());
            Ok(match refusal.status {
                401 => self.inner.handle_unauthorized(&refusal, challenge).await?,
                403 if challenge.is("insufficient_scope") => {
                    self.inner.handle_insufficient_scope(&refusal, challenge).await?
                }
                _ => Next::GiveUp,
            })
        })
    }
}

impl Inner {
    async fn headers(self: &Arc<Self>, target: Target<'_>) -> Result<Headers, AuthError> {
        let none = Headers::new();
        // The token must not follow a redirect or an endpoint to another origin.
        let is_ours = Url::parse(target.url).is_ok_and(|it| it.origin() == self.server.origin());
        let Some(mut held) = self.held().await?.filter(|_| is_ours) else { return Ok(none) };
        if self.can_renew_ahead(&held) {
            let sent = held.access().map(str::to_owned);
            let challenge = Challenge::default();
            let cause = Cause { kind: CauseKind::Expiring, sent, challenge };
            let renewed = Arc::clone(self).renew(cause).await;
            let is_over = held.credentials.tokens.as_ref().is_some_and(Tokens::is_expired);
            match renewed {
                // The token may be valid for another moment; if not, the server rejects it.
                Err(_) if !is_over => {}
                Err(error) if error.is_passing() => return Err(error),
                _ => match self.held().await? {
                    Some(now) => held = now,
                    None => return Ok(none),
                },
            }
        }
        let nonce = self.state().nonce.clone();
        let headers = held.headers(target.method, target.url, nonce.as_deref())?;
        let Some((authorization, proof)) = headers else { return Ok(none) };
        let unsendable = |_| {
            AuthError::Store(
                "the stored token is not a valid header value; log in again".to_owned(),
            )
        };
        let headers = none.with("Authorization", &authorization).map_err(unsendable)?;
        match proof {
            Some(proof) => headers.with("DPoP", &proof).map_err(unsendable),
            None => Ok(headers),
        }
    }

    /// Returns true if the token is about to expire and can be renewed without a person.
    fn can_renew_ahead(&self, held: &ActiveCredentials) -> bool {
        let Some(tokens) = &held.credentials.tokens else { return false };
        let is_unattended = tokens.refresh.is_some() || !self.settings.grant.is_interactive();
        is_unattended && tokens.is_stale()
    }

    /// Handles status 401: the server rejects the token, or requires one.
    async fn handle_unauthorized(
        self: &Arc<Self>,
        refusal: &HeaderRefusal<'_>,
        challenge: Challenge,
    ) -> Result<Next, AuthError> {
        let sent = sent(refusal);
        if challenge.is("use_dpop_nonce") && refusal.sent.get("DPoP").is_some() {
            let wanted = dpop::nonce(refusal.hints.dpop_nonce.as_deref());
            let mut state = self.state();
            let is_new = wanted.is_some() && state.nonce != wanted;
            state.nonce = wanted;
            return Ok(if is_new { Next::SendAgain } else { Next::GiveUp });
        }
        let held = self.held().await?;
        // Retrying a token that was issued after the request began would loop forever.
        let is_fresh = held.is_some_and(|held| {
            held.access() == sent.as_deref() && sent.is_some() && refusal.since <= held.since
        });
        if is_fresh && refusal.attempt > 0 {
            return Err(AuthError::Login(format!(
                "{} does not accept the token that its own authorization server has just given out",
                self.shown()
            )));
        }
        let cause = Cause { kind: CauseKind::Refused, sent, challenge };
        Arc::clone(self).renew(cause).await?;
        Ok(Next::SendAgain)
    }

    /// Handles status 403 with `insufficient_scope`: requests the missing scopes.
    async fn handle_insufficient_scope(
        self: &Arc<Self>,
        refusal: &HeaderRefusal<'_>,
        challenge: Challenge,
    ) -> Result<Next, AuthError> {
        let sent = sent(refusal);
        let held = self.held().await?;
        if let Some(held) = held.filter(|it| it.access() == sent.as_deref()) {
            let asked = &held.credentials.asked;
            if challenge.scopes.is_empty() {
                return Err(AuthError::Required(format!(
                    "{} wants a further permission, and does not say which: log in with an account that has it",
                    self.shown()
                )));
            }
            if challenge.scopes.iter().all(|scope| asked.contains(scope)) {
                return Err(AuthError::Required(format!(
                    "{} wants the permission {}, which was asked for but not granted: log in with an account that has it",
                    self.shown(),
                    shown(&challenge.scopes.join(" "))
                )));
            }
            let mut state = self.state();
            // Without a way to obtain a token, nothing is requested, so it does not count.
            state.step_ups += u32::from(self.can_obtain());
            if state.step_ups > MAX_STEP_UPS {
                return Err(AuthError::Required(format!(
                    "{} keeps requesting further permissions, now {}: {}",
                    self.shown(),
                    shown(&challenge.scopes.join(" ")),
                    self.settings.advice
                )));
            }
        }
        let cause = Cause { kind: CauseKind::StepUp, sent, challenge };
        Arc::clone(self).renew(cause).await?;
        Ok(Next::SendAgain)
    }
}

/// Returns the token that was sent with the rejected request.
fn sent(refusal: &HeaderRefusal<'_>) -> Option<String> {
    let value = refusal.sent.get("Authorization")?;
    value.split_once(' ').map(|(_, token)| token.to_owned())
}
