//! A server that may not be started again.

use std::time::Duration;

use hardline_guard::Rule;

use super::breaker::SLOW;
use super::{After, Relay, Sink, State};
use crate::note::Note;

/// Why a server may not be started.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Refused {
    /// The rule that it breaks.
    pub rule: Rule,
    /// In words, with what to do about it.
    pub reason: String,
}

impl Refused {
    /// Says why a server may not be started.
    pub fn new(rule: Rule, reason: impl Into<String>) -> Self {
        Self { rule, reason: reason.into() }
    }
}

impl Relay {
    /// Takes note that the server may not be started again. What waits fails, and so does whatever comes
    /// until it is tried again: somebody may allow it meanwhile.
    pub fn handle_server_refused(
        &mut self,
        refused: Refused,
        now: Duration,
        sink: &mut impl Sink,
    ) -> After {
        let at = now + SLOW;
        if self.refused.as_ref() != Some(&refused) {
            sink.note(&Note::NotStarted(&refused));
        }
        let reason =
            format!("the server {}; it is not started again: {}", self.last_end, refused.reason);
        self.fail_waiting(refused.rule.name(), &reason, sink);
        self.refused = Some(refused);
        self.state = State::Broken(at);
        After::Start(at)
    }
}
