//! Tokens on requests, and what is done about a request that is refused.

use std::sync::Arc;

use hardline_transport::client::{BoxFuture, TransportError};
use hardline_transport::http::{HeaderSource, Headers, Next, Refusal, Target};
use reqwest::Url;

use super::challenge::Challenge;
use super::credentials::{Held, Tokens};
use super::dpop;
use super::error::{AuthError, shown};
use super::renewal::{Cause, Kind, MAX_STEP_UPS};
use super::state::{Auth, Inner};

impl HeaderSource for Auth {
    fn headers<'a>(&'a self, target: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>> {
        Box::pin(async move { Ok(self.inner.headers(target).await?) })
    }

    fn refused<'a>(&'a self, refusal: Refusal<'a>) -> BoxFuture<'a, Result<Next, TransportError>> {
        Box::pin(async move {
            let challenge = Challenge::parse(refusal.hints.www_authenticate.as_deref());
            Ok(match refusal.status {
                401 => self.inner.unknown(&refusal, challenge).await?,
                403 if challenge.is("insufficient_scope") => {
                    self.inner.too_little(&refusal, challenge).await?
                }
                _ => Next::GiveUp,
            })
        })
    }
}

impl Inner {
    async fn headers(self: &Arc<Self>, target: Target<'_>) -> Result<Headers, AuthError> {
        let none = Headers::new();
        let is_ours = Url::parse(target.url).is_ok_and(|it| it.origin() == self.server.origin());
        let Some(mut held) = self.held().await?.filter(|_| is_ours) else { return Ok(none) };
        if self.can_renew_ahead(&held) {
            let sent = held.access().map(str::to_owned);
            let challenge = Challenge::default();
            let cause = Cause { kind: Kind::Expiring, sent, challenge };
            let renewed = Arc::clone(self).renew(cause).await;
            let is_over = held.credentials.tokens.as_ref().is_some_and(Tokens::is_expired);
            match renewed {
                // It is good for a moment still, or the server says that it is not.
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
        let unsendable = |_| AuthError::Store("the token that is kept cannot be sent".to_owned());
        let headers = none.with("Authorization", &authorization).map_err(unsendable)?;
        match proof {
            Some(proof) => headers.with("DPoP", &proof).map_err(unsendable),
            None => Ok(headers),
        }
    }

    /// Whether a token is about to expire and can be renewed without a person.
    fn can_renew_ahead(&self, held: &Held) -> bool {
        let Some(tokens) = &held.credentials.tokens else { return false };
        let is_quiet = tokens.refresh.is_some() || !self.settings.grant.needs_a_person();
        is_quiet && tokens.is_stale()
    }

    /// The server does not know the token, or wants to see one.
    async fn unknown(
        self: &Arc<Self>,
        refusal: &Refusal<'_>,
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
        let is_fresh = held.is_some_and(|held| {
            held.access() == sent.as_deref() && sent.is_some() && refusal.since <= held.since
        });
        if is_fresh && 0 < refusal.attempt {
            return Err(AuthError::Login(format!(
                "{} does not accept the token that its own authorization server has just given out",
                self.shown()
            )));
        }
        let cause = Cause { kind: Kind::Refused, sent, challenge };
        Arc::clone(self).renew(cause).await?;
        Ok(Next::SendAgain)
    }

    /// The token does not permit enough.
    async fn too_little(
        self: &Arc<Self>,
        refusal: &Refusal<'_>,
        challenge: Challenge,
    ) -> Result<Next, AuthError> {
        let sent = sent(refusal);
        let held = self.held().await?;
        if let Some(held) = held.filter(|it| it.access() == sent.as_deref()) {
            let asked = &held.credentials.asked;
            if challenge.scopes.is_empty() {
                return Err(AuthError::Required(format!(
                    "{} wants a further permission, and does not say which: log in as somebody who has it",
                    self.shown()
                )));
            }
            if challenge.scopes.iter().all(|scope| asked.contains(scope)) {
                return Err(AuthError::Required(format!(
                    "{} wants the permission {}, which was asked for but is not given: log in as somebody who has it",
                    self.shown(),
                    shown(&challenge.scopes.join(" "))
                )));
            }
            let mut state = self.state();
            // Where nobody can be asked, nothing is asked for.
            state.step_ups += u32::from(self.can_obtain());
            if MAX_STEP_UPS < state.step_ups {
                return Err(AuthError::Required(format!(
                    "{} wants ever further permissions, {} now: {}",
                    self.shown(),
                    shown(&challenge.scopes.join(" ")),
                    self.settings.advice
                )));
            }
        }
        let cause = Cause { kind: Kind::StepUp, sent, challenge };
        Arc::clone(self).renew(cause).await?;
        Ok(Next::SendAgain)
    }
}

/// The token that was sent with a request.
fn sent(refusal: &Refusal<'_>) -> Option<String> {
    let value = refusal.sent.get("Authorization")?;
    value.split_once(' ').map(|(_, token)| token.to_owned())
}
