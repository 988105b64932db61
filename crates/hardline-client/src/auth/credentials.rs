//! What is known about one server between sessions: who gives out its tokens, as whom we are known
//! there, and the tokens.

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::client::Client;
use super::discovery::Discovered;
use super::error::AuthError;
use super::jwt::SigningKey;
use super::secret::Secret;
use super::{clock, dpop};

/// How long before its end a token is not used any more, at most a tenth of its life.
const MARGIN_SECONDS: u64 = 30;

/// Everything about one server. Bound to its issuer: nothing in here is ever shown to another one.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Credentials {
    /// What the tokens are for, as the server writes it.
    pub(super) resource: String,
    pub(super) issuer: Option<String>,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: Option<Client>,
    /// The scopes that were asked for so far.
    pub(super) asked: Vec<String>,
    /// Those that a call was refused for since the last login, which the next one asks for too.
    #[serde(default)]
    pub(super) wanted: Vec<String>,
    pub(super) tokens: Option<Tokens>,
    /// The key that the tokens are bound to.
    pub(super) key: Option<Secret>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) is_bound: bool,
    /// When it was given out, in seconds since 1970.
    pub(super) since: u64,
    /// For how many seconds it is good, if the authorization server says so.
    pub(super) lifetime: Option<u64>,
    /// The scopes that were granted, if it says so.
    pub(super) granted: Option<Vec<String>>,
}

impl Tokens {
    pub(super) fn expires(&self) -> Option<u64> {
        self.lifetime.map(|lifetime| self.since.saturating_add(lifetime))
    }

    /// Whether it is over, or about to be.
    pub(super) fn is_stale(&self) -> bool {
        self.lifetime.is_some_and(|lifetime| {
            let margin = MARGIN_SECONDS.min(lifetime / 10);
            self.since.saturating_add(lifetime - margin) <= clock::now()
        })
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expires().is_some_and(|end| end <= clock::now())
    }
}

/// Credentials in use.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) credentials: Credentials,
    pub(super) key: Option<SigningKey>,
    /// Since when they are held here.
    pub(super) since: Instant,
}

impl Held {
    pub(super) fn new(credentials: Credentials, since: Instant) -> Result<Self, AuthError> {
        let key = credentials.key.as_ref();
        let key = key.map(|it| SigningKey::from_base64(it.reveal())).transpose()?;
        Ok(Self { credentials, key, since })
    }

    pub(super) fn access(&self) -> Option<&str> {
        self.credentials.tokens.as_ref().map(|it| it.access.reveal())
    }

    /// The value of `Authorization`, and that of `DPoP` if the token is bound to a key.
    pub(super) fn headers(
        &self,
        method: &str,
        url: &str,
        nonce: Option<&str>,
    ) -> Result<Option<(String, Option<String>)>, AuthError> {
        let Some(tokens) = &self.credentials.tokens else { return Ok(None) };
        let access = tokens.access.reveal();
        match self.key.as_ref().filter(|_| tokens.is_bound) {
            Some(key) => {
                let proof = dpop::proof(key, method, url, nonce, Some(access))?;
                Ok(Some((format!("DPoP {access}"), Some(proof))))
            }
            None => Ok(Some((format!("Bearer {access}"), None))),
        }
    }
}

impl Credentials {
    /// Those of a server that nothing is known of but who gives out its tokens.
    pub(super) fn new(found: &Discovered) -> Self {
        Self {
            resource: found.resource.clone(),
            issuer: found.issuer.clone(),
            token_endpoint: found.token_endpoint.to_string(),
            revocation_endpoint: found.revocation_endpoint.as_ref().map(ToString::to_string),
            client: None,
            asked: Vec::new(),
            wanted: Vec::new(),
            tokens: None,
            key: None,
        }
    }

    /// Whether they come from the authorization server that was found.
    pub(super) fn is_of(&self, found: &Discovered) -> bool {
        match (&self.issuer, &found.issuer) {
            (Some(one), Some(other)) => one == other,
            (None, None) => self.token_endpoint == found.token_endpoint.as_str(),
            _ => false,
        }
    }
}

/// Both lists, each scope once, in the order of their coming.
pub(super) fn union(first: &[String], second: &[String]) -> Vec<String> {
    let mut all = first.to_vec();
    for scope in second {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}
