//! Who keeps pins between sessions.

use std::fmt;
use std::sync::Arc;

use crate::pin::{Definition, Lock};

/// Which page of a list it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a page has a beginning and an end")]
pub struct Page {
    /// Whether it is the first of its list.
    pub is_first: bool,
    /// Whether it follows the one before: that named it as the next.
    pub is_next: bool,
    /// Whether there are no more.
    pub is_last: bool,
}

/// Keeps the pins of tools. The guard has no files; whoever has brings one of these.
///
/// None of it may fail a session: what cannot be written is kept in memory until the session ends, and
/// the trouble is told.
pub trait PinKeeper: fmt::Debug + Send {
    /// The pins as they are now, also if somebody approved a tool a moment ago.
    fn lock(&mut self) -> Arc<Lock>;

    /// Pins tools of a server that it did not have.
    fn pin(&mut self, server: &str, tools: &[Definition]);

    /// Takes note of what a server lists now: for whoever compares and approves. Only the pages of a
    /// whole list, from its first to its last, say that a tool is gone; until then, and if the last is
    /// never asked for, tools that are not on them are what they were.
    fn list(&mut self, server: &str, tools: &[Definition], page: Page);

    /// What went wrong since it was asked last, in words for a person.
    fn take_trouble(&mut self) -> Option<String>;
}
