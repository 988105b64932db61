//! Connections to many servers behind one handle.
//!
//! A [`Manager`] connects to all its servers concurrently and reconnects when a connection is lost. A slow
//! or dead server does not delay the others. Their tools are joined into one [`Catalog`].
//!
//! ```no_run
//! use hardline_client::{Manager, ManagerSettings};
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let manager = Manager::from_file(".mcp.json", ManagerSettings::default())?;
//! // Waits for the server `files` to list its tools, but for no other server.
//! let result = manager.call_tool("files__read", json!({ "path": "notes.txt" })).await?;
//! manager.listed().await;
//! for tool in manager.catalog().tools() {
//!     println!("{}", tool.name);
//! }
//! manager.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Guarantees:
//!
//! - Every call ends. A call to an unavailable server waits for it, and so does a call of a tool that its
//!   server has not listed yet, up to
//!   [`with_max_wait`](ManagerSettings::with_max_wait). A call that was in flight when the connection was
//!   lost is repeated only if the tool declares itself read-only or idempotent.
//! - Reconnection uses backoff. After five failures within 30 s, a server that the manager starts itself is
//!   restarted only on request.
//! - The tools of an unavailable server stay in the catalog and are marked, as are tools that only an earlier
//!   run has listed.
//! - Everything is bounded: tool lists, buffered notifications and changes of state, and every wait.

mod cache;
mod call;
mod catalog;
mod configured;
mod connect;
mod hub;
mod member;
mod name;
mod run;
mod schedule;
mod settings;
mod state;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_wire::excerpt::Excerpt;
use tokio::task::JoinHandle;

use crate::config::{self, ConfigError};
use crate::{Error, EventReceiver};
use cache::Cache;
use hub::Hub;
use member::{Member, Snapshot};

pub use catalog::{Catalog, CatalogTool, Freshness, ListedTool, Shadow};
pub use configured::ConfiguredServer;
pub use connect::Connect;
pub use settings::ManagerSettings;
pub use state::{ManagerEvent, ServerState, ServerStatus};

/// Time limit for closing all servers.
const CLOSE_TIME: Duration = Duration::from_secs(15);
/// Number of bytes of a name that an error quotes.
const NAME_BYTES: usize = 80;

/// Error returned when a server was not added to a manager.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AddServerError {
    /// The manager has a server of this name already. The name is escaped for a terminal.
    #[error("there is a server {0} already: remove it first, or choose another name")]
    NameTaken(String),
    /// The manager is closed.
    #[error("the manager is closed")]
    Closed,
}

/// A handle to many servers. Clones share the same servers, which are closed when the last clone is dropped.
#[derive(Clone)]
pub struct Manager {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Arc<Hub>,
    /// One task per server; `None` once the manager is closed.
    tasks: Mutex<Option<Vec<JoinHandle<()>>>>,
    runtime: tokio::runtime::Handle,
}

impl Manager {
    /// Creates a manager without servers.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime. Adding a server needs a runtime with I/O and time enabled.
    pub fn new(settings: ManagerSettings) -> Self {
        let hub = Arc::new(Hub::new(settings));
        let runtime = tokio::runtime::Handle::current();
        Self { inner: Arc::new(Inner { hub, tasks: Mutex::new(Some(Vec::new())), runtime }) }
    }

    /// Creates a manager with the enabled servers of a configuration file, and starts to connect to them.
    ///
    /// Servers with mistakes are left out, and each mistake is logged through `tracing`. Use
    /// [`config::read`] and [`add_configured`](Self::add_configured) to show the mistakes to a user, or to set
    /// the sources of variables and credentials.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] if the file cannot be read or is invalid as a whole.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a tokio runtime with I/O and time enabled.
    pub fn from_file(
        path: impl AsRef<Path>,
        settings: ManagerSettings,
    ) -> Result<Self, ConfigError> {
        let file = config::read(path.as_ref())?;
        for mistake in &file.mistakes {
            tracing::warn!(%mistake, "a mistake in the configuration");
        }
        let manager = Self::new(settings);
        for server in file.servers {
            // Names within a file are unique, so this cannot fail.
            let _ = manager.add_configured(server);
        }
        Ok(manager)
    }

    /// Adds a server and starts to connect to it.
    ///
    /// # Errors
    ///
    /// Returns an [`AddServerError`] if there is a server of that name already, or if the manager is closed.
    pub fn add(&self, name: &str, connect: Arc<dyn Connect>) -> Result<(), AddServerError> {
        let hub = &self.inner.hub;
        let cache = hub.settings.cache.as_ref();
        let cache = cache.and_then(|it| Cache::new(it, &connect.fingerprint()?));
        let member = Member::new(name, connect, cache, ServerState::Connecting);
        self.begin(Arc::new(member))
    }

