//! Connections to many servers behind one handle.
//!
//! A [`Manager`] connects to all its servers concurrently and reconnects when a connection is lost. A slow
//! or dead server does not delay the others. Their tools are joined into one [`Catalog`].
//!
//! ```no_run
//! use hardline_client::config;
//! use hardline_client::manager::{Manager, ManagerSettings};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let manager = Manager::new(ManagerSettings::default());
//! for server in config::read(".mcp.json".as_ref())?.servers {
//!     manager.add_configured(server);
//! }
//! manager.listed().await;
//! for tool in manager.catalog().tools() {
//!     println!("{}", tool.name);
//! }
//! let result = manager.call_tool("files__read", serde_json::json!({ "path": "notes.txt" })).await?;
//! manager.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Guarantees:
//!
//! - Every call ends. A call to an unavailable server waits for it, up to
//!   [`with_max_wait`](ManagerSettings::with_max_wait). A call that was in flight when the connection was
//!   lost is repeated only if the tool declares itself read-only or idempotent.
//! - Reconnection uses backoff: 0.5, 1, 2 and 4 s, then 15 s, doubled each time, up to 5 min. After five
//!   failures within 30 s, a server that the manager starts itself is restarted only on request.
//! - The tools of an unavailable server stay in the catalog and are marked, as are tools that only an earlier
//!   run has listed.
//! - Everything is bounded: tool lists, buffered notifications and changes of state, and every wait.
//!
//! | module | contents |
//! |---|---|
//! | `schedule` | backoff and circuit breaker of one server |
//! | `run` | the task that keeps one server connected |
//! | `member`, `hub` | the shared state of one server, and of all servers |
//! | `call` | calls: waiting for the server, sending, repeating |
//! | `catalog`, `name`, `cache` | the joint tool list, the names in it, and its copy on disk |
//! | `connect`, `configured` | opening a connection |

mod cache;
mod call;
mod catalog;
mod configured;
mod connect;
mod hub;
mod jitter;
mod member;
mod name;
mod run;
mod schedule;
mod settings;
mod state;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_wire::excerpt::Excerpt;
use tokio::task::JoinHandle;

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

    /// Adds a server and starts to connect to it. `timeout` overrides the request timeout of the settings.
    /// Returns false if a server of that name exists, or if the manager is closed.
    pub fn add(&self, name: &str, connect: Arc<dyn Connect>, timeout: Option<Duration>) -> bool {
        let hub = &self.inner.hub;
        let cache = hub.settings.cache.as_ref();
        let cache = cache.and_then(|it| Cache::new(it, &connect.fingerprint()?));
        let member = Member::new(name, connect, timeout, cache, ServerState::Connecting);
        self.begin(Arc::new(member))
    }

    /// Adds a server from a configuration file and starts to connect to it, unless it is disabled there.
    /// Returns false in the same cases as [`add`](Self::add).
    pub fn add_configured(&self, server: impl Into<ConfiguredServer>) -> bool {
        let server = server.into();
        let name = server.name().to_owned();
        let timeout = server.server().timeout();
        if !server.server().is_disabled() {
            return self.add(&name, Arc::new(server), timeout);
        }
        let member = Member::new(&name, Arc::new(server), timeout, None, ServerState::Disabled);
        self.inner.hub.insert(Arc::new(member))
    }

    fn begin(&self, member: Arc<Member>) -> bool {
        let hub = &self.inner.hub;
        let mut tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // The lock is held across the insertion, so that `close` cannot miss a new task.
        let Some(tasks) = &mut *tasks else { return false };
        if !hub.insert(Arc::clone(&member)) {
            return false;
        }
        // Servers may be added and removed for the whole life of the process.
        tasks.retain(|task| !task.is_finished());
        tasks.push(self.inner.runtime.spawn(run::run(Arc::clone(hub), member)));
        true
    }

    /// Removes a server: closes its connection and drops its tools from the catalog. Returns false if there is
    /// no server of that name.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.inner.hub.remove(name);
        if let Some(member) = &removed {
            member.closing.send_replace(true);
        }
        removed.is_some()
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
        self.inner.hub.find(name).ok_or_else(|| {
            let name = Excerpt::new(name.as_bytes(), NAME_BYTES);
            Error::Unknown(format!("there is no server {name}"))
        })
    }
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
