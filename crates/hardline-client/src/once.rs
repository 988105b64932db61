//! A single call to a URL, without a session.
//!
//! For servers that want none: one request, one answer. Nothing is opened before and nothing is closed
//! after it.

use std::sync::Arc;

use hardline_transport::http::{Config, Streamable};
use serde::Serialize;

use crate::connection::{Connection, Options, RawResult};
use crate::{Error, Settings, Version};

/// Sends one request to a server and gives its result.
///
/// With a version that has no handshake, 2026-07-28, the request says what such a request must; with
/// another it is sent as it is, which servers without sessions take.
///
/// # Errors
///
/// [`Error`]: see there.
///
/// # Panics
///
/// If it is called outside of a tokio runtime with I/O and time enabled.
pub async fn request(
    config: Config,
    version: Version,
    method: &str,
    params: &(impl Serialize + ?Sized),
    settings: Settings,
    options: &Options,
) -> Result<RawResult, Error> {
    let transport = Streamable::new(config).map_err(|error| Error::Start(error.to_string()))?;
    let connection = Connection::assume(Arc::new(transport), settings, version);
    let result = connection.request_with(method, params, options).await;
    connection.close().await;
    result
}
