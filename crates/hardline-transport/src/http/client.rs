//! The HTTP client: its TLS settings, and features that must be off.

use std::sync::{Arc, OnceLock};

use reqwest::{Client, ClientBuilder, redirect, retry};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::settings::{HttpSettings, HttpSettingsError};

/// Returns a builder for clients that [`HttpSettings::with_client`] takes: TLS with the platform's
/// certificates, proxies from the environment, no redirects and no retries, because the transport
/// does both.
///
/// # Errors
///
/// [`HttpSettingsError::Tls`], if the platform has no certificates.
pub fn client_builder() -> Result<ClientBuilder, HttpSettingsError> {
    tls().map(builder).map_err(HttpSettingsError::Tls)
}

/// Like [`client_builder`] for systems without certificates. The client trusts no server, so it is
/// usable for `http://` only.
///
/// # Errors
///
/// [`HttpSettingsError::Tls`], if TLS cannot be set up at all.
pub fn plain_client_builder() -> Result<ClientBuilder, HttpSettingsError> {
    without_roots().map(builder).map_err(HttpSettingsError::Tls)
}

/// Returns the client for a configuration.
pub(super) fn client(settings: &HttpSettings) -> Result<Client, HttpSettingsError> {
    if let Some(client) = &settings.client {
        return Ok(client.clone());
    }
    // A system without certificates can still use http:// addresses.
    let is_plain = settings.url.0.scheme() == "http";
    let tls = tls().or_else(|error| if is_plain { without_roots() } else { Err(error) });
    let client = builder(tls.map_err(HttpSettingsError::Tls)?).build();
    client.map_err(|error| HttpSettingsError::Tls(error.to_string()))
}

fn builder(tls: ClientConfig) -> ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(tls)
        // The transport follows redirects itself, because it must keep headers on their origin.
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .tcp_nodelay(true)
        .user_agent(concat!("hardline/", env!("CARGO_PKG_VERSION")))
}

/// Returns the TLS settings. The platform's certificates are read once, because that is slow.
fn tls() -> Result<ClientConfig, String> {
    static TLS: OnceLock<Result<ClientConfig, String>> = OnceLock::new();
    TLS.get_or_init(|| {
        let settings = versions()?.with_platform_verifier().map_err(|error| error.to_string())?;
        Ok(with_protocols(settings.with_no_client_auth()))
    })
    .clone()
}

/// Returns TLS settings that trust no server, for addresses that need no TLS.
fn without_roots() -> Result<ClientConfig, String> {
    let settings = versions()?.with_root_certificates(RootCertStore::empty());
    Ok(with_protocols(settings.with_no_client_auth()))
}

fn versions() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())
}

fn with_protocols(mut settings: ClientConfig) -> ClientConfig {
    settings.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    settings
}
