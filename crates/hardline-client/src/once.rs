//! A single request to a URL without a session, for servers that do not require one.
//!
//! No session is opened before the request and none is closed after it.

//!
//! ```no_run
//! use hardline_client::once::SingleRequest;
//! use hardline_transport::http::HttpSettings;
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let config = HttpSettings::new("https://example.com/mcp")?;
//! let result = SingleRequest::new(config, "tools/call")
//!     .with_params(&json!({ "name": "echo", "arguments": { "text": "hello" } }))?
//!     .send()
//!     .await?;
//! println!("{}", result.get());
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

use hardline_transport::http::{HttpSettings, Streamable};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::connection::{Connection, RawResult, RequestOptions};
use crate::{ConnectionSettings, Error, StartError, Version};

/// A request that is sent without opening a session.
///
/// The latest version, the default, has no handshake: the request carries the metadata that the version
/// requires in every request. With a version that has one, the request is sent without `initialize`; servers
/// without sessions accept that.
#[derive(Clone, Debug)]
#[must_use]
pub struct SingleRequest {
    config: HttpSettings,
    method: String,
    params: Option<Box<RawValue>>,
    version: Version,
    settings: ConnectionSettings,
    options: RequestOptions,
}

impl SingleRequest {
    /// Creates a request for `method` to the server at the URL in `config`, without parameters.
    pub fn new(config: HttpSettings, method: impl Into<String>) -> Self {
        Self {
            config,
            method: method.into(),
            params: None,
            // Nothing is negotiated, and this version has the most servers.
            version: Version::FIRST_WITHOUT_HANDSHAKE,
            settings: ConnectionSettings::default(),
            options: RequestOptions::default(),
        }
    }

    /// Sets the parameters, which serialize to a JSON object.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Params`] if they cannot be serialized.
    pub fn with_params(mut self, params: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        let params = to_raw_value(params).map_err(|error| Error::Params(error.to_string()))?;
        self.params = Some(params);
        Ok(self)
    }

    /// Sets the protocol version of the request. Default: the latest.
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Sets the connection settings: identity, capabilities, handlers, timeouts.
    pub fn with_settings(mut self, settings: ConnectionSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the options of the request.
    pub fn with_options(mut self, options: RequestOptions) -> Self {
        self.options = options;
        self
    }

    /// Sends the request and returns its result.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request could not be sent, or if the server's answer is not a result.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with I/O and time enabled.
    pub async fn send(self) -> Result<RawResult, Error> {
        let transport = Streamable::new(self.config).map_err(StartError::new)?;
        let connection = Connection::assume(Arc::new(transport), self.settings, self.version);
        let params = self.params.as_deref().map_or("{}", RawValue::get);
        let result = connection.request_json(&self.method, params, &self.options).await;
        connection.close().await;
        result
    }
}
