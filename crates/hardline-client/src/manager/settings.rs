//! How a manager behaves.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::Settings;

/// The settings of a [`Manager`](super::Manager). The defaults are right for almost everyone.
#[derive(Clone)]
pub struct ManagerSettings {
    pub(super) connection: Settings,
    pub(super) adjust: Option<Arc<Adjust>>,
    pub(super) max_wait: Duration,
    pub(super) cache: Option<PathBuf>,
    pub(super) is_eager: bool,
}

/// Changes the settings for the server of this name.
type Adjust = dyn Fn(&str, Settings) -> Settings + Send + Sync;

impl ManagerSettings {
    /// Sets what holds for the connection to every server.
    #[must_use]
    pub fn with_connection(mut self, settings: Settings) -> Self {
        self.connection = settings;
        self
    }

    /// Changes that for single servers: `adjust` is given a server's name and the settings for all.
    #[must_use]
    pub fn adjust(
        mut self,
        adjust: impl Fn(&str, Settings) -> Settings + Send + Sync + 'static,
    ) -> Self {
        self.adjust = Some(Arc::new(adjust));
        self
    }

    /// Sets how long a call waits for a server that is away or not there yet, 30 s by default.
    #[must_use]
    pub fn with_max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Keeps the lists of tools in this directory, so that the next run has them before the servers are
    /// there. It is made if need be. By default they are not kept.
    #[must_use]
    pub fn with_cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache = Some(directory.into());
        self
    }

    /// Connects to a server only when it is asked for by a call or
    /// [`connection`](super::Manager::connection), not as soon as it is known.
    #[must_use]
    pub fn when_asked(mut self) -> Self {
        self.is_eager = false;
        self
    }

    pub(super) fn for_server(&self, server: &str, timeout: Option<Duration>) -> Settings {
        let mut settings = self.connection.clone();
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
            connection: Settings::default(),
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
