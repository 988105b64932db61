//! Pins in files, and beside them the tool lists that servers sent last.
//!
//! A [`PinStore`] contains the tools that were pinned at first use or approved since: one file for
//! each server, or one shared file that people put into a repository. A second store in the state
//! directory contains the current tool lists, so that a change can be shown and approved after the
//! server has ended.
//!
//! Invariants:
//! - A file is replaced completely or not at all, and only after it was read again under a lock,
//!   because many processes share it.
//! - A file that cannot be read is never written.
//! - A tool counts as removed when a complete list does not contain it. Any other difference stays
//!   in the second store until it is approved, forgotten, or replaced by another list.
//! - No session fails because a pin cannot be written. Such a pin is valid until the session ends.
//! - Tools over the limit are not pinned and count as new.

mod file;
mod keeper;
mod neighbor;
mod page;
mod store;

pub use file::{PinError, read, update};
pub use keeper::PinFile;
pub use neighbor::forget_launches;
pub use store::{FILE_NAME, PinStore};
