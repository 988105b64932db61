//! Login by a person: authorization code with PKCE, and a loopback redirect address.

use reqwest::Url;

use crate::browser::{AuthorizationUrl, Browser};
use crate::callback::{Callback, Expected};
use crate::challenge::Challenge;
use crate::client::RegisteredClient;
use crate::credentials::{Credentials, union};
use crate::discovery::Discovered;
use crate::error::{AuthError, metadata, shown};
use crate::fetch::Fetcher;
use crate::jwt::SigningKey;
use crate::secret::Secret;
use crate::settings::AuthSettings;
use crate::token::TokenRequest;
use crate::{form, random};

const OFFLINE: &str = "offline_access";

/// Performs an interactive login.
///
/// `before` are the previous credentials. Their registered client and scopes are used if they belong to this
/// authorization server.
pub(crate) async fn login(
    fetcher: &Fetcher,
    settings: &AuthSettings,
    found: &Discovered,
    challenge: &Challenge,
    before: Option<&Credentials>,
) -> Result<Credentials, AuthError> {
    let Some(browser) = &settings.browser else {
        return Err(AuthError::Required("no browser may be opened here".to_owned()));
    };
    check(found)?;
    let before = before.filter(|it| it.is_of(found));
    let scopes = scopes(settings, found, challenge, before);
    // Before the registration, which must name the port.
    let callback = Callback::bind(settings.callback_port).await?;
    let redirect_uri = callback.redirect_uri();
    let client = client(fetcher, settings, found, before, &redirect_uri, &scopes).await?;
    let key = key(settings, found, challenge, before)?;

    // Independent values: the state travels through the browser, the verifier never does.
    let (verifier, state) = (Secret::new(random::token()?), Secret::new(random::token()?));
    let url = url(found, &client, &redirect_uri, &scopes, &verifier, &state)?;
    show(settings, &**browser, &url)?;
    let expected = Expected {
        state,
        issuer: found.issuer.clone(),
        says_issuer: found.abilities.authorization_response_iss_parameter_supported,
    };
    let code = callback.wait(expected, settings.login_wait).await?;

    let request = TokenRequest {
        endpoint: &found.token_endpoint,
        client: Some(&client),
        key: key.as_ref(),
        what: "the login",
    };
    let tokens = request
        .send(
            fetcher,
            vec![
                ("grant_type", "authorization_code".to_owned()),
                ("code", code.reveal().to_owned()),
                ("redirect_uri", redirect_uri),
                ("code_verifier", verifier.reveal().to_owned()),
                ("resource", found.resource.clone()),
            ],
        )
        .await?;
    let bound = key.filter(|_| tokens.is_bound);
    Ok(Credentials {
        client: Some(client),
        asked: scopes,
        tokens: Some(tokens),
        key: bound.map(|key| key.to_base64().clone()),
        ..Credentials::new(found)
    })
}

/// Shows the login page: passes its address to the caller's listener and to the browser.
fn show(
    settings: &AuthSettings,
    browser: &dyn Browser,
    url: &AuthorizationUrl,
) -> Result<(), AuthError> {
    if let Some(listener) = &settings.on_url.0 {
        listener(url);
    }
    let opened = browser.open(url);
    // If the caller shows the address, the user can open it by hand.
    if let (Err(reason), None) = (opened, &settings.on_url.0) {
        return Err(AuthError::Browser(reason));
    }
    Ok(())
}

/// Refuses authorization servers without PKCE, which protects the code from theft.
fn check(found: &Discovered) -> Result<(), AuthError> {
    let methods = found.abilities.code_challenge_methods_supported.as_deref().unwrap_or_default();
    if methods.iter().any(|it| it == "S256") {
        return Ok(());
    }
    Err(metadata(
        "the authorization server does not declare support for PKCE with S256, without which a login can be stolen",
    ))
}

