//! Stored logins for servers at URLs. Every connection looks them up; only `hardline login` creates
//! them.

use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use hardline_auth::{Auth, AuthSettings, MemoryStore, Secret, TokenStore, default_store};
use hardline_client::config::{ProcessVariables, ServerConfig};
use hardline_transport::client::{BoxFuture, TransportError};
use hardline_transport::http::{HeaderRefusal, HeaderSource, Headers, Next, Target};

use super::again::Again;
use crate::directory;

/// Returns the login for a server at a URL. Opens no browser: without a login, the error names the
/// command.
///
/// # Errors
///
/// The address is invalid.
pub(super) fn of_url(url: &str, again: &Again) -> Result<Arc<dyn HeaderSource>> {
    let login = again.phrase("login", "", &[]);
    let advice = format!("run {login}, or give a token with --header");
    Ok(Arc::new(Auth::new(url, settings().with_login_advice(advice))?))
}

/// Returns the login for a configured server. `None` if the OAuth settings in the file are invalid:
/// then the server is asked without a login, and its answer explains what it needs.
pub(super) fn of_server(
    server: &ServerConfig,
    url: &str,
    again: &Again,
) -> Option<Arc<dyn HeaderSource>> {
    let advice = format!("run {}", again.phrase("login", server.name(), &[]));
    let settings = settings_of(server).ok()?.with_login_advice(advice);
    Some(Arc::new(Auth::new(url, settings).ok()?))
}

/// Returns the OAuth settings of a configured server.
///
/// # Errors
///
/// A variable is not set.
pub(super) fn settings_of(server: &ServerConfig) -> Result<AuthSettings> {
    let mut settings = settings();
    let Some(oauth) = server.oauth() else { return Ok(settings) };
    let variables = ProcessVariables::new();
    if let Some(id) = oauth.client_id(&variables)? {
        settings = settings.with_client(id, oauth.client_secret(&variables)?.map(Secret::new));
    }
    if !oauth.scopes().is_empty() {
        settings = settings.with_scopes(oauth.scopes().iter().cloned());
    }
    if let Some(port) = oauth.callback_port() {
        settings = settings.with_callback_port(port);
    }
    Ok(settings)
}

/// Creates the OAuth client for a server at a URL.
///
/// # Errors
///
/// The address is invalid.
pub(super) fn auth(url: &str, settings: AuthSettings) -> Result<Auth> {
    Auth::new(url, settings).context("cannot log in")
}

/// Returns settings with the token store that the whole process shares.
pub(super) fn settings() -> AuthSettings {
    static STORE: OnceLock<Arc<dyn TokenStore>> = OnceLock::new();
    // One store for the process, so that all servers see the same tokens.
    let store = STORE.get_or_init(|| match directory::config() {
        Some(folder) => default_store(folder.join("tokens")),
        // Without a home directory, tokens last as long as the process.
        None => Arc::new(MemoryStore::default()),
    });
    AuthSettings::new().with_store(Arc::clone(store))
}

/// For a server that already has a token from its configuration or from `--header`: gives advice if
/// the server refuses it.
#[derive(Debug)]
pub(super) struct Given(Arc<str>);

impl Given {
    /// Creates the advice. `place` tells where the token comes from.
    pub(super) fn new(place: &str, server: &str, again: &Again) -> Self {
        let login = again.phrase("login", server, &[]);
        let advice = format!(
            "the server does not accept the token (401): check the header Authorization {place}, or remove it and \
                         run {login}"
        );
        Self(advice.into())
    }
}

impl HeaderSource for Given {
    fn headers<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>> {
        Box::pin(std::future::ready(Ok(Headers::new())))
    }

    fn refused<'a>(
        &'a self,
        refusal: HeaderRefusal<'a>,
    ) -> BoxFuture<'a, Result<Next, TransportError>> {
        Box::pin(std::future::ready(match refusal.status {
            // A retry with the same token would fail again.
            401 => Err(TransportError::Login(self.0.to_string())),
            _ => Ok(Next::GiveUp),
        }))
    }
}