    /// Adds a server from a configuration file and starts to connect to it, unless it is disabled there.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`add`](Self::add).
    pub fn add_configured(
        &self,
        server: impl Into<ConfiguredServer>,
    ) -> Result<(), AddServerError> {
        let server = server.into();
        let name = server.name().to_owned();
        if !server.server().is_disabled() {
            return self.add(&name, Arc::new(server));
        }
        let member = Member::new(&name, Arc::new(server), None, ServerState::Disabled);
        self.inner.hub.insert(Arc::new(member))
    }

    fn begin(&self, member: Arc<Member>) -> Result<(), AddServerError> {
        let hub = &self.inner.hub;
        let mut tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // The lock is held across the insertion, so that `close` cannot miss a new task.
        let Some(tasks) = &mut *tasks else { return Err(AddServerError::Closed) };
        hub.insert(Arc::clone(&member))?;
        // Servers may be added and removed for the whole life of the process.
        tasks.retain(|task| !task.is_finished());
        tasks.push(self.inner.runtime.spawn(run::run(Arc::clone(hub), member)));
        Ok(())
    }

    /// Removes a server: closes its connection and drops its tools from the catalog.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unknown`] if there is no server of that name.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let removed = self.inner.hub.remove(name).ok_or_else(|| unknown_server(name))?;
        removed.closing.send_replace(true);
        Ok(())
    }

    /// Reconnects to a server at once, without backoff. Calls in flight on the old connection fail.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unknown`] if there is no server of that name.
    pub fn reconnect(&self, name: &str) -> Result<(), Error> {
        self.member(name)?.restart.notify_one();
        Ok(())
    }

    /// Returns the current tools of all servers.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.inner.hub.catalog.borrow())
    }

    /// Returns the current status of all servers, in the order in which they were added.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.inner.hub.members().iter().map(|it| it.status()).collect()
    }

    /// Returns the current status of one server, or `None` if there is no server of that name.
    pub fn status(&self, server: &str) -> Option<ServerStatus> {
        Some(self.inner.hub.find(server)?.status())
    }

    /// Subscribes to the servers' notifications and changes of state, and to changes of the catalog, in the order
    /// in which they happen, from now on.
    pub fn events(&self) -> EventReceiver<ManagerEvent> {
        self.inner.hub.events.subscribe()
    }

    /// Waits until every current server has listed its tools or failed to. Each server may take as long as the
    /// timeouts for opening and for one request together; wrap the future in a timeout to wait less.
    pub async fn listed(&self) {
        let is_done = |snapshot: &Snapshot| {
            let is_listed =
                snapshot.tools.as_ref().is_some_and(|it| it.freshness == Freshness::Current);
            is_listed || snapshot.list_failure.is_some() || snapshot.state.has_failed()
        };
        for member in self.inner.hub.members() {
            // With `when_asked` no connection is made before a caller wants one.
            member.asked.notify_one();
            // An error means that the member was dropped, so there is no list to wait for.
            let _ = member.watch().wait_for(is_done).await;
        }
    }

    /// Closes all servers concurrently, within 15 s. Calls in flight fail. Server processes that the manager
    /// started have exited afterwards.
    pub async fn close(&self) {
        // Taken first: from here on `begin` refuses servers, so none can slip past the close.
        let tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.inner.close();
        let all = async {
            for task in tasks.into_iter().flatten() {
                let _ = task.await;
            }
        };
        if tokio::time::timeout(CLOSE_TIME, all).await.is_err() {
            tracing::warn!("some servers were still closing when the time limit expired");
        }
    }

    fn member(&self, name: &str) -> Result<Arc<Member>, Error> {
        self.inner.hub.find(name).ok_or_else(|| unknown_server(name))
    }
}

fn unknown_server(name: &str) -> Error {
    let name = Excerpt::new(name.as_bytes(), NAME_BYTES);
    Error::Unknown(format!("there is no server {name}"))
}

impl Inner {
    fn close(&self) {
        for member in self.hub.members() {
            member.closing.send_replace(true);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.inner.hub.members();
        let states = members.iter().map(|it| (&it.name, it.snapshot().state.clone()));
        formatter.debug_map().entries(states.collect::<Vec<_>>()).finish()
    }
}
