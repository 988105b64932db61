//! Many servers, one client.
//!
//! A [`Manager`] connects to all its servers side by side and keeps them connected: one that is slow or
//! dead delays nobody, one that goes away is connected to again. Their tools are one [`Catalog`].
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
//! What can be relied on:
//!
//! - Every call ends. One that is made while its server is away waits for it, for a bounded time; one that
//!   was under way when the server died is made again only if the tool says that this does no harm.
//! - A server that is away is tried again after 0.5, 1, 2 and 4 s, then after 15 s, doubled each time, up to
//!   5 min. Five failures within 30 s make a server that we start ourselves wait until it is asked for.
//! - Its tools stay listed meanwhile, and are marked; so are those that an earlier run has seen.
//! - Everything is bounded: what is kept of lists, notifications and states, and how long anything waits.
//!
//! | module | holds |
//! |---|---|
//! | `schedule` | when to try again |
//! | `run` | the life of one server |
//! | `member`, `hub` | what is known of one server, and of all |
//! | `call` | a call from the wait for its server to its end |
//! | `catalog`, `name`, `cache` | the tools of all servers, what they are called, and what outlives a run |
//! | `connect`, `configured` | how a connection is made |

mod cache;
mod call;
mod catalog;
mod chance;
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
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_wire::excerpt::Excerpt;
use tokio::task::JoinHandle;

use crate::{Error, EventReceiver};
use cache::Cache;
use hub::Hub;
use member::{Known, Member};

pub use catalog::{Catalog, CatalogTool, Freshness, ListedTool, Shadow};
pub use configured::Configured;
pub use connect::Connect;
pub use settings::ManagerSettings;
pub use state::{ManagerEvent, State, StateChange, Status};

/// How long the end of all servers may take.
const CLOSE_TIME: Duration = Duration::from_secs(15);
/// How much of a name is shown.
const NAME_BYTES: usize = 80;

/// Many servers as one. Clones are the same manager; the servers end with the last.
#[derive(Clone)]
pub struct Manager {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Arc<Hub>,
    /// One for each server; `None` once the manager is closed.
    tasks: Mutex<Option<Vec<JoinHandle<()>>>>,
    runtime: tokio::runtime::Handle,
}

impl Manager {
    /// A manager without servers.
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime; adding a server needs one with I/O and time enabled.
    pub fn new(settings: ManagerSettings) -> Self {
        let hub = Arc::new(Hub::new(settings));
        let runtime = tokio::runtime::Handle::current();
        Self { inner: Arc::new(Inner { hub, tasks: Mutex::new(Some(Vec::new())), runtime }) }
    }

    /// Adds a server and begins to connect to it. `timeout` is how long its requests may take, if not as
    /// long as the settings say. Returns whether it was added: there was none of that name, and the manager
    /// is not closed.
    pub fn add(&self, name: &str, connect: Arc<dyn Connect>, timeout: Option<Duration>) -> bool {
        let hub = &self.inner.hub;
        let cache = hub.settings.cache.as_ref();
        let cache = cache.and_then(|it| Cache::new(it, &connect.fingerprint()?));
        let member = Member::new(name, connect, timeout, cache, State::Connecting);
        self.begin(Arc::new(member))
    }

    /// Adds a server of a configuration file and begins to connect to it, unless it is disabled there.
    /// Returns whether it was added, as [`add`](Self::add).
    pub fn add_configured(&self, server: impl Into<Configured>) -> bool {
        let server = server.into();
        let name = server.name().to_owned();
        let timeout = server.server().timeout();
        if !server.server().is_disabled() {
            return self.add(&name, Arc::new(server), timeout);
        }
        let member = Member::new(&name, Arc::new(server), timeout, None, State::Disabled);
        self.inner.hub.insert(Arc::new(member))
    }

    fn begin(&self, member: Arc<Member>) -> bool {
        let hub = &self.inner.hub;
        let mut tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(tasks) = &mut *tasks else { return false };
        if !hub.insert(Arc::clone(&member)) {
            return false;
        }
        tasks.retain(|task| !task.is_finished());
        tasks.push(self.inner.runtime.spawn(run::run(Arc::clone(hub), member)));
        true
    }

    /// Takes a server away: it is closed, and its tools are listed no longer. Returns whether there was one
    /// of that name.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.inner.hub.remove(name);
        if let Some(member) = &removed {
            member.closing.send_replace(true);
        }
        removed.is_some()
    }

    /// Connects to a server anew and at once, whatever happened before. Calls under way on the connection
    /// that there was are lost.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], if there is no server of that name.
    pub fn reconnect(&self, name: &str) -> Result<(), Error> {
        self.member(name)?.restart.notify_one();
        Ok(())
    }

    /// The tools of all servers, as they are now.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.inner.hub.catalog.borrow())
    }

    /// All servers, as they are now, in the order in which they were added.
    pub fn statuses(&self) -> Vec<Status> {
        self.inner.hub.members().iter().map(|it| it.status()).collect()
    }

    /// One server, as it is now.
    pub fn status(&self, server: &str) -> Option<Status> {
        Some(self.inner.hub.find(server)?.status())
    }

    /// What all servers send of their own accord, from now on.
    pub fn events(&self) -> EventReceiver<ManagerEvent> {
        self.inner.hub.events.listen()
    }

    /// How the states of the servers change, from now on.
    pub fn states(&self) -> EventReceiver<StateChange> {
        self.inner.hub.states.listen()
    }

    /// Waits until every server that is there now has listed its tools, or failed to. Each has as long as
    /// the settings give an opening and a request; bound it if that is too long.
    pub async fn listed(&self) {
        let is_done = |known: &Known| {
            let is_listed =
                known.tools.as_ref().is_some_and(|it| it.freshness == Freshness::Current);
            is_listed || known.list_failure.is_some() || known.state.has_failed()
        };
        for member in self.inner.hub.members() {
            member.asked.notify_one();
            // It fails only when the member is dropped.
            let _ = member.watch().wait_for(is_done).await;
        }
    }

    /// Ends all servers side by side, in bounded time. Calls under way fail; processes that were started are
    /// gone afterwards.
    pub async fn close(&self) {
        let tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.inner.close();
        let all = async {
            for task in tasks.into_iter().flatten() {
                let _ = task.await;
            }
        };
        if tokio::time::timeout(CLOSE_TIME, all).await.is_err() {
            tracing::warn!("not all servers could be ended in time");
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
        let states = members.iter().map(|it| (&it.name, it.known().state.clone()));
        formatter.debug_map().entries(states.collect::<Vec<_>>()).finish()
    }
}
