//! Enterprise-managed authorization: a program acts for a person who is logged in to a company's identity
//! provider. The provider exchanges the person's ID token for a grant, and the server's authorization server
//! exchanges the grant for a token.

use reqwest::Url;

use super::Assertion;
use crate::client::RegisteredClient;
use crate::discovery::{Discovered, parse};
use crate::error::AuthError;
use crate::fetch::Fetcher;
use crate::secret::Secret;
use crate::token::TokenRequest;

/// The parameters of enterprise-managed authorization.
#[derive(Clone, Debug)]
pub struct Enterprise {
    token_endpoint: String,
    provider_client: RegisteredClient,
    id_token: Assertion,
    pub(super) client_id: String,
    pub(super) client_secret: Option<Secret>,
}

impl Enterprise {
    /// Creates the parameters. `token_endpoint` belongs to the identity provider, at which this client has the
    /// id `provider_client_id`. `id_token` is the provider's ID token for the person.
    pub fn new(
        token_endpoint: impl Into<String>,
        provider_client_id: impl Into<String>,
        id_token: Assertion,
    ) -> Self {
        let provider_client = RegisteredClient {
            id: provider_client_id.into(),
            secret: None,
            method: crate::client::AuthMethod::None,
            redirect_uri: None,
        };
        let (token_endpoint, client_id) = (token_endpoint.into(), String::new());
        Self { token_endpoint, provider_client, id_token, client_id, client_secret: None }
    }

    /// Sets the client secret at the identity provider.
    #[must_use]
    pub fn with_provider_secret(mut self, secret: Secret) -> Self {
        self.provider_client.secret = Some(secret);
        self.provider_client.method = crate::client::AuthMethod::ClientSecretBasic;
        self
    }

    /// Sets the client id and secret at the server's own authorization server.
    #[must_use]
    pub fn with_client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        self.client_id = id.into();
        self.client_secret = secret;
        self
    }

    /// Exchanges the ID token for a grant.
    pub(super) async fn exchange(
        &self,
        fetcher: &Fetcher,
        server: &Url,
        found: &Discovered,
        scopes: &[String],
    ) -> Result<Secret, AuthError> {
        let endpoint = parse(server, &self.token_endpoint, "identity provider's token endpoint")?;
        // The grant must name the server's issuer, or another authorization server could use it.
        let audience =
            found.issuer.clone().unwrap_or_else(|| crate::fetch::origin(&found.token_endpoint));
        let request = TokenRequest {
            endpoint: &endpoint,
            client: Some(&self.provider_client),
            key: None,
            what: "the exchange of the ID token",
        };
        let kind = |name: &str| format!("urn:ietf:params:oauth:token-type:{name}");
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
            ("requested_token_type", kind("id-jag")),
            ("subject_token", self.id_token.read()?.reveal().to_owned()),
            ("subject_token_type", kind("id_token")),
            ("audience", audience),
            ("resource", found.resource.clone()),
        ];
        if !scopes.is_empty() {
            form.push(("scope", scopes.join(" ")));
        }
        request.send_for(fetcher, form, "access_token").await
    }
}
