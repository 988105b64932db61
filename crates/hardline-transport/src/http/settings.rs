//! Configuration of a connection to an HTTP server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::limits::Limits;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use thiserror::Error;

use super::header_source::HeaderSource;
use crate::Secrets;

/// Headers that the transport sets itself.
const RESERVED: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// Address of a server, and settings for connections to it.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    pub(super) url: Address,
    pub(super) headers: Headers,
    pub(super) header_source: Option<Arc<dyn HeaderSource>>,
    pub(super) limits: Limits,
    pub(super) client: Option<reqwest::Client>,
    pub(super) listener_start: Duration,
    pub(super) endpoint_wait: Duration,
    pub(super) close_wait: Duration,
    pub(super) max_reconnects: u32,
}

impl HttpSettings {
    /// Creates a configuration for the server at `url`, with defaults for the rest.
    ///
    /// # Errors
    ///
    /// [`HttpSettingsError`], if it is not the address of a server.
    pub fn new(url: &str) -> Result<Self, HttpSettingsError> {
        Ok(Self {
            url: Address::new(url)?,
            headers: Headers::default(),
            header_source: None,
            limits: Limits::default(),
            client: None,
            // The opening of a session waits for this, so it is short.
            listener_start: Duration::from_secs(1),
            endpoint_wait: Duration::from_secs(10),
            close_wait: Duration::from_secs(2),
            max_reconnects: 5,
        })
    }

    /// Returns the whole address. Its query may hold a secret.
    pub fn url(&self) -> &str {
        self.url.0.as_str()
    }

    /// Adds headers to every request.
    #[must_use]
    pub fn with_headers(mut self, headers: Headers) -> Self {
        self.headers.0.extend(headers.0);
        self
    }

    /// Asks `source` for further headers before every request.
    #[must_use]
    pub fn with_header_source(mut self, source: Arc<dyn HeaderSource>) -> Self {
        self.header_source = Some(source);
        self
    }

    /// Sets the limits on bodies (`max_frame_bytes`), events (`max_event_bytes`) and, for
    /// [`Sse`](super::Sse), requests in flight (`max_in_flight`).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sends through this client, for custom certificates or proxies.
    ///
    /// Build it from [`client_builder`](super::client_builder): a client that follows redirects
    /// would send headers to other origins, and one that retries would send a message twice.
    #[must_use]
    pub fn with_client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the time for the server to accept or refuse the listening stream when a session opens.
    ///
    /// Default: one second.
    #[must_use]
    pub fn with_listener_start(mut self, wait: Duration) -> Self {
        self.listener_start = wait;
        self
    }

    /// Sets the time for the server to name the address for messages, for [`Sse`](super::Sse).
    ///
    /// Default: ten seconds.
    #[must_use]
    pub fn with_endpoint_wait(mut self, wait: Duration) -> Self {
        self.endpoint_wait = wait;
        self
    }

    /// Sets the time for the server to confirm the end of a session.
    ///
    /// Default: two seconds.
    #[must_use]
    pub fn with_close_wait(mut self, wait: Duration) -> Self {
        self.close_wait = wait;
        self
    }

    /// Sets the limit on attempts in a row to resume an interrupted stream without receiving an
    /// event.
    ///
    /// Default: 5. The listening stream has twice as many.
    #[must_use]
    pub fn with_max_reconnects(mut self, attempts: u32) -> Self {
        self.max_reconnects = attempts;
        self
    }
}

/// Address of a server. Shown without its query, which may hold a secret.
#[derive(Clone, Eq, PartialEq)]
pub(super) struct Address(pub(super) Url);

impl Address {
    fn new(text: &str) -> Result<Self, HttpSettingsError> {
        let url = Url::parse(text.trim()).map_err(|error| {
            if text.contains("://") {
                HttpSettingsError::Url(error.to_string())
            } else {
                HttpSettingsError::Url("it must begin with http:// or https://".to_owned())
            }
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = Excerpt::new(url.scheme().as_bytes(), 32).to_string();
            return Err(HttpSettingsError::Scheme(scheme));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HttpSettingsError::Credentials);
        }
        // A fragment is never sent to a server.
        Ok(Self(without_fragment(url)))
    }

    /// Resolves `target` against this address. Fails if it leaves the origin.
    pub(super) fn join(&self, target: &str) -> Result<Self, Elsewhere> {
        let unreadable = || Elsewhere("an address that cannot be read".to_owned());
        let url = self.0.join(target).map_err(|_| unreadable())?;
        if url.origin() != self.0.origin() {
            // Another origin must receive neither our headers nor our messages.
            return Err(Elsewhere(origin(&url)));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Elsewhere("an address with a user or password".to_owned()));
        }
        Ok(Self(without_fragment(url)))
    }

    /// Returns scheme, host and port, safe for a terminal.
    pub(super) fn origin(&self) -> String {
        origin(&self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The path may come from a redirect, so escape it.
        write!(formatter, "{}{}", self.origin(), Excerpt::new(self.0.path().as_bytes(), 256))
    }
}

