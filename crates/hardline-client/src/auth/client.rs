//! What a client is to an authorization server: its id, and how it proves to be that.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::discovery::{Abilities, Discovered};
use super::error::{AuthError, metadata, shown};
use super::fetch::{Fetched, Fetcher, origin};
use super::form;
use super::jwt::SigningKey;
use super::secret::Secret;

/// How a client proves at the token endpoint who it is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    /// Not at all: it is a public one.
    #[default]
    None,
    /// By its secret in a header.
    ClientSecretBasic,
    /// By its secret in the form.
    ClientSecretPost,
}

/// A client as one authorization server knows it, and no other.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) method: Method,
    /// Where the browser comes back to, if the client was registered for that.
    pub(super) redirect_uri: Option<String>,
}

impl Client {
    /// A client that was registered beforehand.
    pub(super) fn known(id: &str, secret: Option<&Secret>, abilities: &Abilities) -> Self {
        let method = secret.map_or(Method::None, |_| method_with_secret(abilities));
        Self { id: id.to_owned(), secret: secret.cloned(), method, redirect_uri: None }
    }

    /// Registers a client (RFC 7591).
    pub(super) async fn register(
        fetcher: &Fetcher,
        found: &Discovered,
        name: &str,
        redirect_uri: &str,
        scopes: &[String],
    ) -> Result<Self, AuthError> {
        let Some(endpoint) = &found.registration_endpoint else {
            return Err(metadata(
                "the authorization server registers no clients by itself: register one there by hand, and give \
                 its id as `oauth.clientId` of the server in the configuration (AuthSettings::with_client in code)",
            ));
        };
        let methods = found.abilities.token_endpoint_auth_methods_supported.as_deref();
        let method = match methods {
            Some(methods) if !methods.is_empty() && !methods.iter().any(|it| it == "none") => {
                method_with_secret(&found.abilities)
            }
            _ => Method::None,
        };
        let mut body = json!({
            "client_name": name,
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native",
        });
        if let (false, Some(body)) = (scopes.is_empty(), body.as_object_mut()) {
            body.insert("scope".to_owned(), scopes.join(" ").into());
        }
        let fetched =
            fetcher.post(endpoint, HeaderMap::new(), "application/json", body.to_string()).await?;
        let answer = fetched.object().filter(|_| fetched.is_success());
        let registered: Option<Registered> = answer.and_then(|it| serde_json::from_value(it).ok());
        let is_id = |it: &Registered| !it.client_id.is_empty() && it.client_id.len() <= 4096;
        let Some(registered) = registered.filter(is_id) else {
            return Err(refused(endpoint, &fetched, "to register a client"));
        };
        let secret = registered.client_secret.filter(|it| !it.reveal().is_empty());
        let method = match (registered.token_endpoint_auth_method.as_deref(), &secret) {
            (_, None) | (Some("none"), _) => Method::None,
            (Some("client_secret_post"), _) => Method::ClientSecretPost,
            (Some("client_secret_basic"), _) => Method::ClientSecretBasic,
            (_, Some(_)) => method_with_secret(&found.abilities),
        };
        Ok(Self {
            id: registered.client_id,
            secret,
            method,
            redirect_uri: Some(redirect_uri.to_owned()),
        })
    }

    /// Adds to a token request what shows who the client is.
    pub(super) fn sign(&self, form: &mut Vec<(&'static str, String)>, headers: &mut HeaderMap) {
        match (self.method, &self.secret) {
            (Method::ClientSecretBasic, Some(secret)) => {
                let pair =
                    format!("{}:{}", form::encoded(&self.id), form::encoded(secret.reveal()));
                let value = format!("Basic {}", STANDARD.encode(pair));
                if let Ok(mut value) = HeaderValue::from_str(&value) {
                    value.set_sensitive(true);
                    headers.insert(AUTHORIZATION, value);
                }
            }
            (Method::ClientSecretPost, Some(secret)) => {
                form.push(("client_id", self.id.clone()));
                form.push(("client_secret", secret.reveal().to_owned()));
            }
            _ => form.push(("client_id", self.id.clone())),
        }
    }
}

/// Adds to a token request a signed statement of who the client is (RFC 7523).
pub(super) fn assert(
    id: &str,
    key: &SigningKey,
    audience: &str,
    form: &mut Vec<(&'static str, String)>,
) -> Result<(), AuthError> {
    let now = super::clock::now();
    let claims = json!({
        "iss": id,
        "sub": id,
        "aud": audience,
        "jti": super::random::token()?,
        "iat": now,
        "exp": now + 300,
    });
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    form.push(("client_assertion_type", kind.to_owned()));
    form.push(("client_assertion", key.sign(&json!({ "typ": "JWT" }), &claims)?));
    Ok(())
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<Secret>,
    token_endpoint_auth_method: Option<String>,
}

/// An error of an OAuth endpoint, as RFC 6749 writes it.
pub(super) fn refused(endpoint: &Url, fetched: &Fetched, what: &'static str) -> AuthError {
    let server = origin(endpoint);
    if matches!(fetched.status, 429 | 500..) {
        return AuthError::Unreachable(format!(
            "the authorization server {server} answers with HTTP status {}",
            fetched.status
        ));
    }
    let answer = fetched.object().unwrap_or_default();
    let member = |name: &str| answer.get(name).and_then(|it| it.as_str()).map(shown);
    let code = member("error").unwrap_or_default();
    let reason = match (code.as_str(), member("error_description")) {
        ("", _) if fetched.is_success() => {
            format!("its answer is not what it should be ({})", fetched.status)
        }
        ("", _) => format!("HTTP status {} ({})", fetched.status, fetched.excerpt()),
        (code, Some(description)) => format!("{code} ({description})"),
        (code, None) => code.to_owned(),
    };
    AuthError::Refused { server, what, code, reason }
}

fn method_with_secret(abilities: &Abilities) -> Method {
    let methods = abilities.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
    let has = |name| methods.iter().any(|it| it == name);
    // In a header is what every authorization server must understand.
    match has("client_secret_post") && !has("client_secret_basic") {
        true => Method::ClientSecretPost,
        false => Method::ClientSecretBasic,
    }
}
