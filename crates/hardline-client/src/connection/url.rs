//! Opens sessions with servers at a URL.

use std::sync::Arc;

use hardline_transport::client::TransportError;
use hardline_transport::http::{HttpSettings, Sse, Streamable};

use super::Connection;
use crate::settings::Era;
use crate::{ConnectionSettings, Error, StartError, Versions};

impl Connection {
    /// Opens a session with the server at `url` over Streamable HTTP. Falls back to the HTTP+SSE transport of
    /// 2024-11-05 if the server refuses Streamable HTTP.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the URL is invalid, and in the same cases as [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with I/O and time enabled.
    pub async fn connect(url: &str, settings: ConnectionSettings) -> Result<Self, Error> {
        let config = HttpSettings::new(url)
            .map_err(|error| Error::from(StartError::new(error)).hidden(&settings.secrets))?;
        Self::connect_with(config, settings).await
    }

    /// Like [`connect`](Self::connect), with a configuration of the HTTP transport: headers, limits and more.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] in the same cases as [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with I/O and time enabled.
    pub async fn connect_with(
        config: HttpSettings,
        settings: ConnectionSettings,
    ) -> Result<Self, Error> {
        let name = config.url().to_owned();
        let eras = settings.eras.clone();
        if eras.find(&name) == Some(Era::Sse) {
            if let Ok(connection) = Self::connect_sse(config.clone(), settings.clone()).await {
                return Ok(connection);
            }
            // The server may have been upgraded since its era was remembered.
            eras.forget(&name);
        }
        let transport = Streamable::new(config.clone());
        let transport = transport
            .map_err(|error| Error::from(StartError::new(error)).hidden(&settings.secrets))?;
        let error = match Self::open_as(Arc::new(transport), settings.clone(), Some(&name)).await {
            Err(error) if may_be_sse(&error, &settings) => error,
            outcome => return outcome,
        };
        tracing::debug!(%error, "no Streamable HTTP: trying HTTP+SSE");
        // If both fail, the error of Streamable HTTP is more useful: few servers speak only HTTP+SSE.
        let connection = Self::connect_sse(config, settings).await.map_err(|_| error)?;
        eras.remember(&name, Era::Sse);
        Ok(connection)
    }

    /// Opens a session over the HTTP+SSE transport of 2024-11-05 only.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] in the same cases as [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with I/O and time enabled.
    pub async fn connect_sse(
        config: HttpSettings,
        settings: ConnectionSettings,
    ) -> Result<Self, Error> {
        let versions = match settings.versions {
            // Stateless versions do not exist over HTTP+SSE, so probing for one would only cost time.
            Versions::Any => Versions::WithHandshake,
            versions => versions,
        };
        let transport = Sse::connect(config).await;
        let transport =
            transport.map_err(|error| Error::Transport(error.hidden(&settings.secrets)))?;
        Self::open(Arc::new(transport), settings.with_versions(versions)).await
    }
}

/// Returns true if the error is one with which an HTTP+SSE server would refuse Streamable HTTP.
fn may_be_sse(error: &Error, settings: &ConnectionSettings) -> bool {
    let Error::Transport(TransportError::Http(error)) = error else { return false };
    let is_allowed = match settings.versions {
        Versions::Only(version) => version.has_handshake(),
        _ => true,
    };
    is_allowed
        && (400..500).contains(&error.status)
        && !matches!(error.status, 401 | 403 | 407 | 429)
}
