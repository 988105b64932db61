//! The time after a torn message whose rest has not come.
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

/// Longest time that a torn message without its rest makes the server's own messages suspect.
pub const MAX_SUSPICION: Duration = Duration::from_secs(30);

/// The state after a torn message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspicion {
    until: Duration,
    /// The ways in which later lines can complete the torn message: all of them together, or the
    /// last one alone with text before it. Empty if nothing is known of the torn message.
    continued: Option<Lexer>,
    after_head: Option<Lexer>,
}

impl Suspicion {
    /// Begins suspicion after a line whose message cannot be followed.
    pub(super) fn new(now: Duration) -> Self {
        Self { until: now + MAX_SUSPICION, continued: None, after_head: None }
    }

    /// Begins suspicion after a hold that ran out.
    pub(super) fn after_hold(now: Duration, continued: Lexer, after_head: Lexer) -> Self {
        Self { continued: Some(continued), after_head: Some(after_head), ..Self::new(now) }
    }

    /// Returns the time at which it ends, if nothing is left to read then.
    pub(super) fn until(&self) -> Duration {
        self.until
    }

    /// Reads a line that is no message. Returns whether it completes the torn message.
    pub(super) fn read_line(&mut self, text: &[u8]) -> bool {
        let is_whole = |lexer: &mut Lexer| {
            lexer.read(text);
            let is_whole = lexer.is_complete();
            lexer.read(b"\n");
            is_whole
        };
        // The lines between head and tail are text: only the last one is read.
        let mut after_head = self.after_head;
        let continued = self.continued.as_mut().is_some_and(is_whole);
        continued || after_head.as_mut().is_some_and(is_whole)
    }
}
