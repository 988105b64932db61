//! Handles a server that must not be restarted.

use std::time::Duration;

use hardline_guard::Rule;

use super::breaker::OPEN_DELAY;
use super::{After, Relay, Sink, State};
use crate::notice::Notice;

/// Reason why a server must not be started.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StartRefusal {
    /// Rule that forbids the start.
    pub rule: Rule,
    /// Description of the reason, with advice.
    pub reason: String,
}

impl StartRefusal {
    /// Describes a refusal.
    pub fn new(rule: Rule, reason: impl Into<String>) -> Self {
        Self { rule, reason: reason.into() }
    }
}

impl Relay {
    /// Handles the refusal of a restart. Waiting requests fail, and so do new ones until the next
    /// attempt. The user may allow the start meanwhile.
    pub fn handle_server_refused(
        &mut self,
        refused: StartRefusal,
        now: Duration,
        sink: &mut impl Sink,
    ) -> After {
        let at = now + OPEN_DELAY;
        if self.refused.as_ref() != Some(&refused) {
            sink.notify(&Notice::NotStarted(&refused));
        }
        let reason =
            format!("the server {}; it is not started again: {}", self.last_end, refused.reason);
        self.fail_waiting(refused.rule.name(), &reason, sink);
        self.refused = Some(refused);
        self.state = State::Broken(at);
        After::Start(at)
    }
}
