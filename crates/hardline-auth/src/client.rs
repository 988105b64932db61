//! The OAuth client: its id at an authorization server, and its authentication there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::discovery::{Abilities, Discovered};
use crate::error::{AuthError, metadata, shown};
use crate::fetch::{Fetched, Fetcher, origin};
use crate::form;
use crate::jwt::SigningKey;
use crate::secret::Secret;

/// The authentication method of a client at the token endpoint.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuthMethod {
    /// No authentication: a public client.
    #[default]
    None,
    /// HTTP basic authentication with the client secret.
    ClientSecretBasic,
    /// The client secret in the form.
    ClientSecretPost,
}

/// A client as registered at one authorization server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct RegisteredClient {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) method: AuthMethod,
    /// Redirect address that the client was registered with.
    pub(crate) redirect_uri: Option<String>,
}

impl RegisteredClient {
    /// Creates a client that was registered beforehand.
    pub(crate) fn known(id: &str, secret: Option<&Secret>, abilities: &Abilities) -> Self {
        let method = secret.map_or(AuthMethod::None, |_| method_with_secret(abilities));
        Self { id: id.to_owned(), secret: secret.cloned(), method, redirect_uri: None }
    }

    /// Registers a client dynamically (RFC 7591).
    pub(crate) async fn register(
        fetcher: &Fetcher,
        found: &Discovered,
        name: &str,
        redirect_uri: &str,
        scopes: &[String],
    ) -> Result<Self, AuthError> {
        let Some(endpoint) = &found.registration_endpoint else {
            return Err(metadata(
                "the authorization server does not support dynamic client registration: register a client by \
                 hand, and give its id as `oauth.clientId` of the server in the configuration \
                 (AuthSettings::with_client in code)",
            ));
        };
        let methods = found.abilities.token_endpoint_auth_methods_supported.as_deref();
        // A public client is preferred: a secret on a user's machine protects nothing.
        let method = match methods {
            Some(methods) if !methods.is_empty() && !methods.iter().any(|it| it == "none") => {
                method_with_secret(&found.abilities)
            }
            _ => AuthMethod::None,
        };
        let mut body = json!({
            "client_name": name,
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            // OpenID Connect servers reject loopback redirects of "web" clients, which is the default.
            "application_type": "native",
        });
        if let (false, Some(body)) = (scopes.is_empty(), body.as_object_mut()) {
            body.insert("scope".to_owned(), scopes.join(" ").into());
        }
        let fetched =
            fetcher.post(endpoint, HeaderMap::new(), "application/json", body.to_string()).await?;
        let answer = fetched.object().filter(|_| fetched.is_success());
        let registered: Option<Registered> = answer.and_then(|it| serde_json::from_value(it).ok());
        // The id is stored and sent in every login, so an absurd one is refused.
        let is_id = |it: &Registered| !it.client_id.is_empty() && it.client_id.len() <= 4096;
        let Some(registered) = registered.filter(is_id) else {
            return Err(refused(endpoint, &fetched, "to register a client"));
        };
        // Some servers send an empty secret to public clients.
        let secret = registered.client_secret.filter(|it| !it.reveal().is_empty());
        let method = match (registered.token_endpoint_auth_method.as_deref(), &secret) {
            (_, None) | (Some("none"), _) => AuthMethod::None,
            (Some("client_secret_post"), _) => AuthMethod::ClientSecretPost,
            (Some("client_secret_basic"), _) => AuthMethod::ClientSecretBasic,
            (_, Some(_)) => method_with_secret(&found.abilities),
        };
        Ok(Self {
            id: registered.client_id,
            secret,
            method,
            redirect_uri: Some(redirect_uri.to_owned()),
        })
    }

    /// Adds the client's authentication to a token request.
    pub(crate) fn authenticate(
        &self,
        form: &mut Vec<(&'static str, String)>,
        headers: &mut HeaderMap,
    ) {
        match (self.method, &self.secret) {
            (AuthMethod::ClientSecretBasic, Some(secret)) => {
                let pair =
                    format!("{}:{}", form::encoded(&self.id), form::encoded(secret.reveal()));
                let value = format!("Basic {}", STANDARD.encode(pair));
                if let Ok(mut value) = HeaderValue::from_str(&value) {
                    value.set_sensitive(true);
                    headers.insert(AUTHORIZATION, value);
                }
            }
            (AuthMethod::ClientSecretPost, Some(secret)) => {
                form.push(("client_id", self.id.clone()));
                form.push(("client_secret", secret.reveal().to_owned()));
            }
            _ => form.push(("client_id", self.id.clone())),
        }
    }
}

/// Adds a signed client assertion (RFC 7523) to a token request.
pub(crate) fn assert(
    id: &str,
    key: &SigningKey,
    audience: &str,
    form: &mut Vec<(&'static str, String)>,
) -> Result<(), AuthError> {
    let now = crate::clock::now();
    let claims = json!({
        "iss": id,
        "sub": id,
        "aud": audience,
        "jti": crate::random::token()?,
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

/// Creates the error for a response of an OAuth endpoint, which RFC 6749 specifies.
pub(crate) fn refused(endpoint: &Url, fetched: &Fetched, what: &'static str) -> AuthError {
    let server = origin(endpoint);
    // Not a decision about this request, so that the caller may try again.
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
            format!("its response is invalid ({})", fetched.status)
        }
        ("", _) => format!("HTTP status {} ({})", fetched.status, fetched.excerpt()),
        (code, Some(description)) => format!("{code} ({description})"),
        (code, None) => code.to_owned(),
    };
    AuthError::Refused { server, what, code, reason }
}

fn method_with_secret(abilities: &Abilities) -> AuthMethod {
    let methods = abilities.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
    let has = |name| methods.iter().any(|it| it == name);
    // RFC 6749 requires every authorization server to support basic authentication.
    if has("client_secret_post") && !has("client_secret_basic") {
        AuthMethod::ClientSecretPost
    } else {
        AuthMethod::ClientSecretBasic
    }
}
