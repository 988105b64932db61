//! A person logs in: authorization code with PKCE, and a loopback address to come back to.

use reqwest::Url;

use super::super::browser::AuthorizationUrl;
use super::super::callback::{Callback, Expected};
use super::super::challenge::Challenge;
use super::super::client::Client;
use super::super::credentials::{Credentials, union};
use super::super::discovery::Discovered;
use super::super::error::{AuthError, metadata, shown};
use super::super::fetch::Fetcher;
use super::super::jwt::SigningKey;
use super::super::secret::Secret;
use super::super::settings::AuthSettings;
use super::super::token::TokenRequest;
use super::super::{form, random};

const OFFLINE: &str = "offline_access";

/// Lets a person log in.
///
/// `before` is what is known about the server already: the client that is registered, and the scopes
/// that were asked for, as far as both are this authorization server's.
pub(in super::super) async fn login(
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
    let callback = Callback::bind(settings.callback_port).await?;
    let redirect_uri = callback.redirect_uri();
    let client = client(fetcher, settings, found, before, &redirect_uri, &scopes).await?;
    let key = key(settings, found, challenge, before)?;

    let (verifier, state) = (Secret::new(random::token()?), Secret::new(random::token()?));
    let url = url(found, &client, &redirect_uri, &scopes, &verifier, &state)?;
    if let Some(show) = &settings.on_url.0 {
        show(&url);
    }
    let opened = browser.open(&url);
    if let (Err(reason), None) = (opened, &settings.on_url.0) {
        return Err(AuthError::Browser(reason));
    }
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

/// Refuses authorization servers that cannot do what keeps a code from being stolen.
fn check(found: &Discovered) -> Result<(), AuthError> {
    let methods = found.abilities.code_challenge_methods_supported.as_deref().unwrap_or_default();
    if methods.iter().any(|it| it == "S256") {
        return Ok(());
    }
    Err(metadata(
        "the authorization server does not say that it knows PKCE with S256, without which a login can be stolen",
    ))
}

/// Which scopes are asked for: those that are set, or that the server wants, or that it has; those that
/// were asked for before; and those that a call was refused for since.
pub(in super::super) fn scopes(
    settings: &AuthSettings,
    found: &Discovered,
    challenge: &Challenge,
    before: Option<&Credentials>,
) -> Vec<String> {
    let named = found.scopes.as_deref().unwrap_or_default();
    let wanted = match () {
        () if !settings.scopes.is_empty() => union(&settings.scopes, &challenge.scopes),
        () if !challenge.scopes.is_empty() => challenge.scopes.clone(),
        () => named.to_vec(),
    };
    let asked = before.map(|it| it.asked.as_slice()).unwrap_or_default();
    let refused = before.map(|it| it.wanted.as_slice()).unwrap_or_default();
    let mut scopes = union(&union(asked, &wanted), refused);
    // Only who asks for it gets a token to refresh with, where there is such a scope.
    let has_offline = found.abilities.scopes_supported.iter().any(|it| it == OFFLINE);
    if has_offline && !scopes.is_empty() && !scopes.iter().any(|it| it == OFFLINE) {
        scopes.push(OFFLINE.to_owned());
    }
    scopes
}

/// Who we are: registered beforehand, or by a document, or from now on.
async fn client(
    fetcher: &Fetcher,
    settings: &AuthSettings,
    found: &Discovered,
    before: Option<&Credentials>,
    redirect_uri: &str,
    scopes: &[String],
) -> Result<Client, AuthError> {
    if let Some(id) = &settings.client_id {
        return Ok(Client::known(id, settings.client_secret.as_ref(), &found.abilities));
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
        return Ok(Client::known(url, None, &found.abilities));
    }
    let registered = before.and_then(|it| it.client.as_ref());
    if let Some(client) = registered.filter(|it| it.redirect_uri.as_deref() == Some(redirect_uri)) {
        return Ok(client.clone());
    }
    Client::register(fetcher, found, &settings.client_name, redirect_uri, scopes).await
}

/// The key that tokens are to be bound to, if both servers can do that.
fn key(
    settings: &AuthSettings,
    found: &Discovered,
    challenge: &Challenge,
    before: Option<&Credentials>,
) -> Result<Option<SigningKey>, AuthError> {
    let is_given = found.abilities.dpop_signing_alg_values_supported.iter().any(|it| it == "ES256");
    let is_taken = challenge.wants_dpop || found.takes_dpop;
    if !settings.uses_dpop || !is_given || !is_taken {
        return Ok(None);
    }
    let kept = before.and_then(|it| it.key.as_ref());
    match kept.and_then(|it| SigningKey::from_base64(it.reveal()).ok()) {
        Some(key) => Ok(Some(key)),
        None => SigningKey::generate().map(Some),
    }
}

fn url(
    found: &Discovered,
    client: &Client,
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