/// Description of an address that is not on the configured origin.
#[derive(Debug)]
pub(super) struct Elsewhere(pub(super) String);

fn origin(url: &Url) -> String {
    Excerpt::new(url.origin().ascii_serialization().as_bytes(), 256).to_string()
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

/// HTTP headers whose values are never shown.
#[derive(Clone, Default)]
pub struct Headers(pub(super) HeaderMap);

impl Headers {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a header, or replaces one with the same name.
    ///
    /// # Errors
    ///
    /// [`HttpSettingsError`], if the header cannot be sent or belongs to the transport.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, HttpSettingsError> {
        let shown = || Excerpt::new(name.as_bytes(), 64).to_string();
        let key = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|_| HttpSettingsError::HeaderName(shown()))?;
        // The transport sets these for each request; a fixed value would contradict it.
        if RESERVED.contains(&key.as_str()) {
            return Err(HttpSettingsError::Reserved(shown()));
        }
        let mut value = HeaderValue::from_bytes(value.trim().as_bytes())
            .map_err(|_| HttpSettingsError::HeaderValue(shown()))?;
        // Keeps the value out of Debug output and out of the compression tables of HTTP/2.
        value.set_sensitive(true);
        self.0.insert(key, value);
        Ok(self)
    }

    /// Returns the values, which must be hidden in every output.
    pub(super) fn secrets(&self) -> Secrets {
        Secrets::new(self.0.values().filter_map(|value| value.to_str().ok()))
    }

    /// Returns the value of a header, which may be a secret.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(|value| value.to_str().ok())
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names only, because the values are secret.
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Error returned when a configuration cannot be used.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum HttpSettingsError {
    /// The text is not a URL.
    #[error("not a URL: {0}")]
    Url(String),
    /// The URL is not an HTTP address.
    #[error("a server's URL begins with http:// or https://, not {0}:")]
    Scheme(String),
    /// The URL has a user or password, which would end up in logs.
    #[error("the URL contains a user or password: send an Authorization header instead")]
    Credentials,
    /// The name of a header has invalid characters.
    #[error("{0:?} is not the name of a header")]
    HeaderName(String),
    /// The value of a header has invalid characters.
    #[error("the value of the header {0} has a line break or a control character")]
    HeaderValue(String),
    /// The transport sets this header itself.
    #[error("the header {0} is set by the transport")]
    Reserved(String),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: Result<&str, &str>) {
        let actual = HttpSettings::new(url).map(|settings| format!("{:?}", settings.url));
        let actual = actual.map_err(|error| error.to_string());
        assert_eq!(actual.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn takes_addresses_of_servers_alone() {
        check(" https://Example.com/mcp?key=secret#part ", Ok("https://example.com/mcp"));
        check("http://[::1]:8080/mcp", Ok("http://[::1]:8080/mcp"));
        check("mcp", Err("not a URL: it must begin with http:// or https://"));
        check(
            "ftp://example.com/",
            Err("a server's URL begins with http:// or https://, not ftp:"),
        );
        check(
            "https://me:secret@example.com/",
            Err("the URL contains a user or password: send an Authorization header instead"),
        );
    }

    #[test]
    fn never_shows_what_headers_and_queries_say() {
        let headers = Headers::new().with("Authorization", "Bearer secret").unwrap();
        let settings =
            HttpSettings::new("https://example.com/?key=secret").unwrap().with_headers(headers);
        let shown = format!("{settings:?}");
        assert!(shown.contains("authorization"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn refuses_headers_that_cannot_be_sent() {
        let error = |name, value| Headers::new().with(name, value).unwrap_err().to_string();
        assert_eq!(error("a b", ""), "\"a b\" is not the name of a header");
        assert_eq!(
            error("X-Key", "a\r\nb: c"),
            "the value of the header X-Key has a line break or a control character"
        );
        assert_eq!(error("accept", "*/*"), "the header accept is set by the transport");
    }

    #[test]
    fn leads_nowhere_but_on_its_origin() {
        let address = HttpSettings::new("https://example.com/a/b").unwrap().url;
        assert_eq!(address.join("/c?d=1").unwrap().0.as_str(), "https://example.com/c?d=1");
        assert_eq!(address.join("https://example.com:443/c").unwrap().0.path(), "/c");
        for target in
            ["http://example.com/", "https://example.com:8443/", "//evil.example/", "data:,"]
        {
            assert!(address.join(target).is_err(), "{target}");
        }
        assert!(address.join("https://me@example.com/").is_err());
    }
}
