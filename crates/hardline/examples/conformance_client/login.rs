//! Login for the scenarios of the conformance suite.

use std::error::Error;
use std::sync::Arc;

use hardline::client::auth::{
    Assertion, Auth, AuthSettings, AuthorizationUrl, Browser, Enterprise, Grant, Secret, SigningKey,
};
use hardline::transport::http::plain_client_builder;
use serde_json::Value;

/// URL of the client metadata document that the suite defines.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// Returns the credentials for a scenario.
pub(crate) fn auth(
    url: &str,
    scenario: &str,
    context: &Value,
) -> Result<Arc<Auth>, Box<dyn Error>> {
    let told = |name: &str| context[name].as_str().map(str::to_owned);
    let needed = |name: &str| told(name).ok_or_else(|| format!("the scenario gives no {name}"));
    let secret = || told("client_secret").map(Secret::new);
    let mut settings = AuthSettings::new()
        .with_client_name("hardline-conformance-client")
        .with_client_metadata_url(METADATA)
        .with_browser(Arc::new(Automatic));
    if let Some(issuer) = told("issuer") {
        settings = settings.with_issuer(issuer);
    }
    settings = match scenario {
        "auth/client-credentials-basic" => settings
            .with_grant(Grant::client_secret(needed("client_id")?, needed("client_secret")?)),
        "auth/client-credentials-jwt" => {
            let key = SigningKey::from_pem(&needed("private_key_pem")?)?;
            settings.with_grant(Grant::private_key(needed("client_id")?, key))
        }
        "auth/enterprise-managed-authorization" => {
            let id_token = Assertion::text(needed("idp_id_token")?);
            let provider = (needed("idp_token_endpoint")?, needed("idp_client_id")?);
            let enterprise = Enterprise::new(provider.0, provider.1, id_token);
            let enterprise = enterprise.with_client(needed("client_id")?, secret());
            settings.with_grant(Grant::enterprise(enterprise))
        }
        "auth/wif-jwt-bearer" => {
            let assertion = Assertion::text(needed("valid_jwt")?);
            settings.with_grant(Grant::workload(told("client_id"), assertion))
        }
        _ => match told("client_id") {
            Some(id) => settings.with_client(id, secret()),
            None => settings,
        },
    };
    Ok(Arc::new(Auth::new(url, settings)?))
}

/// A browser that accepts every login at once.
#[derive(Debug)]
struct Automatic;

impl Browser for Automatic {
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String> {
        let builder = plain_client_builder().map_err(|error| error.to_string())?;
        let client = builder.build().map_err(|error| error.to_string())?;
        let url = url.as_str().to_owned();
        tokio::spawn(async move {
            let response = client.get(url).send().await?;
            // The authorization server redirects back to the client's listener at once.
            let back = response.headers().get("location").and_then(|it| it.to_str().ok());
            if let Some(back) = back {
                client.get(back).send().await?;
            }
            Ok::<_, reqwest::Error>(())
        });
        Ok(())
    }
}
