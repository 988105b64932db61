//! By which policy a server is judged, and who is told.

use std::fmt;
use std::sync::Arc;

use hardline_guard::policy::Policy;
use hardline_guard::tools::PinKeeper;
use hardline_guard::{Found, Guard, Rule};

/// What the guard of a connection is made of. Each connection has a guard of its own.
#[derive(Clone)]
pub struct GuardSettings {
    policy: Policy,
    server: Option<String>,
    pins: Option<Arc<dyn Fn() -> Box<dyn PinKeeper> + Send + Sync>>,
    pub(super) observer: Option<Arc<Observer>>,
}

/// What is called with each note.
pub(super) type Observer = dyn Fn(&Note<'_>) + Send + Sync;

/// Something that the guard has to tell.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Note<'a> {
    /// A rule found something.
    Found(&'a Found),
    /// So many more findings of one message are not listed.
    Unlisted(usize),
    /// A line of the server that is no message, as it came.
    Noise(&'a [u8]),
    /// A call of a tool that is hidden or denied was refused: the name, as the caller wrote it.
    Denied(&'a str),
    /// Something about the pins cannot be kept.
    Trouble(&'a str),
    /// The policy ends the session.
    Closed(Rule),
}

impl GuardSettings {
    /// A guard with this policy, for a server without a name.
    pub fn new(policy: Policy) -> Self {
        Self { policy, server: None, pins: None, observer: None }
    }

    /// Names the server: what the policy says of it counts, and its tools are pinned under this name.
    #[must_use]
    pub fn for_server(mut self, name: impl Into<String>) -> Self {
        self.server = Some(name.into());
        self
    }

    /// Compares the tools that the server lists with pins: `keeper` is called for each connection.
    #[must_use]
    pub fn with_pins(
        mut self,
        keeper: impl Fn() -> Box<dyn PinKeeper> + Send + Sync + 'static,
    ) -> Self {
        self.pins = Some(Arc::new(keeper));
        self
    }

    /// Calls `observer` with each note. Without one, notes are logged.
    ///
    /// It is called between two messages, so it should return soon.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Fn(&Note<'_>) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The limits of the wire that the policy sets.
    pub(super) fn limits(&self) -> hardline_wire::limits::Limits {
        self.policy.settings(self.server.as_deref()).limits().clone()
    }

    pub(super) fn build(&self) -> Guard {
        let policy = self.policy.clone();
        let guard = match &self.server {
            Some(server) => Guard::for_server(policy, server),
            None => Guard::new(policy),
        };
        match &self.pins {
            Some(keeper) => guard.with_pins(keeper()),
            None => guard,
        }
    }
}

impl fmt::Debug for GuardSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GuardSettings")
            .field("server", &self.server)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
