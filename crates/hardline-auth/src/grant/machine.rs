//! Grants without a person and without a browser.

use reqwest::Url;

use super::GrantKind;
use crate::challenge::Challenge;
use crate::client::{self, RegisteredClient};
use crate::credentials::{Credentials, union};
use crate::discovery::Discovered;
use crate::error::AuthError;
use crate::fetch::{Fetcher, origin};
use crate::secret::Secret;
use crate::settings::AuthSettings;
use crate::token::TokenRequest;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Obtains tokens with the grant in the settings. Does not try another way if the server refuses.
pub(crate) async fn fetch(
    fetcher: &Fetcher,
    settings: &AuthSettings,
    server: &Url,
    found: &Discovered,
    challenge: &Challenge,
    before: Option<&Credentials>,
) -> Result<Credentials, AuthError> {
    let wanted = if settings.scopes.is_empty() { &challenge.scopes } else { &settings.scopes };
    let before = before.filter(|it| it.is_of(found));
    let asked = before.map(|it| it.asked.as_slice()).unwrap_or_default();
    // Scopes requested before are kept, or a step-up would lose the earlier ones.
    let scopes = union(&union(asked, wanted), &challenge.scopes);

    let mut form = Vec::new();
    let known =
        |id: &str, secret: Option<&Secret>| RegisteredClient::known(id, secret, &found.abilities);
    let client = match &settings.grant.0 {
        GrantKind::Person => return Err(AuthError::Required("a person must log in".to_owned())),
        GrantKind::ClientSecret { id, secret } => {
            form.push(("grant_type", "client_credentials".to_owned()));
            Some(known(id, Some(secret)))
        }
        GrantKind::PrivateKey { id, key } => {
            let audience = found.issuer.clone().unwrap_or_else(|| origin(&found.token_endpoint));
            form.push(("grant_type", "client_credentials".to_owned()));
            client::assert(id, key, &audience, &mut form)?;
            None
        }
        GrantKind::Enterprise(enterprise) => {
            let granted = enterprise.exchange(fetcher, server, found, &scopes).await?;
            form.push(("grant_type", JWT_BEARER.to_owned()));
            form.push(("assertion", granted.reveal().to_owned()));
            let id = enterprise.client_id.as_str();
            (!id.is_empty()).then(|| known(id, enterprise.client_secret.as_ref()))
        }
        GrantKind::Workload { id, assertion } => {
            form.push(("grant_type", JWT_BEARER.to_owned()));
            form.push(("assertion", assertion.read()?.reveal().to_owned()));
            id.as_deref().map(|id| known(id, None))
        }
    };
    if !scopes.is_empty() {
        form.push(("scope", scopes.join(" ")));
    }
    form.push(("resource", found.resource.clone()));
    let request = TokenRequest {
        endpoint: &found.token_endpoint,
        client: client.as_ref(),
        key: None,
        what: "the login",
    };
    let tokens = request.send(fetcher, form).await?;
    Ok(Credentials { asked: scopes, tokens: Some(tokens), ..Credentials::new(found) })
}
