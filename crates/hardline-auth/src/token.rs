//! Requests to a token endpoint.

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

use crate::challenge;
use crate::client::{RegisteredClient, refused};
use crate::credentials::Tokens;
use crate::error::AuthError;
use crate::fetch::{Fetched, Fetcher};
use crate::jwt::SigningKey;
use crate::secret::Secret;
use crate::{clock, dpop, form};

const FORM: &str = "application/x-www-form-urlencoded";
const DPOP: HeaderName = HeaderName::from_static("dpop");
const DPOP_NONCE: &str = "dpop-nonce";
/// Limit on the length of a token, which is sent with every request.
const MAX_TOKEN_BYTES: usize = 16 << 10;
/// Limit on the lifetime of a token, in seconds; longer ones are reduced to it.
const MAX_LIFETIME: u64 = 10 * 365 * 24 * 3600;

/// A request to a token endpoint.
#[derive(Debug)]
pub(crate) struct TokenRequest<'a> {
    pub(crate) endpoint: &'a Url,
    /// Client to authenticate as, unless the form does that.
    pub(crate) client: Option<&'a RegisteredClient>,
    /// Key that the tokens will be bound to.
    pub(crate) key: Option<&'a SigningKey>,
    /// Description of the request for errors.
    pub(crate) what: &'static str,
}

/// The response of a token endpoint.
#[derive(Debug, Deserialize)]
struct Answer {
    access_token: Secret,
    #[serde(default)]
    token_type: String,
    #[serde(default)]
    expires_in: Value,
    refresh_token: Option<Secret>,
    scope: Option<String>,
}

impl TokenRequest<'_> {
    /// Sends the request and returns the tokens. Retries once if the server requires a DPoP nonce.
    pub(crate) async fn send(
        &self,
        fetcher: &Fetcher,
        form: Vec<(&'static str, String)>,
    ) -> Result<Tokens, AuthError> {
        let fetched = self.exchange(fetcher, form).await?;
        let answer = fetched.object().filter(|_| fetched.is_success());
        let answer: Option<Answer> = answer.and_then(|it| serde_json::from_value(it).ok());
        let Some(answer) = answer else {
            return Err(refused(self.endpoint, &fetched, self.what));
        };
        self.tokens(answer)
    }

    /// Sends the request and returns one secret member of the response.
    pub(crate) async fn send_for(
        &self,
        fetcher: &Fetcher,
        form: Vec<(&'static str, String)>,
        member: &str,
    ) -> Result<Secret, AuthError> {
        let fetched = self.exchange(fetcher, form).await?;
        let answer = fetched.object().filter(|_| fetched.is_success()).unwrap_or_default();
        let value = answer.get(member).and_then(Value::as_str);
        value.map(Secret::new).ok_or_else(|| refused(self.endpoint, &fetched, self.what))
    }

    async fn exchange(
        &self,
        fetcher: &Fetcher,
        mut form: Vec<(&'static str, String)>,
    ) -> Result<Fetched, AuthError> {
        let mut headers = HeaderMap::new();
        if let Some(client) = self.client {
            client.authenticate(&mut form, &mut headers);
        }
        let body = form::body(form.iter().map(|(name, value)| (*name, value.as_str())));
        let mut nonce = None;
        loop {
            if let Some(key) = self.key {
                let url = self.endpoint.as_str();
                let proof = dpop::proof(key, "POST", url, nonce.as_deref(), None)?;
                let value = HeaderValue::from_str(&proof);
                // A proof is base64 and always a valid header; an empty one would simply be refused.
                headers.insert(DPOP, value.unwrap_or_else(|_| HeaderValue::from_static("")));
            }
            let mut fetched =
                fetcher.post(self.endpoint, headers.clone(), FORM, body.clone()).await?;
            let answer = fetched.object().unwrap_or_default();
            let wants_nonce = answer.get("error").is_some_and(|it| it == "use_dpop_nonce");
            if nonce.is_none() && self.key.is_some() && !fetched.is_success() && wants_nonce {
                nonce = dpop::nonce(fetched.header(DPOP_NONCE));
                if nonce.is_some() {
                    continue;
                }
            }
            // Errors quote the response, so values that the server echoes must not reach them.
            if !fetched.is_success() {
                let secret = self.client.and_then(|it| it.secret.as_ref()).map(Secret::reveal);
                let sent = form.iter().filter(|(name, _)| is_secret(name));
                fetched.hide(sent.map(|(_, value)| value.as_str()).chain(secret));
            }
            return Ok(fetched);
        }
    }

    fn tokens(&self, answer: Answer) -> Result<Tokens, AuthError> {
        let is_token = |it: &Secret| {
            let text = it.reveal();
            let is_short = !text.is_empty() && text.len() <= MAX_TOKEN_BYTES;
            is_short && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let kind = answer.token_type.to_ascii_lowercase();
        // A server may answer with a plain bearer token although a DPoP proof was sent.
        let is_bound = kind == "dpop" && self.key.is_some();
        let is_known = is_bound || kind == "bearer" || kind.is_empty();
        if !is_known || !is_token(&answer.access_token) {
            return Err(AuthError::Metadata(format!(
                "the token from {} is of a type that cannot be used",
                crate::fetch::origin(self.endpoint)
            )));
        }
        // Some servers write the number as a string.
        let lifetime = match &answer.expires_in {
            Value::String(text) => text.parse().ok(),
            Value::Number(number) => number.as_u64(),
            _ => None,
        };
        Ok(Tokens {
            access: answer.access_token,
            refresh: answer.refresh_token.filter(|it| !it.reveal().is_empty()),
            is_bound,
            since: clock::now(),
            lifetime: lifetime.map(|it: u64| it.min(MAX_LIFETIME)),
            granted: answer.scope.map(|it| challenge::scopes(&it)),
        })
    }
}

/// Returns true if the value of this form field must not appear in an error.
fn is_secret(name: &str) -> bool {
    matches!(
        name,
        "assertion"
            | "client_assertion"
            | "client_secret"
            | "code"
            | "code_verifier"
            | "refresh_token"
            | "subject_token"
            | "token"
    )
}
