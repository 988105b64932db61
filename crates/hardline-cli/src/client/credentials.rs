//! The logins that are kept for servers at URLs: found for every connection, made by `hardline login` alone.

use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use hardline_client::auth::{Auth, AuthSettings, MemoryStore, Secret, TokenStore, default_store};
use hardline_client::config::{Process, ServerConfig};
use hardline_transport::http::HeaderSource;

use super::print::name;
use crate::place;

/// For a server at a URL that was given. Nothing is opened: without a login, the error says what to do.
///
/// # Errors
///
/// The address is none.
pub(super) fn of_url(url: &str) -> Result<Arc<dyn HeaderSource>> {
    Ok(Arc::new(Auth::new(url, settings().with_login_advice(advice_for_url(url)))?))
}

/// For a server of a configuration. `None` if what the file says about logins cannot be used: then the
/// server is asked without one, and says what it wants.
pub(super) fn of_server(server: &ServerConfig, url: &str) -> Option<Arc<dyn HeaderSource>> {
    let settings = settings_of(server).ok()?;
    Some(Arc::new(Auth::new(url, settings).ok()?))
}

/// The settings for a server of a configuration.
///
/// # Errors
///
/// A variable is not set.
pub(super) fn settings_of(server: &ServerConfig) -> Result<AuthSettings> {
    let advice = format!("run `hardline login {}`", name(server.name()));
    let mut settings = settings().with_login_advice(advice);
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

fn advice_for_url(url: &str) -> String {
    // The query may hold a secret.
    let shown = url.split(['?', '#']).next().unwrap_or_default();
    format!("run `hardline login --url {}`, or give a token with --header", name(shown))
}
