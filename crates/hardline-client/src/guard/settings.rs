//! Settings of the guard on a connection: policy, server name, pins and observer.

use std::fmt;
use std::sync::Arc;

use hardline_guard::policy::Policy;
use hardline_guard::tools::PinKeeper;
use hardline_guard::{Found, Guard, Rule};

/// The settings from which each connection builds its own guard.
#[derive(Clone)]
pub struct GuardSettings {
    policy: Policy,
    server: Option<String>,
    pins: Option<Arc<dyn Fn() -> Box<dyn PinKeeper> + Send + Sync>>,
    pub(super) observer: Option<Arc<Observer>>,
}

/// Callback that receives each [`GuardEvent`].
pub(super) type Observer = dyn Fn(&GuardEvent<'_>) + Send + Sync;

/// An event that the guard reports to its observer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum GuardEvent<'a> {
    /// A rule found something.
    Found(&'a Found),
    /// Number of further findings in the same message that were not listed.
    Unlisted(usize),
    /// A line from the server that is not a message, as received.
    Noise(&'a [u8]),
    /// A call to a hidden or denied tool was refused. Holds the name as the caller wrote it.
    Denied(&'a str),
    /// Description of a problem with storing pins.
    Trouble(&'a str),
    /// This rule made the policy end the session.
    Closed(Rule),
}

impl GuardSettings {
    /// Creates settings with this policy, for a server without a name.
    pub fn new(policy: Policy) -> Self {
        Self { policy, server: None, pins: None, observer: None }
    }

    /// Sets the server's name, which selects its section of the policy and the name of its pins.
    #[must_use]
    pub fn for_server(mut self, name: impl Into<String>) -> Self {
        self.server = Some(name.into());
        self
    }

    /// Compares the tools that the server lists with pins. `keeper` is called once per connection.
    #[must_use]
    pub fn with_pins(
        mut self,
        keeper: impl Fn() -> Box<dyn PinKeeper> + Send + Sync + 'static,
    ) -> Self {
        self.pins = Some(Arc::new(keeper));
        self
    }

    /// Calls `observer` with each event. Without an observer, events are logged through `tracing`.
    ///
    /// The call blocks the next message, so `observer` should return quickly.
    #[must_use]
    pub fn with_observer(
        mut self,
        observer: impl Fn(&GuardEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the wire limits that the policy sets for this server.
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
