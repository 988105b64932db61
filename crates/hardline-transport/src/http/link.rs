//! What all requests to one server share, and how each is sent.

use std::time::Duration;

use bytes::Bytes;
use hardline_wire::header::{Header, PROTOCOL_VERSION};
use hardline_wire::version::Version;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Response};

use super::client::client;
use super::config::{Address, Config, ConfigError};
use super::error;
use super::outlet::Outlet;
use super::redirect;
use super::retry_after::retry_after;
use super::session::{SESSION_ID, Stamp};
use crate::client::{Text, TransportError};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How often a message is sent again because the server asked for it to be sent later.
const MAX_DEFERRALS: u32 = 2;
/// The shortest wait, so that a server that says 0 is not stormed.
const MIN_DEFERRAL: Duration = Duration::from_millis(250);
/// The longest that is waited for that; whoever wants to wait longer is told.
const MAX_DEFERRAL: Duration = Duration::from_secs(10);

/// The way to one server.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) config: Config,
    client: Client,
    pub(super) outlet: Outlet,
}

impl Link {
    pub(super) fn new(config: Config) -> Result<Self, ConfigError> {
        let client = client(&config)?;
        Ok(Self { config, client, outlet: Outlet::new() })
    }

    /// Sends a message to `address`, and again if the server asks for that soon.
    pub(super) async fn post(
        &self,
        address: &Address,
        text: Text,
        headers: &[Header],
        stamp: &Stamp,
    ) -> Result<Response, TransportError> {
        let limit = self.config.limits.max_frame_bytes();
        if limit < text.len() {
            return Err(TransportError::TooLarge { limit });
        }
        let text = Bytes::from_owner(text);
        let mut map = self.headers(stamp, EITHER).await?;
        map.insert(CONTENT_TYPE, JSON);
        for (name, value) in headers {
            let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
            else {
                continue;
            };
            map.insert(name, value);
        }
        for _ in 0..MAX_DEFERRALS {
            let response = self.send(Method::POST, address, &map, Some(&text)).await?;
            // Others, 503 too, may come from somebody in between after the server took it.
            let is_refused = response.status() == 429;
            let wait = is_refused.then(|| retry_after(response.headers())).flatten();
            match wait.filter(|wait| *wait <= MAX_DEFERRAL) {
                Some(wait) => tokio::time::sleep(wait.max(MIN_DEFERRAL)).await,
                None => return Ok(response),
            }
        }
        self.send(Method::POST, address, &map, Some(&text)).await
    }

    /// Opens an event stream, after the event with this id.
    pub(super) async fn get(
        &self,
        stamp: &Stamp,
        last_event_id: Option<&str>,
    ) -> Result<Response, TransportError> {
        let mut map = self.headers(stamp, EVENT_STREAM).await?;
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            map.insert(LAST_EVENT_ID, id);
        }
        self.send(Method::GET, &self.config.url, &map, None).await
    }

    /// Ends the session at the server.
    pub(super) async fn delete(&self, stamp: &Stamp) -> Result<(), TransportError> {
        let map = self.headers(stamp, EITHER).await?;
        self.send(Method::DELETE, &self.config.url, &map, None).await.map(drop)
    }

    async fn headers(
        &self,
        stamp: &Stamp,
        accept: HeaderValue,
    ) -> Result<HeaderMap, TransportError> {
        let mut map = self.config.headers.0.clone();
        if let Some(source) = &self.config.header_source {
            map.extend(source.headers().await?.0);
        }
        map.insert(ACCEPT, accept);
        if let Some(id) = &stamp.id {
            map.insert(SESSION_ID, id.clone());
        }
        if let Some(version) = stamp.version.filter(|it| Version::V2025_06_18 <= *it) {
            map.insert(PROTOCOL_VERSION, HeaderValue::from_static(version.as_str()));
        }
        Ok(map)
    }

    /// Sends one HTTP request, along redirects that stay on the origin.
    async fn send(
        &self,
        method: Method,
        address: &Address,
        headers: &HeaderMap,
        body: Option<&Bytes>,
    ) -> Result<Response, TransportError> {
        let mut address = address.clone();
        for _ in 0..=redirect::MAX_REDIRECTS {
            let mut request = Request::new(method.clone(), address.0.clone());
            *request.headers_mut() = headers.clone();
            *request.body_mut() = body.map(|body| body.clone().into());
            let response = self.client.execute(request).await;
            let response = response.map_err(|error| error::unsent(&address, error))?;
            match redirect::target(&address, &method, &response)? {
                None => return Ok(response),
                Some(next) => address = next,
            }
        }
        Err(redirect::too_many())
    }
}
