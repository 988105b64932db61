//! State shared by all requests to one server, and the sending of each.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hardline_wire::header::{Header, PROTOCOL_VERSION};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Response};
use tokio::time::Instant;

use super::body;
use super::client::client;
use super::error;
use super::event_queue::EventQueue;
use super::header_source::{HeaderRefusal, MAX_REFUSALS, Next, Target};
use super::redirect;
use super::retry_after::retry_after;
use super::session::{SESSION_ID, Stamp};
use super::settings::{Address, Headers, HttpSettings, HttpSettingsError};
use crate::Secrets;
use crate::client::{MessageText, TransportError};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Limit on repeats of a message that the server asked to send later.
const MAX_DEFERRALS: u32 = 2;
/// Shortest delay before a repeat, so that a server that asks for 0 is not flooded.
const MIN_DEFERRAL: Duration = Duration::from_millis(250);
/// Longest delay before a repeat. If the server asks for more, the caller gets its response.
const MAX_DEFERRAL: Duration = Duration::from_secs(10);

/// Sends requests to one server.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) settings: HttpSettings,
    client: Client,
    /// Values of the configured headers.
    secrets: Secrets,
    recent: Mutex<RecentHeaders>,
    pub(super) events: EventQueue,
}

/// The last two sets of headers from the source: a response may belong to either.
#[derive(Debug, Default)]
struct RecentHeaders {
    last: Headers,
    before: Headers,
    /// Their values and the configured ones, computed on first use.
    secrets: Option<Secrets>,
}

/// Secret headers of a request. Attached to its response, which may repeat them.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    configured: Secrets,
    given: Headers,
}

impl Sent {
    pub(super) fn secrets(&self) -> Secrets {
        self.configured.and(&self.given.secrets())
    }
}

impl Link {
    pub(super) fn new(settings: HttpSettings) -> Result<Self, HttpSettingsError> {
        let client = client(&settings)?;
        let secrets = settings.headers.secrets();
        Ok(Self { settings, client, secrets, recent: Mutex::default(), events: EventQueue::new() })
    }

    /// Returns the header values that must be hidden: the configured ones and those sent recently.
    pub(super) fn secrets(&self) -> Secrets {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let RecentHeaders { last, before, secrets } = &mut *recent;
        let all = || self.secrets.and(&last.secrets()).and(&before.secrets());
        secrets.get_or_insert_with(all).clone()
    }

    fn remember(&self, given: &Headers) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let RecentHeaders { last, before, secrets } = &mut *recent;
        if last.0 != given.0 {
            // Credentials change, and the server may still repeat the ones before.
            *before = std::mem::replace(last, given.clone());
            *secrets = None;
        }
    }

    /// Sends a message to `address`. Repeats it if the server asks for that with a short delay.
    pub(super) async fn post(
        &self,
        address: &Address,
        text: MessageText,
        headers: &[Header],
        stamp: &Stamp,
    ) -> Result<Response, TransportError> {
        let limit = self.settings.limits.max_frame_bytes();
        if text.len() > limit {
            return Err(TransportError::TooLarge { limit });
        }
        // Shared, because a refused or deferred request sends the same bytes again.
        let text = Bytes::from_owner(text);
        let mut map = headers_of(stamp, EITHER);
        map.insert(CONTENT_TYPE, JSON);
        for (name, value) in headers {
            // A value that HTTP cannot carry is left out, and the server then refuses the request.
            let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
            else {
                continue;
            };
            map.insert(name, value);
        }
        for _ in 0..MAX_DEFERRALS {
            let response = self.send(Method::POST, address, &map, Some(&text)).await?;
            // Only 429 proves that the message was not processed. Other statuses, even 503, may
            // come from a proxy after the server received the message.
            let is_refused = response.status() == 429;
            let wait = is_refused.then(|| retry_after(response.headers())).flatten();
            match wait.filter(|wait| *wait <= MAX_DEFERRAL) {
                Some(wait) => tokio::time::sleep(wait.max(MIN_DEFERRAL)).await,
                None => return Ok(response),
            }
        }
        self.send(Method::POST, address, &map, Some(&text)).await
    }

    /// Opens an event stream, after the event with this id if given.
    pub(super) async fn get(
        &self,
        stamp: &Stamp,
        last_event_id: Option<&str>,
    ) -> Result<Response, TransportError> {
        let mut map = headers_of(stamp, EVENT_STREAM);
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            map.insert(LAST_EVENT_ID, id);
        }
        self.send(Method::GET, &self.settings.url, &map, None).await
    }

    /// Ends the session at the server.
    pub(super) async fn delete(&self, stamp: &Stamp) -> Result<(), TransportError> {
        let map = headers_of(stamp, EITHER);
        self.send(Method::DELETE, &self.settings.url, &map, None).await.map(drop)
    }

    /// Sends one HTTP request. Follows redirects on the origin, and repeats it while the header
    /// source provides better headers after a refusal.
    async fn send(
        &self,
        method: Method,
        address: &Address,
        own: &HeaderMap,
        body: Option<&Bytes>,
    ) -> Result<Response, TransportError> {
        let since = Instant::now();
        let mut address = address.clone();
        let mut redirects = 0;
        let mut attempt = 0;
        loop {
            let target = Target::new(method.as_str(), address.0.as_str());
            let mut headers = self.settings.headers.0.clone();
            let mut given = Headers::new();
            // Asked for each attempt: the source may have renewed its credentials.
            if let Some(source) = &self.settings.header_source {
                given = source.headers(target).await?;
                self.remember(&given);
                headers.extend(given.0.clone());
            }
            // Last, so that no configured header can replace one of the protocol.
            headers.extend(own.clone());
            let mut request = Request::new(method.clone(), address.0.clone());
            *request.headers_mut() = headers;
            *request.body_mut() = body.map(|body| body.clone().into());
            let response = self.client.execute(request).await;
            let mut response = response.map_err(|error| error::unsent(&address, error))?;
            if let Some(next) = redirect::target(&address, &method, &response)? {
                if redirects == redirect::MAX_REDIRECTS {
                    return Err(redirect::too_many());
                }
                redirects += 1;
                address = next;
                continue;
            }
            let status = response.status().as_u16();
            let source = self.settings.header_source.as_ref().filter(|_| attempt < MAX_REFUSALS);
            let (401 | 403, Some(source)) = (status, source) else {
                let configured = self.secrets.clone();
                response.extensions_mut().insert(Sent { configured, given });
                return Ok(response);
            };
            let hints = error::auth_hints(response.headers());
            let refusal = HeaderRefusal {
                since,
                attempt,
                ..HeaderRefusal::new(target, status, &hints, &given)
            };
            match source.refused(refusal).await? {
                Next::GiveUp => {
                    let configured = self.secrets.clone();
                    response.extensions_mut().insert(Sent { configured, given });
                    return Ok(response);
                }
                // Reading the short body lets the repeat reuse the connection.
                Next::SendAgain => body::discard(response).await,
            }
            attempt += 1;
        }
    }
}

/// Returns the headers that the transport sets itself.
fn headers_of(stamp: &Stamp, accept: HeaderValue) -> HeaderMap {
    let mut map = HeaderMap::new();
    map.insert(ACCEPT, accept);
    if let Some(id) = &stamp.id {
        map.insert(SESSION_ID, id.clone());
    }
    // Older versions do not have this header.
    if let Some(version) = stamp.version.filter(|it| it.has_version_header()) {
        map.insert(PROTOCOL_VERSION, HeaderValue::from_static(version.as_str()));
    }
    map
}
