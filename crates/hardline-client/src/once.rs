//! A single request to a URL without a session, for servers that do not require one.
//!
//! No session is opened before the request and none is closed after it.

use std::sync::Arc;

use hardline_transport::http::{Config, Streamable};
use serde::Serialize;

use crate::connection::{Connection, RawResult, RequestOptions};
use crate::{ConnectionSettings, Error, Version};

/// Sends one request to the server at the URL in `config` and returns its result.
///
/// With version 2026-07-28, which has no handshake, the request carries the metadata that this version
/// requires in every request. With an older version the request is sent without `initialize`; servers
/// without sessions accept that.
///
/// # Errors
///
/// Returns an [`Error`] if the request could not be sent, or if the server's answer is not a result.
///
/// # Panics
///
/// Panics if called outside of a tokio runtime with I/O and time enabled.
pub async fn request(
    config: Config,
    version: Version,
    method: &str,
    params: &(impl Serialize + ?Sized),
    settings: ConnectionSettings,
    options: &RequestOptions,
) -> Result<RawResult, Error> {
    let transport = Streamable::new(config).map_err(|error| Error::Start(error.to_string()))?;
    let connection = Connection::assume(Arc::new(transport), settings, version);
    let result = connection.request_with(method, params, options).await;
    connection.close().await;
    result
}
