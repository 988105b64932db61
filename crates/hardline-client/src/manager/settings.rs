//! Settings of a manager.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::ConnectionSettings;

/// The settings of a [`Manager`](super::Manager). The defaults suit most clients.
#[derive(Clone)]
pub struct ManagerSettings {
    pub(super) connection: ConnectionSettings,
    pub(super) adjust: Option<Arc<Adjust>>,
    pub(super) max_wait: Duration,
    pub(super) cache: Option<PathBuf>,
    pub(super) is_eager: bool,
}

/// Changes the connection settings for the server of this name.
type Adjust = dyn Fn(&str, ConnectionSettings) -> ConnectionSettings + Send + Sync;

impl ManagerSettings {
    /// Sets the connection settings for all servers.
    #[must_use]
    pub fn with_connection(mut self, settings: ConnectionSettings) -> Self {
        self.connection = settings;
        self
    }

    /// Changes the connection settings per server. `adjust` receives a server's name and the common settings.
    #[must_use]
    pub fn adjust(
        mut self,
        adjust: impl Fn(&str, ConnectionSettings) -> ConnectionSettings + Send + Sync + 'static,
    ) -> Self {
        self.adjust = Some(Arc::new(adjust));
        self
    }

    /// Sets the time that a call waits for an unavailable server, 30 s by default.
    #[must_use]
    pub fn with_max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Caches tool lists in this directory, so that the next run can show them before its servers are connected.
    /// The directory is created on demand. By default there is no cache.
    #[must_use]
    pub fn with_cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache = Some(directory.into());
        self
    }

    /// Connects to a server only when a call or [`connection`](super::Manager::connection) first needs it,
    /// instead of as soon as it is added.
    #[must_use]
    pub fn when_asked(mut self) -> Self {
        self.is_eager = false;
        self
    }

    pub(super) fn for_server(&self, server: &str, timeout: Option<Duration>) -> ConnectionSettings {
        let mut settings = self.connection.clone().with_server_name(server);
        if let Some(timeout) = timeout {
            settings = settings.with_configured_timeout(timeout);
        }
        match &self.adjust {
            Some(adjust) => adjust(server, settings),
            None => settings,
        }
    }
}

impl Default for ManagerSettings {
    fn default() -> Self {
        Self {
            connection: ConnectionSettings::default(),
            adjust: None,
            max_wait: Duration::from_secs(30),
            cache: None,
            is_eager: true,
        }
    }
}

impl fmt::Debug for ManagerSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ManagerSettings")
            .field("connection", &self.connection)
            .field("max_wait", &self.max_wait)
            .field("cache", &self.cache)
            .field("is_eager", &self.is_eager)
            .finish_non_exhaustive()
    }
}
