//! The logins that are kept for servers at URLs: found for every connection, made by `hardline login` alone.

use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use hardline_client::auth::{Auth, AuthSettings, MemoryStore, Secret, TokenStore, default_store};
use hardline_client::config::{Process, ServerConfig};
use hardline_transport::client::{BoxFuture, TransportError};
use hardline_transport::http::{HeaderSource, Headers, Next, Refusal, Target};

use super::again::Again;
use crate::place;

/// For a server at a URL that was given. Nothing is opened: without a login, the error says what to do.
///
/// # Errors
///
/// The address is none.
pub(super) fn of_url(url: &str, again: &Again) -> Result<Arc<dyn HeaderSource>> {
    let login = again.phrase("login", "", &[]);
    let advice = format!("run {login}, or give a token with --header");
    Ok(Arc::new(Auth::new(url, settings().with_login_advice(advice))?))
}

/// For a server of a configuration. `None` if what the file says about logins cannot be used: then the
/// server is asked without one, and says what it wants.
pub(super) fn of_server(
    server: &ServerConfig,
    url: &str,
    again: &Again,
) -> Option<Arc<dyn HeaderSource>> {
    let advice = format!("run {}", again.phrase("login", server.name(), &[]));
    let settings = settings_of(server).ok()?.with_login_advice(advice);
    Some(Arc::new(Auth::new(url, settings).ok()?))
}

/// The settings for a server of a configuration.
///
/// # Errors
///
/// A variable is not set.
pub(super) fn settings_of(server: &ServerConfig) -> Result<AuthSettings> {
    let mut settings = settings();
    let Some(oauth) = server.oauth() else { return Ok(settings) };
    let variables = Process::new();
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

/// The settings for a server at a URL, which must be one.
///
/// # Errors
///
/// The address is none.
pub(super) fn auth(url: &str, settings: AuthSettings) -> Result<Auth> {
    Auth::new(url, settings).context("cannot log in")
}

/// With the one place where tokens are.
pub(super) fn settings() -> AuthSettings {
    static STORE: OnceLock<Arc<dyn TokenStore>> = OnceLock::new();
    let store = STORE.get_or_init(|| match place::config() {
        Some(folder) => default_store(folder.join("tokens")),
        // Whoever has no home keeps nothing.
        None => Arc::new(MemoryStore::default()),
    });
    AuthSettings::new().with_store(Arc::clone(store))
}

/// For a server that has a token already, of the configuration or of `--header`: says what to do if that is
/// not accepted.
#[derive(Debug)]
pub(super) struct Given(Arc<str>);

impl Given {
    /// `place` is where the token is.
    pub(super) fn new(place: &str, server: &str, again: &Again) -> Self {
        let login = again.phrase("login", server, &[]);
        let advice = format!(
            "the server does not accept the token that it was given (401): check the header Authorization {place}, \
             or take it out and run {login}"
        );
        Self(advice.into())
    }
}

impl HeaderSource for Given {
    fn headers<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>> {
        Box::pin(std::future::ready(Ok(Headers::new())))
    }

    fn refused<'a>(&'a self, refusal: Refusal<'a>) -> BoxFuture<'a, Result<Next, TransportError>> {
        Box::pin(std::future::ready(match refusal.status {
            401 => Err(TransportError::Login(self.0.to_string())),
            _ => Ok(Next::GiveUp),
        }))
    }
}
