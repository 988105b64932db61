//! The interface to the storage of pins between sessions.

use std::fmt;
use std::sync::Arc;

use crate::pin::{Definition, Instructions, Lock};

/// Position of a page in a paginated tool list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a page has a beginning and an end")]
pub struct Page {
    /// Set if it is the first page of its list.
    pub is_first: bool,
    /// Set if the previous page named this one as the next.
    pub is_next: bool,
    /// Set if no page follows.
    pub is_last: bool,
}

/// Stores the pins of tools. The guard has no files, so the application provides the storage.
///
/// No method may fail a session. Pins that cannot be written stay in memory until the session ends,
/// and [`take_trouble`](Self::take_trouble) reports the error.
pub trait PinKeeper: fmt::Debug + Send {
    /// Returns the current pins, including an approval made a moment ago. Contains at least the
    /// pins of the session's own server. See [`neighbors`](Self::neighbors) for the others.
    fn lock(&mut self) -> Arc<Lock>;

    /// Returns the pins of the neighbors of `server`: the servers that its client uses as well and
    /// that are other programs. A tool of `server` must not be mistaken for one of theirs.
    fn neighbors(&mut self, server: &str) -> Arc<Lock> {
        let _ = server;
        self.lock()
    }

    /// Pins new tools of a server. Tools beyond the limits of the lock are left out.
    fn pin(&mut self, server: &str, tools: &[Definition]);

    /// Records the tools that a server lists now, for `hardline pin`. Only a complete list, from
    /// its first page to its last, shows that a tool is gone. Until then, and if the client never
    /// asks for the last page, tools that are not on its pages keep their recorded definition.
    fn list(&mut self, server: &str, tools: &[Definition], page: Page);

    /// Returns true if instructions are pinned too. The guard calls the other methods about them
    /// only then.
    fn pins_instructions(&self) -> bool {
        false
    }

    /// Pins the instructions of a server whose instructions were never pinned.
    fn pin_instructions(&mut self, server: &str, instructions: &Instructions) {
        let _ = (server, instructions);
    }

    /// Records the current instructions of a server, for `hardline pin`.
    fn list_instructions(&mut self, server: &str, instructions: &Instructions) {
        let _ = (server, instructions);
    }

    /// Records the name with which the client of `server` identifies itself.
    fn meet_client(&mut self, server: &str, client: &str) {
        let _ = (server, client);
    }

    /// Returns the command that approves the current state of `server`, for messages about hidden
    /// tools.
    fn approval(&self, server: &str) -> String {
        format!("hardline pin approve {}", shell_word(server))
    }

    /// Returns the command that shows all differences of `server`, for messages that shorten them.
    fn comparison(&self, server: &str) -> String {
        format!("hardline pin diff {}", shell_word(server))
    }

    /// Returns a description of the errors since the last call, for people.
    fn take_trouble(&mut self) -> Option<String>;
}

/// Quotes a word so that a shell takes it literally.
pub fn shell_word(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./:@%+=,-".contains(char);
    let is_option = word.starts_with('-');
    if !word.is_empty() && !is_option && word.chars().all(is_plain) {
        return word.to_owned();
    }
    // Quotes do not hide the dash of an option; `--` ends the options.
    let dashes = if is_option { "-- " } else { "" };
    format!("{dashes}'{}'", word.replace('\'', "'\\''"))
}
