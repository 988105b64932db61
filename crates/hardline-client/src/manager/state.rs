//! What there is to know about a server, and the stream of it.

use std::sync::Arc;
use std::time::Duration;

use super::catalog::Freshness;
use crate::board::Post;
use crate::{ServerEvent, Version};

/// What a manager is doing about a server. Reasons are fit for a terminal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum State {
    /// It is being connected to, for the first time or again.
    Connecting,
    /// It can be called.
    Connected {
        /// The version that is spoken.
        version: Version,
    },
    /// It is away, and will be tried again.
    Waiting {
        /// Why it is away.
        reason: Arc<str>,
        /// How long until then, from when this was said.
        retry_in: Duration,
    },
    /// It failed so often in a short time that it is tried again only if somebody calls it, or
    /// [`reconnect`](super::Manager::reconnect)s.
    Broken {
        /// Why it failed last.
        reason: Arc<str>,
    },
    /// It wants a login first. It is asked again from time to time, as somebody may log in elsewhere.
    LoginNeeded {
        /// What to do.
        reason: Arc<str>,
    },
    /// It is not to be used.
    Disabled,
    /// The manager is closed, or the server was removed.
    Closed,
}

impl State {
    /// Whether it can be called now.
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Whether the last attempt has failed: whoever waits for it may wait long.
    pub fn has_failed(&self) -> bool {
        !matches!(self, Self::Connecting | Self::Connected { .. })
    }

    /// Why it is away, if it is.
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

/// A server, at one time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Its name.
    pub server: Arc<str>,
    /// What is done about it.
    pub state: State,
    /// How many tools it has, and how current the list is; `None` before the first.
    pub tools: Option<(usize, Freshness)>,
    /// Why the tools could not be listed, if the server is there and that is so.
    pub list_failure: Option<Arc<str>>,
    /// Why the last attempt failed or the last connection ended, also while the next is made; `None` once it
    /// is connected.
    pub last_failure: Option<Arc<str>>,
    /// How many tools it has besides those that are listed, as there is a limit.
    pub unlisted: usize,
    /// How often it was tried to connect.
    pub attempts: u64,
}

/// A server whose state has changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StateChange {
    /// What it is now.
    Changed {
        /// The server.
        server: Arc<str>,
        /// What is done about it.
        state: State,
    },
    /// As many changes were not taken in time, and are lost: [`statuses`](super::Manager::statuses) has the
    /// present.
    Missed(u64),
}

/// Something that a server sent of its own accord, or that changed with it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ManagerEvent {
    /// What one server sent.
    Server {
        /// The server.
        server: Arc<str>,
        /// What it sent.
        event: ServerEvent,
    },
    /// The list of all tools has changed: [`catalog`](super::Manager::catalog) has it.
    CatalogChanged,
    /// As many events were not taken in time, and are lost.
    Missed(u64),
}

impl Post for StateChange {
    fn len(&self) -> usize {
        match self {
            Self::Changed { state, .. } => 64 + state.reason().map_or(0, str::len),
            Self::Missed(_) => 0,
        }
    }

    fn missed(count: u64) -> Self {
        Self::Missed(count)
    }
}

impl Post for ManagerEvent {
    fn len(&self) -> usize {
        match self {
            Self::Server { event, .. } => 64 + event.len(),
            Self::CatalogChanged | Self::Missed(_) => 0,
        }
    }

    fn missed(count: u64) -> Self {
        Self::Missed(count)
    }
}
