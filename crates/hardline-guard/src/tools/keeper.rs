//! Who keeps pins between sessions.

use std::fmt;
use std::sync::Arc;

use crate::pin::{Definition, Lock};

/// Keeps the pins of tools. The guard has no files; whoever has brings one of these.
///
/// None of it may fail a session: what cannot be written is kept in memory until the session ends, and
/// the trouble is told.
pub trait PinKeeper: fmt::Debug + Send {
    /// The pins as they are now, also if somebody approved a tool a moment ago.
    fn lock(&mut self) -> Arc<Lock>;

    /// Pins tools of a server that it did not have.
    fn pin(&mut self, server: &str, tools: &[Definition]);

    /// Takes note of what a server lists now: for whoever compares and approves. The first page of a
    /// list takes the place of what was listed before.
    fn list(&mut self, server: &str, tools: &[Definition], is_first_page: bool);

    /// What went wrong since it was asked last, in words for a person.
    fn take_trouble(&mut self) -> Option<String>;
}
