//! HTTP requests to authorization servers, limited in size, time and destination.
//!
//! Redirects are followed only for documents, and only within their origin. A request with a secret is never
//! redirected.

use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::http::{client_builder, plain_client_builder};
use hardline_wire::excerpt::Excerpt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Client, Method, Request, Response, Url};
use serde_json::Value;

use crate::address::AddressPolicy;
use crate::challenge::Challenge;
use crate::error::{AuthError, metadata, shown};

/// Limit on the size of a response. Real ones have a few kilobytes.
const MAX_BODY_BYTES: usize = 256 << 10;
/// Time limit for one request, including its response.
const WAIT: Duration = Duration::from_secs(20);
/// Limit on redirects of a document.
const MAX_REDIRECTS: usize = 3;
/// Number of bytes of a library's error message that an error quotes.
const MAX_CAUSE_BYTES: usize = 300;

/// The HTTP client for authorization servers.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    client: Client,
    policy: AddressPolicy,
    wait: Duration,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Fetched {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the body as a JSON object.
    pub(crate) fn object(&self) -> Option<Value> {
        let value: Value = serde_json::from_slice(&self.body).ok()?;
        value.is_object().then_some(value)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Replaces these secrets in the body. A server that echoes them would put them into our errors.
    pub(crate) fn hide<'a>(&mut self, secrets: impl Iterator<Item = &'a str>) {
        let mut text = String::from_utf8_lossy(&self.body).into_owned();
        Secrets::new(secrets).hide_in(&mut text);
        self.body = text.into_bytes();
    }

    /// Returns the beginning of the body, escaped for display.
    pub(crate) fn excerpt(&self) -> String {
        Excerpt::new(self.body.trim_ascii(), 120).to_string()
    }
}

impl Fetcher {
    pub(crate) fn new(server: &Url, policy: AddressPolicy) -> Result<Self, AuthError> {
        // A machine without certificates can still reach a plain-http server.
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

    /// Fetches a JSON document. Returns `None` if the server has no such document.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached, reports an internal error, or redirects elsewhere.
    pub(crate) async fn document(&self, url: &Url) -> Result<Option<Value>, AuthError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let fetched = self.send(Method::GET, &url, HeaderMap::new(), None).await?;
            match fetched.status {
                200..300 => return Ok(fetched.object()),
                // reqwest does not follow redirects here, because each target has to be checked.
                300..400 => url = redirect(&url, &fetched)?,
                // A temporary failure must not pass for "no such document": the fallback would be wrong.
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

    /// Sends a body that may contain secrets. Does not follow redirects.
    pub(crate) async fn post(
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
                "{} redirects a request that contains a secret, which is not followed",
                shown_url(url)
            )));
        }
        Ok(fetched)
    }

    /// Sends the server a harmless request without a token, to get its challenge.
    pub(crate) async fn challenge(&self, server: &Url) -> Result<Challenge, AuthError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Streamable HTTP requires both types; without them a server may answer 406 instead of 401.
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let body = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#.to_owned();
        let fetched = self.send(Method::POST, server, headers, Some(body)).await?;
        // Only an answer of 401 says where to log in.
        if fetched.status != 401 {
            return Ok(Challenge { unchallenged: Some(fetched.status), ..Challenge::default() });
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
        // Names are checked again when they are resolved; this catches literal addresses.
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
        // Checked before the chunk is kept, so memory stays within the limit.
        if MAX_BODY_BYTES - body.len() < chunk.len() {
            return Err(metadata(format!(
                "the response from {} is longer than {MAX_BODY_BYTES} bytes",
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
        // Another origin could be an internal address that the metadata may not name directly.
        Some(target) if target.origin() == from.origin() => Ok(target),
        _ => Err(metadata(format!(
            "{} redirects to another origin, which is not followed: {}",
            shown_url(from),
            shown(location.unwrap_or("no address at all"))
        ))),
    }
}

/// Creates the error for a failed connection.
fn unreachable(url: &Url, error: reqwest::Error) -> AuthError {
    // The URL may contain a secret in its query.
    let error = error.without_url();
    // The outer errors only say that sending failed; the innermost has the cause.
    let mut deepest: &dyn std::error::Error = &error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let cause = Excerpt::new(deepest.to_string().as_bytes(), MAX_CAUSE_BYTES).to_string();
    AuthError::Unreachable(format!("cannot reach {}: {cause}", origin(url)))
}

/// Returns scheme, host and port.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Returns a URL for display, without its query and fragment, which may contain secrets.
pub(crate) fn shown_url(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    shown(url.as_str())
}
