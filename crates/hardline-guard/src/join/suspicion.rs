//! Suspicion: the time after a torn message whose rest has not come.
//!
//! The rest may still come, after a pause, and its lines are text that an attacker may have written.
//! While suspicion lasts, the guard drops every message that the server seems to send on its own. It
//! keeps delivering answers to pending requests.
//!
//! Suspicion ends when a line completes the torn message, or when the server has had
//! [`MAX_SUSPICION`] to send one. The clock alone does not end it: lines that were already there when
//! the time ran out are judged first.

use std::time::Duration;

use super::lex::Lexer;

/// Time in which messages of the server's own are suspect after a torn message without its rest.
pub const MAX_SUSPICION: Duration = Duration::from_secs(30);

/// The state after a torn message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspicion {
    until: Duration,
    /// The state after a head that ends inside a string. One line can complete the message then: the
    /// lines between are text. Any other torn message could be completed by too many lines.
    after_head: Option<Lexer>,
}

impl Suspicion {
    /// Begins suspicion after a line whose message cannot be followed.
    pub(super) fn new(now: Duration) -> Self {
        Self { until: now + MAX_SUSPICION, after_head: None }
    }

    /// Begins suspicion after a hold that ran out.
    pub(super) fn after_hold(now: Duration, after_head: Lexer) -> Self {
        Self { after_head: Some(after_head).filter(Lexer::is_in_string), ..Self::new(now) }
    }

    /// Returns the time at which it ends, if nothing is left to read then.
    pub(super) fn until(&self) -> Duration {
        self.until
    }

    /// Returns true if a line that is no message completes the torn message.
    pub(super) fn is_completed_by(&self, text: &[u8]) -> bool {
        let Some(mut lexer) = self.after_head else { return false };
        lexer.read(text);
        lexer.is_complete()
    }
}
