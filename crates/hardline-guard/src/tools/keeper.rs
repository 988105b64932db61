//! Who keeps pins between sessions.

use std::fmt;
use std::sync::Arc;

use crate::pin::{Definition, Instructions, Lock};

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
    /// Returns the pins as they are now, an approval of a moment ago included: those of the session's
    /// server at least. See [`neighbors`](Self::neighbors) for the others.
    fn lock(&mut self) -> Arc<Lock>;

    /// Returns the pins of the servers beside `server`: those that its client uses as well, and that
    /// are other programs. A tool of `server` must not be taken for one of theirs.
    fn neighbors(&mut self, server: &str) -> Arc<Lock> {
        let _ = server;
        self.lock()
    }

    /// Pins tools of a server that it did not have. What there is no room for is left out.
    fn pin(&mut self, server: &str, tools: &[Definition]);

    /// Takes note of what a server lists now, for `hardline pin`. Only the pages of a whole list, from
    /// its first to its last, say that a tool is gone; until then, and if the last is never asked for,
    /// tools that are not on them are what they were.
    fn list(&mut self, server: &str, tools: &[Definition], page: Page);

    /// Returns true if instructions are pinned too. The other methods about them are called only then.
    fn pins_instructions(&self) -> bool {
        false
    }

    /// Pins the instructions of a server whose instructions were never pinned.
    fn pin_instructions(&mut self, server: &str, instructions: &Instructions) {
        let _ = (server, instructions);
    }

    /// Takes note of a server's instructions as they are now, for `hardline pin`.
    fn list_instructions(&mut self, server: &str, instructions: &Instructions) {
        let _ = (server, instructions);
    }

    /// Takes note of the name that the client of `server` gives itself.
    fn meet_client(&mut self, server: &str, client: &str) {
        let _ = (server, client);
    }

    /// The command that approves what `server` says now, for people who are told what is hidden.
    fn approval(&self, server: &str) -> String {
        format!("hardline pin approve {}", shell_word(server))
    }

    /// What went wrong since it was asked last, in words for a person.
    fn take_trouble(&mut self) -> Option<String>;
}

/// Writes a word so that a shell takes it as it is.
pub fn shell_word(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./:@%+=,-".contains(char);
    let is_option = word.starts_with('-');
    if !word.is_empty() && !is_option && word.chars().all(is_plain) {
        return word.to_owned();
    }
    // An option's dash would still be one in quotes.
    let dashes = if is_option { "-- " } else { "" };
    format!("{dashes}'{}'", word.replace('\'', "'\\''"))
}
