//! The stored credentials for one server: its authorization server, our client registration there, and the
//! tokens.

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::client::RegisteredClient;
use crate::discovery::Discovered;
use crate::error::AuthError;
use crate::jwt::SigningKey;
use crate::secret::Secret;
use crate::{clock, dpop};

/// Time before its expiry from which a token counts as stale, at most a tenth of its lifetime.
const MARGIN_SECONDS: u64 = 30;

/// The credentials for one server. They belong to one issuer and are never sent to another.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Credentials {
    /// Resource that the tokens are for, as the server writes it.
    pub(crate) resource: String,
    pub(crate) issuer: Option<String>,
    pub(crate) token_endpoint: String,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client: Option<RegisteredClient>,
    /// Scopes that were requested so far.
    pub(crate) asked: Vec<String>,
    /// Scopes for which a call was refused since the last login. The next login requests them too.
    #[serde(default)]
    pub(crate) wanted: Vec<String>,
    pub(crate) tokens: Option<Tokens>,
    /// Private key that the tokens are bound to.
    pub(crate) key: Option<Secret>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Tokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    pub(crate) is_bound: bool,
    /// Time of issue, in seconds since 1970.
    pub(crate) since: u64,
    /// Lifetime in seconds, if the authorization server states it.
    pub(crate) lifetime: Option<u64>,
    /// Granted scopes, if the authorization server states them.
    pub(crate) granted: Option<Vec<String>>,
}

impl Tokens {
    pub(crate) fn expires(&self) -> Option<u64> {
        self.lifetime.map(|lifetime| self.since.saturating_add(lifetime))
    }

    /// Returns true if the token has expired or is about to.
    pub(crate) fn is_stale(&self) -> bool {
        self.lifetime.is_some_and(|lifetime| {
            // A short-lived token would otherwise be stale from the start.
            let margin = MARGIN_SECONDS.min(lifetime / 10);
            // The lifetime counts from our own clock, so a wrong clock of the server does no harm.
            self.since.saturating_add(lifetime - margin) <= clock::now()
        })
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.expires().is_some_and(|end| end <= clock::now())
    }
}

/// Credentials in use by this process.
#[derive(Debug)]
pub(crate) struct ActiveCredentials {
    pub(crate) credentials: Credentials,
    pub(crate) key: Option<SigningKey>,
    /// Time from which this process has used them.
    pub(crate) since: Instant,
}

impl ActiveCredentials {
    pub(crate) fn new(credentials: Credentials, since: Instant) -> Result<Self, AuthError> {
        let key = credentials.key.as_ref();
        let key = key.map(|it| SigningKey::from_base64(it.reveal())).transpose()?;
        Ok(Self { credentials, key, since })
    }

    pub(crate) fn access(&self) -> Option<&str> {
        self.credentials.tokens.as_ref().map(|it| it.access.reveal())
    }

    /// Returns the value of `Authorization`, and of `DPoP` if the token is bound to a key.
    pub(crate) fn headers(
        &self,
        method: &str,
        url: &str,
        nonce: Option<&str>,
    ) -> Result<Option<(String, Option<String>)>, AuthError> {
        let Some(tokens) = &self.credentials.tokens else { return Ok(None) };
        let access = tokens.access.reveal();
        // A bearer token sent with the DPoP scheme would be rejected.
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
    /// Creates credentials that contain only the endpoints of the authorization server.
    pub(crate) fn new(found: &Discovered) -> Self {
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

    /// Returns true if the credentials belong to this authorization server.
    pub(crate) fn is_of(&self, found: &Discovered) -> bool {
        match (&self.issuer, &found.issuer) {
            (Some(one), Some(other)) => one == other,
            // Without metadata there is no issuer, and the endpoint identifies the server.
            (None, None) => self.token_endpoint == found.token_endpoint.as_str(),
            _ => false,
        }
    }
}

/// Returns both lists in order, without repetitions.
pub(crate) fn union(first: &[String], second: &[String]) -> Vec<String> {
    let mut all = first.to_vec();
    for scope in second {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}