/// Returns the scopes to request: those in the settings, the challenge or the server's metadata, in that
/// order of preference; those requested before; and those for which a call was refused since.
pub(crate) fn scopes(
    settings: &AuthSettings,
    found: &Discovered,
    challenge: &Challenge,
    before: Option<&Credentials>,
) -> Vec<String> {
    let named = found.scopes.as_deref().unwrap_or_default();
    let wanted = if !settings.scopes.is_empty() {
        union(&settings.scopes, &challenge.scopes)
    } else if !challenge.scopes.is_empty() {
        challenge.scopes.clone()
    } else {
        named.to_vec()
    };
    let asked = before.map(|it| it.asked.as_slice()).unwrap_or_default();
    let refused = before.map(|it| it.wanted.as_slice()).unwrap_or_default();
    let mut scopes = union(&union(asked, &wanted), refused);
    // Where this scope exists, only a login that requests it gets a refresh token.
    let has_offline = found.abilities.scopes_supported.iter().any(|it| it == OFFLINE);
    if has_offline && !scopes.is_empty() && !scopes.iter().any(|it| it == OFFLINE) {
        scopes.push(OFFLINE.to_owned());
    }
    scopes
}

/// Returns the client: preregistered, identified by a metadata document, registered before, or new.
async fn client(
    fetcher: &Fetcher,
    settings: &AuthSettings,
    found: &Discovered,
    before: Option<&Credentials>,
    redirect_uri: &str,
    scopes: &[String],
) -> Result<RegisteredClient, AuthError> {
    // In the order of the MCP specification: preregistered, metadata document, dynamic registration.
    if let Some(id) = &settings.client_id {
        return Ok(RegisteredClient::known(id, settings.client_secret.as_ref(), &found.abilities));
    }
    if let Some(url) = &settings.client_metadata_url
        && found.abilities.client_id_metadata_document_supported
    {
        let is_document =
            Url::parse(url).is_ok_and(|it| it.scheme() == "https" && it.path().len() > 1);
        if !is_document {
            return Err(AuthError::Settings(format!(
                "the address of the client's metadata must begin with https:// and have a path: {}",
                shown(url)
            )));
        }
        return Ok(RegisteredClient::known(url, None, &found.abilities));
    }
    // A registration is tied to its redirect address, and so to the port.
    let registered = before.and_then(|it| it.client.as_ref());
    if let Some(client) = registered.filter(|it| it.redirect_uri.as_deref() == Some(redirect_uri)) {
        return Ok(client.clone());
    }
    RegisteredClient::register(fetcher, found, &settings.client_name, redirect_uri, scopes).await
}

/// Returns the key for DPoP, if both servers support it.
fn key(
    settings: &AuthSettings,
    found: &Discovered,
    challenge: &Challenge,
    before: Option<&Credentials>,
) -> Result<Option<SigningKey>, AuthError> {
    let is_issued =
        found.abilities.dpop_signing_alg_values_supported.iter().any(|it| it == "ES256");
    let is_accepted = challenge.wants_dpop || found.takes_dpop;
    if !settings.uses_dpop || !is_issued || !is_accepted {
        return Ok(None);
    }
    let stored = before.and_then(|it| it.key.as_ref());
    match stored.and_then(|it| SigningKey::from_base64(it.reveal()).ok()) {
        Some(key) => Ok(Some(key)),
        None => SigningKey::generate().map(Some),
    }
}

fn url(
    found: &Discovered,
    client: &RegisteredClient,
    redirect_uri: &str,
    scopes: &[String],
    verifier: &Secret,
    state: &Secret,
) -> Result<AuthorizationUrl, AuthError> {
    let Some(endpoint) = &found.authorization_endpoint else {
        return Err(metadata("the authorization server has no page on which to log in"));
    };
    let challenge = random::hash(verifier.reveal());
    let scopes = scopes.join(" ");
    let mut pairs = vec![
        ("response_type", "code"),
        ("client_id", client.id.as_str()),
        ("redirect_uri", redirect_uri),
        ("state", state.reveal()),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("resource", found.resource.as_str()),
    ];
    if !scopes.is_empty() {
        pairs.push(("scope", scopes.as_str()));
    }
    let base = endpoint.as_str();
    let separator = if endpoint.query().is_some() { '&' } else { '?' };
    AuthorizationUrl::new(&format!("{base}{separator}{}", form::body(pairs)))
}
