//! Pins in files: what was pinned, and beside it what servers listed last.
//!
//! A [`PinStore`] has what was pinned at first use or approved since, each server in a file of its own or
//! all in one that people put into a repository. What servers list now is kept in a second store in the
//! state directory, so that a change can be shown and approved when the server does not run any more.
//!
//! Invariants:
//! - A file is replaced as a whole or not at all, and only after it was read again under a lock: many
//!   processes share it.
//! - A file that cannot be read is never written.
//! - A tool is gone when a whole list is without it. What differs in another way stays in the second
//!   store until it is approved, forgotten, or listed in another way.
//! - No session fails because of a pin that cannot be written: it counts until the session ends.
//! - What there is no room for is not pinned, and counts as new.

mod file;
mod keeper;
mod neighbor;
mod page;
mod store;

pub use file::{PinError, read, update};
pub use keeper::PinFile;
pub use neighbor::forget_launches;
pub use store::{FILE_NAME, PinStore};
