//! The state of a server, and the events that report its changes.

use std::sync::Arc;
use std::time::Duration;

use super::catalog::Freshness;
use crate::broadcast::BroadcastEvent;
use crate::{ServerEvent, Version};

/// The manager's view of a server. Reasons are safe to print to a terminal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServerState {
    /// The manager is connecting to the server, for the first time or again.
    Connecting,
    /// The connection is open and can be used.
    Connected {
        /// The negotiated protocol version.
        version: Version,
    },
    /// The server is unavailable; the manager will try again.
    Waiting {
        /// Reason for which the server is unavailable.
        reason: Arc<str>,
        /// Delay before the next attempt, counted from this state change.
        retry_in: Duration,
    },
    /// The server failed so often in a short time that the circuit breaker opened. The manager tries again only
    /// for a call or after [`reconnect`](super::Manager::reconnect).
    Broken {
        /// Reason of the last failure.
        reason: Arc<str>,
    },
    /// The server requires a login. The manager retries at long intervals, in case the user logs in elsewhere.
    LoginNeeded {
        /// Instruction for the user.
        reason: Arc<str>,
    },
    /// The configuration disables the server.
    Disabled,
    /// The manager is closed, or the server was removed.
    Closed,
}

impl ServerState {
    /// Returns true if the server can be called now.
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Returns true if the last attempt failed, so that waiting for a connection may take long.
    pub fn has_failed(&self) -> bool {
        !matches!(self, Self::Connecting | Self::Connected { .. })
    }

    /// Returns the reason for which the server is unavailable, if it is.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Waiting { reason, .. }
            | Self::Broken { reason }
            | Self::LoginNeeded { reason } => Some(reason),
            Self::Disabled => Some("it is disabled in the configuration"),
            Self::Closed => Some("the manager was closed, or the server was removed"),
            Self::Connecting | Self::Connected { .. } => None,
        }
    }
}

/// A snapshot of one server's status.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Name of the server.
    pub server: Arc<str>,
    /// State of the connection.
    pub state: ServerState,
    /// Number of listed tools and freshness of the list; `None` before the first list.
    pub tools: Option<(usize, Freshness)>,
    /// Reason for which the last `tools/list` failed while the server was connected.
    pub list_failure: Option<Arc<str>>,
    /// Reason for which the last attempt failed or the last connection ended; `None` once connected again.
    pub last_failure: Option<Arc<str>>,
    /// Number of tools that exceed the limit on listed tools.
    pub unlisted: usize,
    /// Number of connection attempts so far.
    pub attempts: u64,
}

/// An event from one of a manager's servers, or a change of a state or of the catalog.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ManagerEvent {
    /// A server has a new state. What it sends in that state comes after this event.
    State {
        /// Name of the server.
        server: Arc<str>,
        /// The new state.
        state: ServerState,
    },
    /// An event from one server.
    Server {
        /// Name of the server.
        server: Arc<str>,
        /// The event.
        event: ServerEvent,
    },
    /// The catalog has changed; [`catalog`](super::Manager::catalog) returns it.
    CatalogChanged,
    /// Number of events that the receiver missed because it was too slow.
    /// [`statuses`](super::Manager::statuses) returns the current states.
    Missed(u64),
}

impl BroadcastEvent for ManagerEvent {
    fn len(&self) -> usize {
        match self {
            Self::State { state, .. } => 64 + state.reason().map_or(0, str::len),
            Self::Server { event, .. } => 64 + event.len(),
            Self::CatalogChanged | Self::Missed(_) => 0,
        }
    }

    fn missed(count: u64) -> Self {
        Self::Missed(count)
    }
}
