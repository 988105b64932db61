//! Requests to authorization servers: bounded in size, time and where they go.
//!
//! Redirects are followed for documents alone, and on their origin alone. What is sent with a secret
//! goes to no address but the one that it is for.

use std::time::Duration;

use hardline_transport::http::{client_builder, plain_client_builder};
use hardline_wire::excerpt::Excerpt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Client, Method, Request, Response, Url};
use serde_json::Value;

use super::address::Policy;
use super::challenge::Challenge;
use super::error::{AuthError, metadata, shown};

/// How much of an answer is read. Real ones have a few kilobytes.
const MAX_BODY_BYTES: usize = 256 << 10;
/// How long one request may take, from the first byte sent to the last one read.
const WAIT: Duration = Duration::from_secs(20);
/// How many redirects are followed for a document.
const MAX_REDIRECTS: usize = 3;
/// How much of a library's words is shown.
const MAX_CAUSE_BYTES: usize = 300;

/// What is spoken to authorization servers with.
#[derive(Clone, Debug)]
pub(super) struct Fetcher {
    client: Client,
    policy: Policy,
    wait: Duration,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Fetched {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as a JSON object.
    pub(super) fn object(&self) -> Option<Value> {
        let value: Value = serde_json::from_slice(&self.body).ok()?;
        value.is_object().then_some(value)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Takes out of the body what was sent: a server that repeats it would put it into our errors.
    pub(super) fn hide<'a>(&mut self, secrets: impl Iterator<Item = &'a str>) {
        let mut text = String::from_utf8_lossy(&self.body).into_owned();
        for secret in secrets.filter(|it| !it.is_empty()) {
            text = text.replace(secret, "[hidden]");
        }
        self.body = text.into_bytes();
    }

    /// How the body begins, fit to be shown.
    pub(super) fn excerpt(&self) -> String {
        Excerpt::new(self.body.trim_ascii(), 120).to_string()
    }
}

impl Fetcher {
    pub(super) fn new(server: &Url, policy: Policy) -> Result<Self, AuthError> {
        let plain = |error| match server.scheme() {
            "http" => plain_client_builder(),
            _ => Err(error),
        };
        let builder = client_builder().or_else(plain);
        let builder = builder.map_err(|error| AuthError::Settings(error.to_string()))?;
        let client = builder.dns_resolver(policy.clone()).build();
        let client = client.map_err(|error| AuthError::Settings(error.to_string()))?;
        Ok(Self { client, policy, wait: WAIT })
    }

    /// Fetches a document. `None` if there is none: the server answers, but not with an object.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, has a failure of its own, or leads elsewhere.
    pub(super) async fn document(&self, url: &Url) -> Result<Option<Value>, AuthError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let fetched = self.send(Method::GET, &url, HeaderMap::new(), None).await?;
            match fetched.status {
                200..300 => return Ok(fetched.object()),
                300..400 => url = redirect(&url, &fetched)?,
                429 | 500.. => {
                    return Err(AuthError::Unreachable(format!(
                        "{} cannot be asked how to log in: it answers with HTTP status {}",
                        origin(&url),
                        fetched.status
                    )));
                }
                _ => return Ok(None),
            }
        }
        Err(metadata(format!("{} redirects more than {MAX_REDIRECTS} times", origin(&url))))
    }

    /// Sends a body that may hold secrets, to that address and nowhere else.
    pub(super) async fn post(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        kind: &'static str,
        body: String,
    ) -> Result<Fetched, AuthError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        let fetched = self.send(Method::POST, url, headers, Some(body)).await?;
        if (300..400).contains(&fetched.status) {
            return Err(metadata(format!(
                "{} redirects what holds a secret to another address, which does not get it",
                shown_url(url)
            )));
        }
        Ok(fetched)
    }

    /// Asks the server something harmless, to hear how it wants to be logged in to.
    pub(super) async fn challenge(&self, server: &Url) -> Result<Challenge, AuthError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let body = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#.to_owned();
        let fetched = self.send(Method::POST, server, headers, Some(body)).await?;
        if fetched.status != 401 {
            return Ok(Challenge { let_in: Some(fetched.status), ..Challenge::default() });
        }
        Ok(Challenge::parse(fetched.header(WWW_AUTHENTICATE.as_str())))
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<String>,
    ) -> Result<Fetched, AuthError> {
        if !self.policy.allows(url) {
            return Err(metadata(format!(
                "{} is an address inside this machine's own network, which a server elsewhere has no business to name",
                shown_url(url)
            )));
        }
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        let mut request = Request::new(method, url.clone());
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(Into::into);
        let sending = async {
            let response = self.client.execute(request).await;
            read(url, response.map_err(|error| unreachable(url, error))?).await
        };
        let fetched = tokio::time::timeout(self.wait, sending).await;
        fetched.unwrap_or_else(|_| {
            let wait = self.wait.as_secs();
            Err(AuthError::Unreachable(format!("{} did not answer within {wait} s", origin(url))))
        })
    }
}

async fn read(url: &Url, mut response: Response) -> Result<Fetched, AuthError> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(url, error))? {
        if MAX_BODY_BYTES - body.len() < chunk.len() {
            return Err(metadata(format!(
                "what {} answers is longer than {MAX_BODY_BYTES} bytes",
                shown_url(url)
            )));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched { status, headers, body })
}

fn redirect(from: &Url, fetched: &Fetched) -> Result<Url, AuthError> {
    let location = fetched.header(LOCATION.as_str()).filter(|it| it.len() <= 4096);
    let target = location.and_then(|it| from.join(it).ok());
    match target {
        Some(target) if target.origin() == from.origin() => Ok(target),
        _ => Err(metadata(format!(
            "{} redirects to another origin, which is not followed: {}",
            shown_url(from),
            shown(location.unwrap_or("no address at all"))
        ))),
    }
}

fn unreachable(url: &Url, error: reqwest::Error) -> AuthError {
    let error = error.without_url();
    let mut deepest: &dyn std::error::Error = &error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let cause = Excerpt::new(deepest.to_string().as_bytes(), MAX_CAUSE_BYTES).to_string();
    AuthError::Unreachable(format!("cannot reach {}: {cause}", origin(url)))
}

/// Scheme, host and port.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// A URL without what may be a secret.
pub(super) fn shown_url(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    shown(url.as_str())
}
